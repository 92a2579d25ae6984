// The storage port of skills: instructions for models, with files, and the gateways that publish them.

import type { JsonObject } from '../contract/nouns.ts';
import type { SkillArgument, SkillFile } from '../contract/skills.ts';
import type { Listed, Page, Removed, TextFilter, Versioned } from './rows.ts';

export interface SkillRow extends Versioned {
	name: string;
	description: string;
	/** The fields of the frontmatter besides these two. */
	frontmatter: JsonObject;
	arguments: SkillArgument[];
	/** All files without their contents, `SKILL.md` first. */
	files: SkillFile[];
	/** The size of all files together. */
	bytes: number;
}

export interface NewSkillFile extends Pick<SkillFile, 'path' | 'mimeType' | 'isText'> {
	content: Buffer;
}

export type SkillValues = Pick<SkillRow, 'name' | 'description' | 'frontmatter' | 'arguments'>;

/** A skill with the files that it is created with, or that a change replaces. */
export interface SkillEdit extends SkillValues {
	/** Files with new contents. */
	put: NewSkillFile[];
	/** Paths of files that are removed. */
	drop: string[];
}

/** A skill in a gateway. */
export interface SkillAssignmentRow {
	id: string;
	gatewayId: string;
	skillId: string;
	createdAt: Date;
}

export interface AssignedSkill {
	assignment: SkillAssignmentRow;
	skill: SkillRow;
}

/** Bounds of an organization and of one skill. @see SkillRow */
export interface SkillBounds {
	skills: number;
	/** The bytes of all files of the organization's skills. */
	bytes: number;
	skillBytes: number;
	skillFiles: number;
	/** The skills of one gateway. */
	assigned: number;
}

export interface Skills {
	/** Lists skills; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: TextFilter): Promise<Listed<SkillRow>>;
	get(organizationId: string, id: string): Promise<SkillRow | null>;
	/** Reads a file; null when the skill has none at this path. */
	content(organizationId: string, id: string, path: string): Promise<Buffer | null>;
	/** @throws conflict when the name is taken in the organization, or a bound is reached */
	create(organizationId: string, skill: SkillEdit, bounds: SkillBounds): Promise<SkillRow>;
	/**
	 * Changes a skill; null when there is none. `edit` gets it as it is, with the content of `SKILL.md`, while nobody else can change it.
	 * @throws conflict as `create`, precondition_failed when it has another version than `ifVersion`, the errors of `edit`
	 */
	update(
		organizationId: string,
		id: string,
		edit: (row: SkillRow, document: Buffer) => SkillEdit,
		options: { bounds: SkillBounds; ifVersion: number | undefined },
	): Promise<SkillRow | null>;
	/** Removes a skill with its files and assignments. @throws conflict, precondition_failed */
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;

	ofGateway(organizationId: string, gatewayId: string, page: Page): Promise<Listed<AssignedSkill>>;
	/**
	 * Assigns a skill to a gateway; one that is assigned stays as it is. @throws not_found for a gateway or skill that does not exist,
	 * conflict when the gateway has as many as it may
	 */
	assign(organizationId: string, gatewayId: string, skillId: string, bounds: SkillBounds): Promise<AssignedSkill>;
	/** @param id of the skill or of the assignment */
	unassign(organizationId: string, gatewayId: string, id: string): Promise<AssignedSkill | null>;
}
