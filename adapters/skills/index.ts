// Skills (https://agentskills.io/specification): a gateway's tools as instructions with a script, which coding agents install and call.

import Joi from 'joi';
import type { Call, Incoming, TransportAdapter } from '../../core/index.ts';
import { archive, callersSkills, file, formerIndex, index, publicSkills, type SkillsConfig } from './discovery.ts';
import { advertise, type Repository, uploadPack } from './git/upload-pack.ts';
import { listTools, overview, runTool, showTool } from './tools.ts';

/** The repository that anybody may clone. */
const publicRepository = async (request: Incoming, config: SkillsConfig, call: Call): Promise<Repository> => ({
	published: await publicSkills(request, config, call),
	// Once less is public, the history of what was is another one.
	scope: `${config.discovery}:${request.base}`,
});

/** The repository of callers. */
const callersRepository = async (request: Incoming, call: Call): Promise<Repository> => ({
	published: await callersSkills(request, call),
	scope: `callers:${request.base}`,
});

/** A pack costs more than other answers. */
const PACKS = { max: 60, seconds: 60 };
const FOUND = { method: 'GET', public: true, lists: true } as const;

export default {
	kind: 'transport',
	api: 1,
	name: 'skills',
	summary: 'The gateway’s tools, and skills of the organization, as skills that coding agents install.',
	spec: 'https://agentskills.io/specification, with the discovery RFC 0.2.0 and 0.1',
	config: Joi.object<SkillsConfig>({
		discovery: Joi.valid('full', 'minimal')
			.default('full')
			.description(
				'What anybody may install without a credential: `full` are all skills, with the names and schemas of the tools; `minimal` is one skill that names no ' +
					'tool and learns them with the credential of whoever uses it.',
			),
	}),
	suffix: '.git',
	cors: { send: ['if-none-match'] },
	routes: [
		{ ...FOUND, path: '/.well-known/agent-skills/index.json', handler: index },
		{
			...FOUND,
			path: '/.well-known/agent-skills/{file}',
			handler: async (request, config, call) => archive(request, await publicSkills(request, config, call)),
		},
		{
			...FOUND,
			path: '/.well-known/agent-skills/{name}/{path*}',
			handler: async (request, config, call) => file(request, await publicSkills(request, config, call)),
		},
		{ ...FOUND, path: '/.well-known/skills/index.json', handler: formerIndex },
		{
			...FOUND,
			path: '/.well-known/skills/{name}/{path*}',
			handler: async (request, config, call) => file(request, await publicSkills(request, config, call)),
		},
		{
			...FOUND,
			path: '/info/refs',
			handler: async (request, config, call) => advertise(request, await publicRepository(request, config, call), call),
		},
		{
			...{ method: 'POST', path: '/git-upload-pack', public: true, lists: true, encodings: ['gzip'], limit: PACKS },
			handler: async (request, config, call) => uploadPack(request, await publicRepository(request, config, call), call),
		},
		{
			...{ method: 'GET', path: '/private.git/info/refs' },
			handler: async (request, _config, call) => advertise(request, await callersRepository(request, call), call),
		},
		{
			...{ method: 'POST', path: '/private.git/git-upload-pack', encodings: ['gzip'], limit: PACKS },
			handler: async (request, _config, call) => uploadPack(request, await callersRepository(request, call), call),
		},
		{ method: 'GET', path: '/', handler: async (request, _config, call) => overview(request, call) },
		{ method: 'GET', path: '/skills', handler: async (request, _config, call) => overview(request, call) },
		{
			method: 'GET',
			path: '/skills/{file}',
			handler: async (request, _config, call) => archive(request, await callersSkills(request, call)),
		},
		{
			method: 'GET',
			path: '/skills/{name}/{path*}',
			handler: async (request, _config, call) => file(request, await callersSkills(request, call)),
		},
		{ method: 'GET', path: '/tools', handler: async (request, _config, call) => listTools(request, call) },
		{ method: 'GET', path: '/tools/{name}', handler: async (request, _config, call) => showTool(request, call) },
		{
			method: 'POST',
			path: '/tools/{name}',
			body: 'json',
			encodings: ['gzip'],
			handler: async (request, _config, call) => runTool(request, call),
		},
	],
} satisfies TransportAdapter<SkillsConfig>;
