// The versions of an agent: saved, shown, compared, restored.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentRow,
	type AgentVersionRow,
	type AgentVersionSummary,
	actorOf,
	body,
	type Core,
	count,
	expectedVersion,
	jsonObject,
	notFound,
	operation,
	organizationOf,
	present,
	shape,
	showVersion,
	storeOf,
	text,
	timestamp,
	uuid,
} from '../../../../core/features.ts';
import { BOUNDS } from '../bounds.ts';
import { assertRuns } from '../check.ts';
import { findAgent } from '../find.ts';
import { AGENT, presentAgent } from '../present.ts';
import { diffAgents } from './diff.ts';

const index = count.description('The number of the version, from 0.');
const summary = {
	agentId: uuid,
	versionIndex: index,
	changelog: text,
	restoredFrom: count.allow(null).description('The version that this one restored; null when it was saved.'),
	createdBy: text.allow(null).description('Who saved it.'),
	createdAt: timestamp,
	isCurrent: Joi.boolean().description('Whether the agent runs as this version says: nobody has changed its pipeline or settings since.'),
};
const VERSION = shape(summary).meta({ schema: 'AgentVersion' });
const WHOLE = shape({
	...summary,
	name: Joi.string(),
	description: text,
	pipeline: shape({ nodes: Joi.array().items(jsonObject), edges: Joi.array().items(jsonObject) }),
	settings: jsonObject,
}).meta({ schema: 'AgentVersionDetail' });

const change = Joi.object({ path: Joi.string().allow(''), from: Joi.any(), to: Joi.any() });
const items = shape({
	added: Joi.array().items(jsonObject),
	removed: Joi.array().items(jsonObject),
	changed: Joi.array().items(shape({ id: Joi.string(), fields: Joi.array().items(change) })),
});
const DIFF = shape({
	from: index.allow(null),
	to: index.allow(null).description('Null: the agent as it is.'),
	isEqual: Joi.boolean(),
	nodes: items,
	edges: items,
	settings: Joi.array().items(change).description('Settings that differ; the side that lacks one is absent.'),
	fields: Joi.array().items(change).description('The name and the description, where they differ.'),
}).meta({ schema: 'AgentDiff' });

const changelog = Joi.string().allow('').max(10_000).description('What was changed, for people to read.');
const SAVE = body({ changelog: changelog.required() }).example({ changelog: 'Greets politely.' });
const RESTORE = body({ changelog: changelog.description('When absent, the version that is restored is named.') });

const PLACE = '/agents/{id}/versions';
const KEPT = { versions: BOUNDS.versions, chars: BOUNDS.versionChars };

export const versionRoutes = (core: Core): ServerRoute[] => [
	listVersions(core),
	saveVersion(core),
	compareVersions(core),
	getVersion(core),
	restoreVersion(core),
];

const listVersions = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: PLACE,
		id: 'listAgentVersions',
		summary: 'Lists the versions of an agent, the newest first.',
		need: 'agents:read',
		answer: shape({ versions: Joi.array().items(VERSION) }),
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			return { versions: (await core.store.agents.versions(organizationId, id)).map(presentVersion) };
		},
	});

const saveVersion = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: PLACE,
		id: 'saveAgentVersion',
		summary: 'Saves an agent as it is as its next version.',
		description:
			`A version keeps the pipeline, the settings, the name and the description, and never changes. The latest ${BOUNDS.versions} are kept; their numbers ` +
			'are never given again. With `If-Match` and the `ETag` of the agent, nothing is saved when somebody has changed the agent since.',
		need: 'agents:write',
		body: SAVE,
		answer: VERSION,
		status: 201,
		errors: ['conflict'],
		idempotent: true,
		conditional: true,
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			const version = { ...(request.payload as { changelog: string }), createdBy: actorOf(request).email };
			const saved = await storeOf(request, core).agents.saveVersion(organizationId, id, version, KEPT, expectedVersion(request));
			if (!saved) throw notFound('Agent');
			return presentVersion(saved);
		},
	});

const compareVersions = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `${PLACE}/diff`,
		id: 'compareAgentVersions',
		summary: 'Shows what differs between two versions of an agent, or between a version and the agent as it is.',
		need: 'agents:read',
		query: Joi.object({
			from: Joi.number().integer().min(0).max(1e9).description('The former version. When absent, the latest.'),
			to: Joi.number().integer().min(0).max(1e9).description('The later version. When absent, the agent as it is.'),
		}),
		answer: DIFF,
		handler: async (request) => {
			const agent = await findAgent(request, core);
			const { from: given, to = null } = request.query as { from?: number; to?: number };
			const from = given ?? (await core.store.agents.versions(agent.organizationId, agent.id))[0]?.versionIndex;
			if (from === undefined) throw notFound('Version');
			const former = await versionOf(core, agent, from);
			return { from, to, ...diffAgents(former, to === null ? agent : await versionOf(core, agent, to)) };
		},
	});

const getVersion = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `${PLACE}/{idx}`,
		id: 'getAgentVersion',
		summary: 'Shows a version of an agent with all that it keeps.',
		need: 'agents:read',
		answer: WHOLE,
		handler: async (request) => {
			const row = await findVersion(request, core);
			return present(WHOLE, row, { pipeline: row.pipeline, settings: row.settings });
		},
	});

const restoreVersion = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: `${PLACE}/{idx}/rollback`,
		id: 'rollBackAgent',
		summary: 'Makes an agent what it was in a version, and saves that as its next version.',
		description:
			'The pipeline, the settings, the name and the description become those of the version; whether the agent is active stays. The pipeline is checked ' +
			'again, since what it uses may have changed. What was not saved as a version is lost; with `If-Match` and the `ETag` of the agent, nothing ' +
			'happens when somebody has changed the agent since.',
		need: 'agents:write',
		body: RESTORE,
		bodyIs: 'optional',
		answer: shape({ agent: AGENT, version: VERSION }),
		errors: ['conflict'],
		idempotent: true,
		versioned: true,
		conditional: true,
		handler: async (request) => {
			const { agentId, versionIndex, pipeline } = await findVersion(request, core);
			const { id: organizationId } = organizationOf(request);
			await assertRuns(core, organizationId, pipeline, agentId);
			const { changelog: why = `Restores version ${versionIndex}.` } = request.payload as { changelog?: string };
			const place = { organizationId, agentId, index: versionIndex };
			const version = { changelog: why, createdBy: actorOf(request).email };
			const { agents } = storeOf(request, core);
			const restored = await agents.restoreVersion(place, version, KEPT, expectedVersion(request), core.agents.inputSchema);
			if (!restored) throw notFound('Version');
			showVersion(request, restored.agent.version);
			return { agent: presentAgent(restored.agent), version: presentVersion(restored.version) };
		},
	});

const presentVersion = (row: AgentVersionSummary) => present(VERSION, row);

/** @throws not_found */
export async function versionOf({ store }: Core, agent: Pick<AgentRow, 'organizationId' | 'id'>, at: number): Promise<AgentVersionRow> {
	const row = await store.agents.version(agent.organizationId, agent.id, at);
	if (!row) throw notFound('Version');
	return row;
}

/** Finds the version that a path names. @throws not_found */
async function findVersion(request: Request, core: Core): Promise<AgentVersionRow> {
	const agent = await findAgent(request, core);
	const given = String(request.params['idx']);
	if (!/^\d{1,9}$/.test(given)) throw notFound('Version');
	return versionOf(core, agent, Number(given));
}
