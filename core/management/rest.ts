// Parts that the operations of the management API share: the envelope, lists, the fields of bodies, and the shapes of answers.

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

/** A JSON body with these fields and no others; strings are not converted to numbers. */
export const body = (fields: Joi.PartialSchemaMap): Joi.ObjectSchema =>
	Joi.object(fields)
		.required()
		.prefs({ convert: false })
		.label('body')
		.messages({ 'object.unknown': '{{#label}} is not a field of this body' });

/** A name for people to read. */
export const displayName = Joi.string().min(1).max(200).pattern(/\S/, 'more than blanks').description('A name for people to read.');

export const description = Joi.string().allow('', null).max(10_000).description('The purpose, in free text; null when there is none.');

/** Each tool of a list has the icon again. */
const MAX_ICON_CHARS = 2000;

export const icon = Joi.string()
	.max(MAX_ICON_CHARS)
	.pattern(
		/^(?:https:\/\/[^\s@\\/?#]+(?:[/?#]\S*)?|data:image\/(?:png|jpeg|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2})$/,
		'an https URL, or a data URL of a PNG, JPEG, WebP or SVG in base64',
	)
	.allow(null)
	.description(
		'An image that clients may show: an https URL without user and password, or a data URL of a PNG, JPEG, WebP or SVG image in base64. Null: none.',
	);

// ── lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const MAX_PAGE = 100;

/** Search words: `q` of the lists that can be searched. */
export const words = Joi.string()
	.allow('')
	.max(200)
	.description('Up to ten words that the name or the description must all contain, in any order and ignoring case.')
	.example('pet store');

interface List {
	/** The fields that the list can be sorted by, in both directions. Every list has `createdAt`. */
	sorts?: readonly string[];
	/** Parameters besides `limit`, `cursor` and `sort`. No others are accepted. */
	filters?: Joi.PartialSchemaMap;
}

export function listQuery({ sorts = ['createdAt'], filters = {} }: List = {}): Joi.ObjectSchema {
	const directions = sorts.flatMap((field) => [field, `-${field}`]);
	return Joi.object({
		limit: Joi.number()
			.integer()
			.min(1)
			.max(MAX_PAGE)
			.default(MAX_PAGE)
			.description('The greatest number of items on a page, which also ends at about a megabyte.'),
		cursor: Joi.string().max(1000).description('The `nextCursor` of the previous page, requested with the same `sort`.'),
		sort: Joi.string()
			.valid(...directions)
			.description('The order, descending with a `-` before the field. In order of creation when absent.'),
		...filters,
	});
}

/** Reads the page of a request whose query passed `listQuery`. */
export function pageOf(request: Request): Page {
	const { limit, cursor, sort } = listed(request);
	return { limit, ...(cursor !== undefined && { cursor }), ...(sort !== undefined && { sort }) };
}

/** Reads the other parameters of such a query. @typeParam F the values that the route's `filters` admit */
export function filterOf<F extends object>(request: Request): F {
	const { limit, cursor, sort, ...filter } = listed(request);
	// The remaining parameters have passed `filters`, the only definition of what they may be.
	return filter as F;
}

// The query has passed `listQuery`, which hapi cannot know.
const listed = (request: Request): Page => request.query as unknown as Page;

/** `?ifUnused=true` on removals. */
export const removalQuery = Joi.object({
	ifUnused: Joi.boolean().default(false).description('Refuse with 409, naming its users, instead of removing them too.'),
});

// ── answers ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const uuid = Joi.string().guid();
/** A date as JSON carries it. */
export const timestamp = Joi.string().isoDate().example('2026-03-01T12:00:00.000Z');
/** Any text, also an empty one. */
export const text = Joi.string().allow('');
export const count = Joi.number().integer().min(0);
/** Any JSON object that a user sent. */
export const jsonObject = Joi.object().unknown();

/** An object of an answer: these fields and no others, each always present unless it is `optional()`. */
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

/** The answer to a removal; `kinds` are the rows removed along. */
export const removal = (...kinds: string[]): Joi.ObjectSchema =>
	shape({
		id: uuid,
		removed: shape(Object.fromEntries(kinds.map((kind) => [kind, count]))).description('The number of rows removed along, by kind.'),
	});
