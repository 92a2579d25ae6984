// Writes the document as YAML, member by member: as a whole it takes longer than a request may block others.

import { stringify } from 'yaml';
import { isObject, type Json, type JsonObject, TimeSlice } from '../../../core/features.ts';

const write = (value: JsonObject): string => stringify(value, { aliasDuplicateObjects: false });

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

/** Writes each member of the members of a document by itself. */
export async function writeYaml(document: JsonObject): Promise<string> {
	const texts: string[] = [];
	for (const [name, value] of Object.entries(document)) {
		const isLong = isObject(value) && Object.values(value).some(isObject);
		texts.push(isLong ? `${name}:\n${await writeMembers(value)}` : write({ [name]: value }));
	}
	return texts.join('');
}

/** Writes the members of one member; those of `components` are as many as there are paths, so they are written one by one, too. */
async function writeMembers(parent: JsonObject): Promise<string> {
	const slice = new TimeSlice();
	const texts: string[] = [];
	for (const [name, value] of Object.entries(parent)) {
		if (slice.isOverNow) await slice.next();
		texts.push(isMany(value) ? `  ${name}:\n${indented(await writeMembers(value))}` : indented(write({ [name]: value })));
	}
	return texts.join('');
}

const MANY = 50;

const isMany = (value: Json): value is JsonObject => isObject(value) && Object.keys(value).length > MANY;
