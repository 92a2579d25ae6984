// What every route of the management API shares: the envelope, pages, bodies that say what they take.

import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import type { Page } from './store.ts';

export interface Envelope<T> {
	success: true;
	data: T;
}

export const success = <T>(data: T): Envelope<T> => ({ success: true, data });

/** A JSON body with these fields and no others; a string is not taken for a number. */
export const body = (fields: Joi.PartialSchemaMap): Joi.ObjectSchema =>
	Joi.object(fields)
		.required()
		.prefs({ convert: false })
		.label('body')
		.messages({ 'object.unknown': '{{#label}} is not a field of this body' });

const MAX_PAGE = 100;

/** Options of a route whose handler reads the body itself, with a limit of its own. */
export const UNREAD = {
	payload: { parse: false, output: 'stream', maxBytes: Number.MAX_SAFE_INTEGER },
	plugins: { gatehouse: { body: 'unread' } },
} as const;

/** `limit` and `cursor`, and these filters beside them. */
export const pageQuery = (filters: Joi.PartialSchemaMap = {}): Joi.ObjectSchema =>
	Joi.object({
		limit: Joi.number().integer().min(1).max(MAX_PAGE).default(MAX_PAGE),
		cursor: Joi.string().max(500),
		...filters,
	});

/** Of a request whose query passed `pageQuery`. */
export function pageOf(request: Request): Page {
	const { limit, cursor } = request.query as { limit: number; cursor?: string };
	return { limit, ...(cursor !== undefined && { cursor }) };
}

/** `?ifUnused=true` on removals. */
export const removalQuery = Joi.object({ ifUnused: Joi.boolean().default(false) });

/** A name for people to read. */
export const displayName = Joi.string().min(1).max(200).pattern(/\S/, 'more than blanks');

export const description = Joi.string().allow('', null).max(10_000);

/** Aborted when the client leaves before its answer is whole. */
export function clientSignal(request: Request): AbortSignal {
	const controller = new AbortController();
	const { res } = request.raw;
	res.once('close', () => {
		if (!res.writableFinished) controller.abort(new Error('The client left.'));
	});
	return controller.signal;
}
