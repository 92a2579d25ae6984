// An operation of the management API: one declaration from which come the route, its checks and its page of the document.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type ErrorCode, GatewayError } from '../contract/errors.ts';
import { UNREAD } from '../http/body.ts';
import type { Need } from './access.ts';
import { success } from './rest.ts';

export interface Endpoint {
	method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
	/** As hapi writes it: `/gateways/{id}`. An `{orgId}` is the organization. */
	path: string;
	/** Unique, a verb first: `createGateway`. Clients made from the document call it by this name. */
	id: string;
	/** One sentence. */
	summary: string;
	/** What a reader must know beyond the summary; Markdown. */
	description?: string;
	/** Who may; `public`: everybody. */
	need: Need | 'public';
	/** A key of the gateway in `{id}` may, too, if it has the scope of the permission's name. It only reads. */
	gatewayKeys?: true;
	query?: Joi.ObjectSchema;
	body?: Joi.ObjectSchema;
	/**
	 * `unread`: the handler reads the body itself, with a limit of its own; `body` only describes it.
	 * `optional`: none of its fields is required, so there may be none; it is `{}` then.
	 */
	bodyIs?: 'unread' | 'optional';
	/** Of `data`; of the whole answer where it is `bare`. */
	answer: Joi.Schema;
	/** Media type of a `bare` answer that is not JSON. */
	produces?: string;
	/** Not in the envelope (specification 2 and 4.8). */
	bare?: true;
	status?: 200 | 201;
	/** Other statuses that carry this very answer, each with when; 204 carries none. */
	alsoAnswers?: Readonly<Record<number, string>>;
	/** `data` of a 202: the handler may leave the work to be done later (`accept`). */
	accepted?: Joi.Schema;
	/** What can go wrong beyond what any operation of its kind can: `conflict`, `schema_invalid`. */
	errors?: readonly ErrorCode[];
	/** Takes an `Idempotency-Key`. Not where the answer shows a secret (decisions, 13). */
	idempotent?: true;
	/** Answers with an `ETag`, and where it changes something takes `If-Match`. */
	versioned?: true;
	/** It may take longer than hapi would wait. */
	slow?: true;
	/** @returns `data`; where it is `bare`, hapi's own answer or the body */
	handler(request: Request): unknown;
}

/** Of what is there already. */
export const changes = ({ method }: Endpoint): boolean => method === 'PATCH' || method === 'PUT' || method === 'DELETE';

/** Whether the organization is the one that the request is sent in, and not one of its path. */
export const isOfContext = ({ need, path }: Endpoint): boolean => need.includes(':') && !path.includes('{orgId}');

declare module '@hapi/hapi' {
	interface PluginSpecificConfiguration {
		/** What the document tells of the route. */
		operation?: Endpoint;
		/** The feature that the route came with. */
		feature?: string;
	}
	interface PluginsStates {
		/** Of what the answer shows, for its `ETag`. */
		version?: string;
		/** Value for `Set-Cookie`. */
		cookie?: string;
		/** Headers of a 202. */
		accepted?: Record<string, string>;
		/** Value for `Preference-Applied`. */
		preferences?: string;
	}
}

/** As of bodies: that it is not known, and of what. */
const UNKNOWN = { 'object.unknown': '{{#label}} is not a parameter of this operation' };
/** Where none is declared, none is taken. */
const NO_QUERY = Joi.object({});

export function operation(declared: Endpoint): ServerRoute {
	const { method, path, need, gatewayKeys, query = NO_QUERY, body, bodyIs } = declared;
	const organization = path.includes('{orgId}') ? 'path' : 'context';
	return {
		method,
		path,
		options: {
			...(need === 'public' && { auth: false as const }),
			...(bodyIs === 'unread' && { payload: UNREAD.payload }),
			...(declared.slow && { timeout: { server: false } }),
			validate: { query: query.messages(UNKNOWN), ...(body && bodyIs !== 'unread' && { payload: body }) },
			plugins: {
				gatehouse: {
					...(need !== 'public' && { need, organization }),
					...(gatewayKeys && { gatewayKeys }),
					...(bodyIs && { body: bodyIs }),
				},
				operation: declared,
			},
		},
		handler: (request, h) => answer(declared, request, h),
	};
}

async function answer(declared: Endpoint, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
	const given = await run(declared, request);
	if (declared.bare) return given as ResponseObject;
	const { version, idempotent, cookie, accepted, preferences } = request.plugins;
	const status = accepted ? 202 : (declared.status ?? 200);
	const headers: Record<string, string> = {
		...accepted,
		...(preferences && { 'preference-applied': preferences }),
		...(declared.versioned && version !== undefined && { etag: `"${version}"` }),
	};
	const enveloped = success(given);
	await idempotent?.keep({ status, body: JSON.stringify(enveloped), headers });
	const response = h.response(enveloped).code(status);
	for (const [name, value] of Object.entries(headers)) response.header(name, value);
	return cookie === undefined ? response : response.header('set-cookie', cookie).header('cache-control', 'no-store');
}

/** What failed did nothing, so the next request under the same key may try. */
async function run({ handler }: Endpoint, request: Request): Promise<unknown> {
	try {
		return await handler(request);
	} catch (error) {
		await request.plugins.idempotent?.forget();
		throw error;
	}
}

/** The answer sets this cookie, and is kept nowhere on its way. @param cookie value for `Set-Cookie` */
export function setCookie(request: Request, cookie: string): void {
	request.plugins.cookie = cookie;
}

/** The answer is a 202: what was asked for is not done yet. @param headers where to look for it, and when */
export function accept(request: Request, headers: { location: string; 'retry-after': string }): void {
	request.plugins.accepted = headers;
}

/** RFC 7240 §3: the answer says which preferences of the client were kept to. */
export function showPreferences(request: Request, preferences: readonly string[]): void {
	request.plugins.preferences = preferences.join(', ');
}

/** For the answer's `ETag`: the row's version, and a part more where the answer shows what is not the row's own. */
export function showVersion(request: Request, version: number, more?: number): void {
	request.plugins.version = more === undefined ? String(version) : `${version}.${more}`;
}

/**
 * The version of the row that `If-Match` asks for; undefined when it asks for none, or for any.
 * @throws precondition_failed when it is no tag of ours: it can match nothing
 */
export function expectedVersion(request: Request): number | undefined {
	const header = request.raw.req.headers['if-match'];
	if (header === undefined || header.trim() === '*') return undefined;
	const [, version] = /^"(\d{1,9})(?:\.\d{1,15})?"$/.exec(header.trim()) ?? [];
	if (version === undefined)
		throw new GatewayError('precondition_failed', 'If-Match names no version of this: send the ETag as it was answered.');
	return Number(version);
}
