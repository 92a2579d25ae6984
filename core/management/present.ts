// Turns rows into answers: the shape of an answer lists the public fields, and no other field of a row is ever shown.

import type Joi from 'joi';

declare const FIELDS: unique symbol;

/** The shape of an answer. @typeParam K its fields, which only the compiler knows */
export type Shape<K extends string> = Joi.ObjectSchema & { [FIELDS]?: K };

/** Fields that the row lacks, or has in another form. */
type Extra<K extends string, R> = Partial<Record<K, unknown>> & Record<Exclude<K, keyof R>, unknown>;

/** Picks the fields of the answer from a row, in the answer's order; undefined ones are left out. */
export function present<K extends string, R extends object>(
	answer: Shape<K>,
	row: R,
	...[extra]: Exclude<K, keyof R> extends never ? [extra?: Extra<K, R>] : [extra: Extra<K, R>]
): Record<K, unknown> {
	// The compiler ensures that each field is in one of the two.
	const [given, stored] = [extra ?? {}, row] as [Partial<Record<K, unknown>>, Partial<Record<K, unknown>>];
	const shown: Partial<Record<K, unknown>> = {};
	for (const field of fieldsOf(answer)) {
		const value = field in given ? given[field] : stored[field];
		if (value !== undefined) shown[field] = value;
	}
	return shown as Record<K, unknown>;
}

const known = new WeakMap<Joi.ObjectSchema, readonly string[]>();

/** Reads the fields once per shape, not for each row. */
function fieldsOf<K extends string>(answer: Shape<K>): readonly K[] {
	const fields = known.get(answer) ?? answer.$_terms['keys'].map(({ key }: { key: string }) => key);
	known.set(answer, fields);
	// A shape has the keys that it was made with.
	return fields as K[];
}
