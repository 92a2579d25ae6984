// The Skills extension (SEP-2640): skills with the hashes of their files, and their folders. The files themselves are resources.

import type { Json, JsonObject, Skill } from '../../../core/index.ts';
import type { Method } from '../dispatch.ts';
import { CODES, ProtocolError } from '../messages.ts';
import { pageOf } from '../pages.ts';
import { DOCUMENT, describeFile, findSkill, skillUri } from './skills.ts';

export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills';

const FOLDER_TYPE = 'inode/directory';
/** An entry names each file of its skill. */
const PAGE = 50;

export const listSkills: Method = async ({ message, call }) => {
	const { items, more } = pageOf(await call.skills(), message.params.cursor, ({ id }) => id, PAGE);
	return { skills: items.map(describeSkill), ...more };
};

export const getSkill: Method = async ({ message, call }) => {
	const found = await findSkill(textOf(message.params.uri), call);
	if (found?.path !== DOCUMENT) throw unknown('skill');
	return { skill: describeSkill(found.skill) };
};

const describeSkill = (skill: Skill): JsonObject => ({
	uri: skillUri(skill, DOCUMENT),
	frontmatter: skill.frontmatter,
	resources: skill.files.map(({ path, digest, size }) => ({ uri: skillUri(skill, path), digest, size })),
});

export const readFolder: Method = async ({ message, call }) => {
	const found = await findSkill(textOf(message.params.uri).replace(/\/$/, ''), call);
	const children = found ? childrenOf(found.skill, found.path) : [];
	// "If the URI does not identify a directory, the server MUST return -32602": none is empty.
	if (children.length === 0) throw unknown('folder of a skill');
	const { items, more } = pageOf(children, message.params.cursor, ({ uri }) => String(uri));
	return { resources: [...items], ...more };
};

/** Returns the files and folders that lie directly in a folder. */
function childrenOf(skill: Skill, folder: string): JsonObject[] {
	const prefix = folder === '' ? '' : `${folder}/`;
	const inside = skill.files.filter(({ path }) => path.startsWith(prefix));
	const folders = new Set(
		inside.flatMap(({ path }) => (path.includes('/', prefix.length) ? [path.slice(0, path.indexOf('/', prefix.length))] : [])),
	);
	return [
		...inside.filter(({ path }) => !path.includes('/', prefix.length)).map((file) => describeFile(skill, file)),
		...[...folders].map((path) => ({ uri: skillUri(skill, path), name: path.slice(prefix.length), mimeType: FOLDER_TYPE })),
	];
}

function textOf(uri: Json | undefined): string {
	if (typeof uri === 'string') return uri;
	throw new ProtocolError(CODES.invalidParams, 'params.uri must be a string.');
}

const unknown = (what: string): ProtocolError => new ProtocolError(CODES.invalidParams, `params.uri is that of no ${what} here.`);
