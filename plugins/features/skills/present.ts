// Shows skills: the shape beside the function that fills it.

import Joi from 'joi';
import {
	type AssignedSkill,
	count,
	jsonObject,
	present,
	type SkillFile,
	type SkillRow,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';

const file = {
	path: Joi.string(),
	mimeType: Joi.string(),
	size: count.description('The number of bytes.'),
	digest: Joi.string().description('`sha256:` and the hash of the bytes in hexadecimal.'),
};

const skill = {
	id: uuid,
	name: Joi.string(),
	description: Joi.string(),
	frontmatter: jsonObject.description('The fields of the head of `SKILL.md` besides name and description.'),
	arguments: Joi.array().items(
		shape({ name: Joi.string(), description: text, required: Joi.boolean(), values: Joi.array().items(Joi.string()) }),
	),
	files: Joi.array().items(shape(file)).description('All files without their contents, `SKILL.md` first.'),
	createdAt: timestamp,
	updatedAt: timestamp,
};

export const SKILL = shape(skill).meta({ schema: 'Skill' });

export const SKILL_WITH_BODY = shape({ ...skill, body: text.description('The instructions: `SKILL.md` without its head.') }).meta({
	schema: 'SkillWithBody',
});

export const presentSkill = (row: SkillRow) => present(SKILL, row, { files: row.files.map(presentEntry) });

const FILE_ENTRY = shape(file);
const presentEntry = (entry: SkillFile) => present(FILE_ENTRY, entry);

export const SKILL_FILE = shape({
	...file,
	text: text.optional().description('The content, if it is text.'),
	base64: text.optional().description('The content, if it is anything else, in Base64.'),
}).meta({ schema: 'SkillFile' });

export const presentFile = (entry: SkillFile, content: Buffer) =>
	present(SKILL_FILE, entry, {
		text: entry.isText ? content.toString() : undefined,
		base64: entry.isText ? undefined : content.toString('base64'),
	});

const assignment = {
	gatewaySkillId: uuid.description('The id of the assignment.'),
	gatewayId: uuid,
	skillId: uuid,
	name: Joi.string(),
	description: Joi.string(),
	createdAt: timestamp.description('Time of the assignment.'),
};

export const SKILL_ASSIGNMENT = shape(assignment).meta({ schema: 'SkillAssignment' });

export const REMOVED_SKILL_ASSIGNMENT = shape({ id: uuid.description('The same as `gatewaySkillId`.'), ...assignment }).meta({
	schema: 'RemovedSkillAssignment',
});

export const presentAssigned = ({ assignment: row, skill: its }: AssignedSkill) =>
	present(SKILL_ASSIGNMENT, row, { gatewaySkillId: row.id, name: its.name, description: its.description });
