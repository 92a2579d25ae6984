// The built-in types of XML Schema (Part 2, §3) as JSON Schema, for requests and for answers.

import type { JsonObject } from '../../../core/index.ts';

const INTEGER_TEXT = '^[+-]?[0-9]+$';
const DECIMAL_TEXT = '^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$';
const FLOAT_TEXT = '^([+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN)$';

const text = (description?: string): JsonObject => ({ type: 'string', ...(description ? { description } : {}) });

const YEAR = '-?\\d{4,}';
const MONTH = '(0[1-9]|1[0-2])';
const DAY = '(0[1-9]|[12]\\d|3[01])';
/** Times, including 24:00:00, the end of a day. */
const TIME = '([01]\\d|2[0-4]):[0-5]\\d:[0-5]\\d(\\.\\d+)?';
const DURATION = '^-?P(T?\\d+(\\.\\d+)?[YMDHS])+$';

/** Matches a lexical form with an optional time zone. */
const zoned = (lexical: string): string => `^${lexical}(Z|[+-][01]\\d:[0-5]\\d)?$`;

/** Accepts JSON Schema's format or XML Schema's own form, in which the time zone is optional, also where the format has none. */
const moment = (format: string, lexical: string, description: string): JsonObject => ({
	...text(description),
	anyOf: [{ format }, { pattern: zoned(lexical) }],
});
const part = (lexical: string, description: string): JsonObject => ({ ...text(description), pattern: zoned(lexical) });

/** The types of qualified names, whose prefixes mean nothing outside of their document. */
export const NAMES: ReadonlySet<string> = new Set(['QName', 'NOTATION']);
const NAME = 'A qualified name: {namespace}local, or local where it has no namespace.';

/** Integers that a double holds exactly. */
const safe = (minimum: number, maximum: number): JsonObject => ({ type: 'integer', minimum, maximum });
/** Integers of which a double may lose digits, and which are therefore accepted as text, too. */
const long = (minimum?: number): JsonObject => ({
	type: ['integer', 'string'],
	...(minimum === undefined ? {} : { minimum }),
	pattern: INTEGER_TEXT,
});
const float: JsonObject = { type: ['number', 'string'], pattern: FLOAT_TEXT };

const REQUESTS: Readonly<Record<string, JsonObject>> = {
	boolean: { type: 'boolean' },
	byte: safe(-128, 127),
	short: safe(-32_768, 32_767),
	int: safe(-(2 ** 31), 2 ** 31 - 1),
	unsignedByte: safe(0, 255),
	unsignedShort: safe(0, 65_535),
	unsignedInt: safe(0, 2 ** 32 - 1),
	long: long(),
	unsignedLong: long(0),
	integer: long(),
	nonNegativeInteger: long(0),
	positiveInteger: long(1),
	nonPositiveInteger: long(),
	negativeInteger: long(),
	decimal: { type: ['number', 'string'], pattern: DECIMAL_TEXT },
	float,
	double: float,
	base64Binary: { type: 'string', contentEncoding: 'base64' },
	hexBinary: { type: 'string', pattern: '^([0-9a-fA-F]{2})*$' },
	date: moment('date', `${YEAR}-${MONTH}-${DAY}`, 'A date, such as 2026-01-31.'),
	dateTime: moment('date-time', `${YEAR}-${MONTH}-${DAY}T${TIME}`, 'Date and time, such as 2026-01-31T12:00:00Z.'),
	time: moment('time', TIME, 'A time, such as 12:00:00.'),
	gYear: part(YEAR, 'A year, such as 2026.'),
	gYearMonth: part(`${YEAR}-${MONTH}`, 'A month of a year, such as 2026-01.'),
	// The first edition of XML Schema wrote two more dashes.
	gMonth: part(`--${MONTH}(--)?`, 'A month, such as --01.'),
	gMonthDay: part(`--${MONTH}-${DAY}`, 'A day of a month, such as --01-31.'),
	gDay: part(`---${DAY}`, 'A day of any month, such as ---31.'),
	duration: { ...text('A duration, such as P1DT12H.'), pattern: DURATION },
	QName: text(NAME),
	NOTATION: text(NAME),
	anySimpleType: { type: ['string', 'number', 'boolean'] },
};

/** Types that the executor reads as integers, since a double always holds them. */
const SAFE_INTEGERS = new Set(['byte', 'short', 'int', 'unsignedByte', 'unsignedShort', 'unsignedInt']);

export const STRINGS: ReadonlySet<string> = new Set([
	'string',
	'normalizedString',
	'token',
	'language',
	'Name',
	'NCName',
	'NMTOKEN',
	'ID',
	'IDREF',
	'ENTITY',
	'anyURI',
]);

/** Built-in list types, with the types of their items. */
export const LISTS: Readonly<Record<string, string>> = { NMTOKENS: 'NMTOKEN', IDREFS: 'IDREF', ENTITIES: 'ENTITY' };

export const isBuiltIn = (local: string): boolean => STRINGS.has(local) || Object.hasOwn(REQUESTS, local);

/** Returns the schema of a value in a request. */
export const requestSchema = (base: string): JsonObject => ({ ...(Object.hasOwn(REQUESTS, base) ? REQUESTS[base] : text()) });

/** Returns the schema of a value in an answer, which accepts all that servers send: empty numbers are null, other texts are kept. */
export function responseSchema(base: string): JsonObject {
	if (base === 'boolean') return { type: ['boolean', 'string', 'null'] };
	if (SAFE_INTEGERS.has(base)) return { type: ['integer', 'string', 'null'] };
	if (base === 'float' || base === 'double') return { type: ['number', 'string', 'null'] };
	return { type: ['string', 'null'], ...(NAMES.has(base) && { description: NAME }) };
}

export const takesNumbers = (base: string): boolean => {
	const { type } = requestSchema(base);
	return type === 'integer' || (Array.isArray(type) && type.some((name) => name === 'integer' || name === 'number'));
};
