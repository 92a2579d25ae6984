// Makes a body that a Joi schema accepts from the schema itself: the required fields and no others.

import type Joi from 'joi';

interface Described {
	type?: string;
	flags?: { presence?: string; only?: boolean; default?: unknown };
	allow?: unknown[];
	examples?: unknown[];
	keys?: Record<string, Described>;
	items?: Described[];
	rules?: { name: string; args?: Record<string, unknown> }[];
}

/** Gives the value of a field by its name where its schema is not specific enough: no value can be derived from a pattern. */
export type Known = (field: string) => unknown;

/** Makes the example. @throws Error with the reason when the example does not pass: give the schema an `.example()` */
export function exampleOf(schema: Joi.Schema, known: Known): unknown {
	const made = make('', schema.describe() as Described, known);
	const { error } = schema.validate(made, { convert: false });
	if (error) throw new Error(`no example could be made: ${error.message}; give the schema an .example()`);
	return made;
}

function make(field: string, described: Described, known: Known): unknown {
	const [example] = described.examples ?? [];
	if (example !== undefined) return field === '' ? withKnown(example, known) : example;
	const meant = field === '' ? undefined : known(field);
	if (meant !== undefined) return meant;
	const allowed = described.flags?.only ? described.allow?.find((value) => value !== null) : undefined;
	if (allowed !== undefined) return allowed;
	const rule = (name: string): Record<string, unknown> | undefined => described.rules?.find((one) => one.name === name)?.args;
	if (described.type === 'object') {
		const keys = Object.entries(described.keys ?? {});
		const required = keys.filter(([, key]) => key.flags?.presence === 'required');
		// A body with only optional fields may need one of them.
		const chosen = required.length === 0 && rule('min') ? keys.slice(0, 1) : required;
		return Object.fromEntries(chosen.map(([name, key]) => [name, make(name, key, known)]));
	}
	if (described.type === 'array') {
		const [item] = described.items ?? [];
		return item ? [make(field.replace(/s$/, ''), item, known)] : [];
	}
	if (described.type === 'boolean') return true;
	if (described.type === 'number') return Number(rule('min')?.['limit'] ?? 1);
	return text(described);
}

/** Replaces the ids of an example, which belong to no record. */
function withKnown(example: unknown, known: Known): unknown {
	if (example === null || typeof example !== 'object') return example;
	return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, known(name) ?? value]));
}

function text({ rules = [] }: Described): string {
	const names = new Set(rules.map(({ name }) => name));
	if (names.has('email')) return 'somebody@example.com';
	if (names.has('guid')) return '00000000-0000-4000-8000-000000000000';
	if (names.has('uri')) return 'https://example.com';
	if (names.has('isoDate')) return '2100-01-01T00:00:00.000Z';
	return 'example';
}
