// The texts of a tool that the search reads, with their weights and bounds.

import { isObject, type JsonObject, type Tool } from '../../../core/index.ts';

/** A text of a tool: `usual` is the number of words beyond which more of them make each of them say less. */
export interface Field {
	weight: number;
	usual: number;
	text: string;
}

const MAX_DESCRIPTION_CHARS = 1000;
const MAX_PARAMETERS = 40;
const MAX_PARAMETER_CHARS = 80;

/** Names say most, then titles, the first line of a description, the rest of it, and parameters. */
export function fieldsOf({ name, description, annotations, parameters }: Tool): Field[] {
	const [first, rest] = halvesOf(description.slice(0, MAX_DESCRIPTION_CHARS));
	const named = parametersOf(parameters);
	return [
		{ weight: 4, usual: 4, text: name },
		{ weight: 3, usual: 5, text: annotations.title ?? '' },
		{ weight: 3, usual: 6, text: first },
		{ weight: 0.6, usual: 40, text: rest },
		{ weight: 0.8, usual: 8, text: named.map(([parameter]) => parameter).join(' ') },
		{ weight: 0.3, usual: 40, text: named.map(([, said]) => said).join(' ') },
	];
}

/** Splits a description behind its first line, or its first sentence if that is shorter. */
export function halvesOf(description: string): [first: string, rest: string] {
	const end = /\n|[.!?](?=\s|$)/.exec(description)?.index ?? description.length;
	return [description.slice(0, end), description.slice(end)];
}

/** The names of parameters, and the beginning of what their schemas say, of the two upper levels. */
function parametersOf(schema: JsonObject): [name: string, said: string][] {
	const found: [string, string][] = [];
	const read = ({ properties }: JsonObject, levels: number): void => {
		if (!isObject(properties)) return;
		for (const [name, field] of Object.entries(properties)) {
			if (found.length >= MAX_PARAMETERS) return;
			const said = isObject(field) && typeof field.description === 'string' ? field.description.slice(0, MAX_PARAMETER_CHARS) : '';
			found.push([name, said]);
			if (levels > 1 && isObject(field)) read(field, levels - 1);
		}
	};
	read(schema, 2);
	return found;
}
