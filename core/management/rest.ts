// What operations of the management API share: the envelope, lists, the fields of bodies, and the shapes of answers.

import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import type { Page } from '../store/store.ts';
import type { Shape } from './present.ts';

export interface Envelope<T> {
	success: true;
	data: T;
}

export const success = <T>(data: T): Envelope<T> => ({ success: true, data });

// ── bodies ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A JSON body with these fields and no others; a string is not taken for a number. */
export const body = (fields: Joi.PartialSchemaMap): Joi.ObjectSchema =>
	Joi.object(fields)
		.required()
		.prefs({ convert: false })
		.label('body')
		.messages({ 'object.unknown': '{{#label}} is not a field of this body' });

/** A name for people to read. */
export const displayName = Joi.string().min(1).max(200).pattern(/\S/, 'more than blanks').description('A name for people to read.');

export const description = Joi.string().allow('', null).max(10_000).description('What it is for; null for nothing.');

// ── lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const MAX_PAGE = 100;

/** Words to look for: `q` of the lists that can be searched. */
export const words = Joi.string()
	.allow('')
	.max(200)
	.description('Words that the name or the description holds, in any order and without regard to case; all of them, ten at most.')
	.example('pet store');

interface List {
	/** What the list can be sorted by, either way. Every list can be by `createdAt`. */
	sorts?: readonly string[];
	/** Beside `limit`, `cursor` and `sort`. Only what is here is taken. */
	filters?: Joi.PartialSchemaMap;
}

export function listQuery({ sorts = ['createdAt'], filters = {} }: List = {}): Joi.ObjectSchema {
	const directions = sorts.flatMap((field) => [field, `-${field}`]);
	return Joi.object({
		limit: Joi.number().integer().min(1).max(MAX_PAGE).default(MAX_PAGE).description('The most that one page holds.'),
		cursor: Joi.string().max(1000).description('The `nextCursor` of the page before, asked for with the same `sort`.'),
		sort: Joi.string()
			.valid(...directions)
			.description('The order, descending with a `-` before the field. In order of creation when absent.'),
		...filters,
	});
}

/** Of a request whose query passed `listQuery`. */
export function pageOf(request: Request): Page {
	const { limit, cursor, sort } = listed(request);
	return { limit, ...(cursor !== undefined && { cursor }), ...(sort !== undefined && { sort }) };
}

/** What else such a query asks for. @typeParam F what the route's `filters` let through */
export function filterOf<F extends object>(request: Request): F {
	const { limit, cursor, sort, ...filter } = listed(request);
	// What is left has passed `filters`, the one place that says what may be there.
	return filter as F;
}

// hapi cannot know: it has passed `listQuery`.
const listed = (request: Request): Page => request.query as unknown as Page;

/** `?ifUnused=true` on removals. */
export const removalQuery = Joi.object({
	ifUnused: Joi.boolean().default(false).description('Refuse with 409, naming what uses it, rather than remove that too.'),
});

// ── answers ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const uuid = Joi.string().guid();
/** As JSON carries a date. */
export const timestamp = Joi.string().isoDate().example('2026-03-01T12:00:00.000Z');
/** Any text, also none. */
export const text = Joi.string().allow('');
export const count = Joi.number().integer().min(0);
/** A user's own: whatever JSON object was handed in. */
export const jsonObject = Joi.object().unknown();

/** An object of an answer: these fields and no others, each always there unless it is `optional()`. */
export function shape<K extends string>(fields: Record<K, Joi.Schema>): Shape<K> {
	const settled = Object.entries<Joi.Schema>(fields).map(([name, field]) => [name, hasPresence(field) ? field : field.required()]);
	return Joi.object(Object.fromEntries(settled));
}

const hasPresence = (field: Joi.Schema): boolean => field.$_getFlag('presence') !== undefined;

/** A page of a list: `{ [name]: item[], nextCursor }`. */
export const page = (name: string, item: Joi.Schema): Joi.ObjectSchema =>
	shape({
		[name]: Joi.array().items(item),
		nextCursor: Joi.string().allow(null).description('For the `cursor` of the next page; null on the last.'),
	});

/** What a removal answers; `kinds` are what goes along. */
export const removal = (...kinds: string[]): Joi.ObjectSchema =>
	shape({
		id: uuid,
		removed: shape(Object.fromEntries(kinds.map((kind) => [kind, count]))).description('How many of each went with it.'),
	});
