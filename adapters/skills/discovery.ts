// The documents by which installers find skills (agent-skills-discovery-rfc 0.2.0 and 0.1), archives, and single files.

import { createHash } from 'node:crypto';
import { type Call, type Incoming, type JsonObject, knowsTag, notFound, type Reply } from '../../core/index.ts';
import { type Published, type PublishedSkill, publish } from './publication.ts';
import { writeZip } from './zip.ts';

export interface SkillsConfig {
	discovery: 'full' | 'minimal';
}

const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json';

/** Returns what anybody may see: in a gateway of minimal discovery, one skill that names no tool. */
export async function publicSkills({ base }: Incoming, { discovery }: SkillsConfig, call: Call): Promise<Published> {
	if (discovery === 'minimal') return publish(call, base, { tools: null, skills: [] });
	return publish(call, base, { tools: await call.published(), skills: await call.skills() });
}

/** Returns what the caller may see. */
export const callersSkills = async ({ base }: Incoming, call: Call): Promise<Published> =>
	publish(call, base, { tools: await call.tools(), skills: await call.skills() });

/** Version 0.2.0: "url" is relative to the index. */
export async function index(request: Incoming, config: SkillsConfig, call: Call): Promise<Reply> {
	const { skills } = await publicSkills(request, config, call);
	const entries = skills.map(({ name, description, archive, digest }) => ({ name, type: 'archive', description, url: archive, digest }));
	return fresh(request, JSON.stringify({ $schema: SCHEMA, skills: entries }, null, 2), 'application/json');
}

/** Version 0.1: each file lies below the index, under the name of its skill. */
export async function formerIndex(request: Incoming, config: SkillsConfig, call: Call): Promise<Reply> {
	const { skills } = await publicSkills(request, config, call);
	const entries: JsonObject[] = skills.map(({ name, description, files }) => ({
		...{ name, description },
		// "SKILL.md MUST be first", and clients of that version ask for it by this name.
		files: ['SKILL.md', ...files.map(({ path }) => path).filter((path) => path !== 'SKILL.md')],
	}));
	return fresh(request, JSON.stringify({ skills: entries }, null, 2), 'application/json');
}

/** Answers with an archive, `<name>.tar.gz` or `<name>.zip`. @throws not_found */
export async function archive(request: Incoming, { skills }: Published): Promise<Reply> {
	const file = request.params['file'] ?? '';
	const isZip = file.endsWith('.zip');
	const skill = skills.find(({ name }) => file === `${name}.tar.gz` || file === `${name}.zip`);
	if (!skill || !(isZip || skill.archive === file)) throw notFound('Skill');
	const bytes = skill.archive === file ? await skill.readArchive() : await writeZip(await skill.readAll());
	return fresh(request, bytes, isZip ? 'application/zip' : 'application/gzip');
}

/** Answers with a file of a skill. @throws not_found */
export async function file(request: Incoming, published: Published): Promise<Reply> {
	const path = request.params['path'] ?? '';
	const content = await findSkill(published, request.params['name']).read(path);
	if (!content) throw notFound('File of the skill');
	return fresh(request, content, typeOf(path));
}

/** @throws not_found */
export function findSkill({ skills }: Published, name: string | undefined): PublishedSkill {
	const skill = skills.find((one) => one.name === name);
	if (!skill) throw notFound('Skill');
	return skill;
}

/** Types by the ends of names. A tenant's document is never one that a browser runs: everything else is bytes. */
const TYPES: Readonly<Record<string, string>> = {
	...{ md: 'text/markdown; charset=utf-8', json: 'application/json', txt: 'text/plain; charset=utf-8', csv: 'text/csv; charset=utf-8' },
	...{ yaml: 'application/yaml', yml: 'application/yaml', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif' },
	...{ webp: 'image/webp', pdf: 'application/pdf', mjs: 'text/plain; charset=utf-8', js: 'text/plain; charset=utf-8' },
	...{ py: 'text/plain; charset=utf-8', sh: 'text/plain; charset=utf-8', ts: 'text/plain; charset=utf-8' },
};

function typeOf(path: string): string {
	const end = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
	return Object.hasOwn(TYPES, end) ? (TYPES[end] as string) : 'application/octet-stream';
}

/** Answers with bytes and their tag; 304 to a client that has them (RFC 9110 §13.1.2). */
export function fresh({ headers: asked }: Incoming, body: string | Buffer, type: string): Reply {
	const bytes = Buffer.from(body);
	const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
	const headers = { etag, 'cache-control': 'no-cache', 'content-type': type, 'x-content-type-options': 'nosniff' };
	if (knowsTag(asked['if-none-match'], etag)) return { status: 304, headers: { etag, 'cache-control': 'no-cache' } };
	return { status: 200, headers, body: bytes };
}
