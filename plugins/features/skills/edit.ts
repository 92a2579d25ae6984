// Makes what the store writes of a new skill, and of a change: `SKILL.md` is written anew from all fields.

import {
	bodyOfSkill,
	invalid,
	type Json,
	type NewSkillFile,
	type SkillArgument,
	type SkillEdit,
	type SkillRow,
	type SkillValues,
	writeSkill,
} from '../../../core/features.ts';
import { MAX_FIELD_CHARS } from './bounds.ts';
import { assertTogether, DOCUMENT, type FileChanges, type FilesInput, readFiles, typeOf } from './files.ts';

interface SkillFields extends SkillValues {
	body: string;
}

export interface NewSkill extends SkillFields {
	files: FilesInput;
}

export interface SkillPatch extends Partial<SkillFields> {
	files?: FileChanges;
}

/** @throws validation_failed */
export function created({ files, ...fields }: NewSkill): SkillEdit {
	const put = readFiles(files);
	assertTogether(Object.keys(files), new Set(Object.keys(files)));
	return { ...valuesOf(fields), put: [documentOf(fields), ...put], drop: [] };
}

/** Returns the change as a function of the skill as it is. @throws validation_failed */
export function changed({ files = {}, ...change }: SkillPatch): (row: SkillRow, document: Buffer) => SkillEdit {
	const given = Object.entries(files);
	const put = readFiles(Object.fromEntries(given.filter((one): one is [string, FilesInput[string]] => one[1] !== null)));
	const drop = given.flatMap(([path, content]) => (content === null ? [path] : []));
	if (drop.includes(DOCUMENT)) throw invalid(`/files/${DOCUMENT}`, `${DOCUMENT} cannot be removed: it is the skill.`);
	const fresh = new Set(put.map(({ path }) => path));
	return (row, document) => {
		const { name, description, frontmatter, arguments: args } = row;
		const fields = { name, description, frontmatter, arguments: args, body: bodyOfSkill(document.toString()), ...change };
		const kept = row.files.map(({ path }) => path).filter((path) => path !== DOCUMENT && !drop.includes(path) && !fresh.has(path));
		assertTogether([...kept, ...fresh], fresh);
		return { ...valuesOf(fields), put: [documentOf(fields), ...put], drop };
	};
}

/** @throws validation_failed */
function valuesOf({ name, description, frontmatter, arguments: given }: SkillFields): SkillValues {
	const args = given.map(({ name: its, description: about, required, values }: SkillArgument) => ({
		name: its,
		description: about,
		required,
		values,
	}));
	assertSmall('frontmatter', frontmatter);
	assertSmall('arguments', args);
	return { name, description, frontmatter, arguments: args };
}

/** Lists show these fields, and every process keeps them with each gateway that has the skill. */
function assertSmall(field: 'frontmatter' | 'arguments', value: Json): void {
	if (JSON.stringify(value).length > MAX_FIELD_CHARS)
		throw invalid(`/${field}`, `"${field}" may have ${MAX_FIELD_CHARS} characters of JSON.`);
}

function documentOf({ name, description, frontmatter, body }: SkillFields): NewSkillFile {
	const content = Buffer.from(writeSkill({ name, description, ...frontmatter }, body));
	return { path: DOCUMENT, mimeType: typeOf(DOCUMENT, true), isText: true, content };
}
