// Skills in memory, as a call gets them from the database.

import { createHash } from 'node:crypto';
import { writeSkill } from '../core/contract/skill-document.ts';
import type { Skill, SkillFile } from '../core/contract/skills.ts';
import { deepFreeze } from '../core/kit/json.ts';
import { ORGANIZATION } from './samples.ts';

/** A skill that a call can list and read; `files` are texts or bytes by path, besides `SKILL.md`. */
export interface FakeSkill extends Partial<Pick<Skill, 'description' | 'frontmatter' | 'arguments'>> {
	name: string;
	body?: string;
	files?: Readonly<Record<string, string | Buffer>>;
}

export interface SampleSkill {
	skill: Skill;
	contents: ReadonlyMap<string, Buffer>;
}

export function sampleSkill({
	name,
	description = `Does ${name}.`,
	frontmatter: more,
	body = '',
	files = {},
	...given
}: FakeSkill): SampleSkill {
	const frontmatter = { name, description, ...more };
	const all: [string, string | Buffer][] = [['SKILL.md', writeSkill(frontmatter, body)], ...Object.entries(files)];
	const skill: Skill = {
		...{ id: `skill-${name}`, organizationId: ORGANIZATION, name, description, frontmatter, version: '1' },
		arguments: given.arguments ?? [],
		files: all.map(([path, content]) => describe(path, content)),
	};
	return { skill: deepFreeze(skill), contents: new Map(all.map(([path, content]) => [path, Buffer.from(content)])) };
}

function describe(path: string, content: string | Buffer): SkillFile {
	const isText = typeof content === 'string';
	const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
	const mimeType = isText ? 'text/markdown' : 'application/octet-stream';
	return { path, mimeType, isText, size: Buffer.byteLength(content), digest };
}

/** The verb of the store that reads contents. */
export function storedSkills(skills: readonly FakeSkill[]) {
	const byId = new Map(skills.map(sampleSkill).map(({ skill, contents }) => [skill.id, contents]));
	return {
		content: async (_organizationId: string, id: string, path: string): Promise<Buffer | null> => byId.get(id)?.get(path) ?? null,
	};
}
