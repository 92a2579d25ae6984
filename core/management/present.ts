// How rows become answers: the shape of an answer lists the public fields, and nothing else of a row is ever shown.

import type Joi from 'joi';

declare const FIELDS: unique symbol;

/** The shape of an answer. @typeParam K its fields, which the compiler alone knows of */
export type Shape<K extends string> = Joi.ObjectSchema & { [FIELDS]?: K };

/** Fields that the row has not, or has otherwise. */
type Extra<K extends string, R> = Partial<Record<K, unknown>> & Record<Exclude<K, keyof R>, unknown>;

/** The fields of a row that the answer has, in its order; what is undefined is left out. */
export function present<K extends string, R extends object>(
	answer: Shape<K>,
	row: R,
	...[extra]: Exclude<K, keyof R> extends never ? [extra?: Extra<K, R>] : [extra: Extra<K, R>]
): Record<K, unknown> {
	// The compiler has seen to it that each is in one of the two.
	const [given, stored] = [extra ?? {}, row] as [Partial<Record<K, unknown>>, Partial<Record<K, unknown>>];
	const shown: Partial<Record<K, unknown>> = {};
	for (const field of fieldsOf(answer)) {
		const value = field in given ? given[field] : stored[field];
		if (value !== undefined) shown[field] = value;
	}
	return shown as Record<K, unknown>;
}

const known = new WeakMap<Joi.ObjectSchema, readonly string[]>();

/** Read once of each shape, not for each row. */
function fieldsOf<K extends string>(answer: Shape<K>): readonly K[] {
	const fields = known.get(answer) ?? answer.$_terms['keys'].map(({ key }: { key: string }) => key);
	known.set(answer, fields);
	// A shape has the keys that it was made with.
	return fields as K[];
}
