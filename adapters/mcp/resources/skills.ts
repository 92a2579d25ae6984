// Files of skills as resources, at the URIs that the Skills extension gives them (SEP-2640): `skill://<name>/<path>`.

import type { Call, JsonObject, Skill, SkillFile } from '../../../core/index.ts';
import type { ResourceContents, ResourceReader } from './readers.ts';

const SCHEME = 'skill://';
export const DOCUMENT = 'SKILL.md';
export const SKILL_TEMPLATE = `${SCHEME}{name}/{+path}`;

export const skillUri = ({ name }: Pick<Skill, 'name'>, path: string): string => `${SCHEME}${name}/${path}`;

/** Splits a URI; the path is empty for the skill itself. Null for other URIs. */
export function readSkillUri(uri: string): { name: string; path: string } | null {
	if (!uri.startsWith(SCHEME)) return null;
	const [name = '', ...segments] = uri.slice(SCHEME.length).split('/');
	return { name, path: segments.join('/') };
}

export async function findSkill(uri: string, call: Call): Promise<{ skill: Skill; path: string } | null> {
	const named = readSkillUri(uri);
	const skill = named && (await call.skills()).find(({ name }) => name === named.name);
	return skill ? { skill, path: named.path } : null;
}

export const skillReader: ResourceReader = {
	matches: (uri) => uri.startsWith(SCHEME),
	async read(uri, call) {
		const found = await findSkill(uri, call);
		const file = found?.skill.files.find(({ path }) => path === found.path);
		const content = found && file && (await call.skillFile(found.skill.id, file.path));
		return content ? [contentsOf(uri, file, content)] : null;
	},
	version(uri, versions) {
		const named = readSkillUri(uri);
		return named && versions.ofSkillFile(named.name, named.path);
	},
};

export const contentsOf = (uri: string, { mimeType, isText }: SkillFile, content: Buffer): ResourceContents =>
	isText ? { uri, mimeType, text: content.toString() } : { uri, mimeType, blob: content.toString('base64') };

/** Shows a file in lists; the document has the name and the description of its skill, as the extension wants. */
export const describeFile = (skill: Skill, { path, mimeType, size }: SkillFile): JsonObject => ({
	uri: skillUri(skill, path),
	...(path === DOCUMENT ? { name: skill.name, description: skill.description } : { name: `${skill.name}/${path}` }),
	...{ mimeType, size },
});
