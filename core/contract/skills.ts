// Skills of an organization, in the format of https://agentskills.io/specification: instructions for a model, with files. Types only.

import type { JsonObject } from './nouns.ts';

/** A file of a skill, without its content. A type alias, since lists of them are stored as JSON. */
export type SkillFile = {
	/** The path in the skill's folder, with `/` between folders; `SKILL.md` is the first file of every skill. */
	path: string;
	mimeType: string;
	/** Whether the content is text, in UTF-8. */
	isText: boolean;
	/** The number of bytes. */
	size: number;
	/** `sha256:` and the hash of the bytes in hexadecimal. */
	digest: string;
};

/** An argument of a skill: `{{name}}` in its body stands for it. */
export type SkillArgument = {
	name: string;
	description: string;
	required: boolean;
	/** Texts that clients offer to their users; any other is taken as well. */
	values: string[];
};

/** A skill as a call sees it: what fills kilobytes is read when it is needed. */
export interface Skill {
	id: string;
	organizationId: string;
	/** The name, unique in the organization: 1 to 64 of a-z, 0-9 and single hyphens. */
	name: string;
	/** Tells a model what the skill does and when to use it, in at most 1,024 characters. */
	description: string;
	/** The fields at the head of `SKILL.md`, name and description among them. */
	frontmatter: JsonObject;
	/** Empty for a skill that takes none. */
	arguments: readonly SkillArgument[];
	/** All files, `SKILL.md` first. */
	files: readonly SkillFile[];
	/** Changes with every edit, of a file as well. */
	version: string;
}
