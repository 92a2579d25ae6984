// An operation of the management API: one declaration that yields the route, its checks and its part of the OpenAPI document.

import { createHash } from 'node:crypto';
import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { asGatewayError, type ErrorCode, type GatewayError } from '../contract/errors.ts';
import type { Window } from '../contract/limits.ts';
import type { JsonSchema } from '../contract/nouns.ts';
import { type LongIntegers, UNREAD } from '../http/body.ts';
import { bodyOf } from '../http/failures.ts';
import { validateInput } from '../kit/input-faults.ts';
import type { Need } from './access.ts';
import { Replay } from './idempotency.ts';
import { forEachVersion } from './if-match.ts';
import { success } from './rest.ts';

export interface Endpoint {
	method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
	/** In hapi's syntax: `/gateways/{id}`. An `{orgId}` is the organization. */
	path: string;
	/** Unique, a verb first: `createGateway`. Clients generated from the document use this name. */
	id: string;
	/** One sentence. */
	summary: string;
	/** Markdown for readers who need more than the summary. */
	description?: string;
	/** The requirement; `public` admits everybody. */
	need: Need | 'public';
	/** The handler counts the request itself, by a credential that it verifies: a public operation else counts by address. */
	countsItself?: true;
	/** A limit class that the feature declares: the operation counts in it instead of its path's window, unless it is wider than a prefix's. */
	limit?: string;
	/**
	 * A window of the operation's own, per address: for where credentials are guessed or issued. It counts beside the path's window; below
	 * `/auth`, beside the global one in place of that.
	 */
	addressLimit?: Window;
	/** Also admits a key of the gateway in `{id}` that has the scope of the permission's name. Such a key only reads. */
	gatewayKeys?: true;
	query?: Joi.ObjectSchema;
	body?: Joi.ObjectSchema;
	/**
	 * `unread`: the handler reads the body itself, with a limit of its own; `body` only describes it.
	 * `optional`: none of its fields is required, so the body may be absent; it is `{}` then.
	 */
	bodyIs?: 'unread' | 'optional';
	/** `exact`: the body has values for tools or agents, of which no integer may be rounded. */
	integers?: LongIntegers;
	/** The schema of `data`; of the whole answer when it is `bare`. */
	answer: Joi.Schema;
	/** Media types of a `bare` answer that is not JSON: one, or those that the caller chooses from. */
	produces?: string | readonly string[];
	/** The answer is not wrapped in the envelope (specification 2 and 4.8); a 202 is. */
	bare?: true;
	status?: 200 | 201 | 202;
	/** Other statuses with the same answer, each with its condition; 204 carries none. */
	alsoAnswers?: Readonly<Record<number, string>>;
	/** The schema of `data` in a 202: the handler may defer the work (`accept`). */
	accepted?: Joi.Schema;
	/** Errors beyond those that any operation of its kind can have: `conflict`, `schema_invalid`. */
	errors?: readonly ErrorCode[];
	/** Takes an `Idempotency-Key`. Not allowed when the answer shows a secret (decisions, 13). A handler that reads the body itself calls `claimKey`. */
	idempotent?: true;
	/** Answers with an `ETag`; a PUT, PATCH or DELETE takes `If-Match`, too. */
	versioned?: true;
	/** A POST that takes `If-Match`, since it changes something that exists. */
	conditional?: true;
	/** Builds the bodies of its errors, and describes them. */
	errorBody?: { schema: JsonSchema; of(error: GatewayError, usual: object): object };
	/** Exempt from hapi's time limit. */
	slow?: true;
	/** @returns `data`; when it is `bare`, hapi's own answer or the body */
	handler(request: Request): unknown;
}

/** Tells whether the operation takes `If-Match`. */
export const takesIfMatch = ({ method, versioned, conditional }: Endpoint): boolean =>
	conditional === true || (versioned === true && (method === 'PATCH' || method === 'PUT' || method === 'DELETE'));

/** Tells whether the organization is the one of the request's context, rather than one in its path. */
export const isOfContext = ({ need, path }: Endpoint): boolean => need.includes(':') && !path.includes('{orgId}');

declare module '@hapi/hapi' {
	interface PluginSpecificConfiguration {
		/** The declaration, for the document. */
		operation?: Endpoint;
		/** The feature that registered the route. */
		feature?: string;
	}
	interface PluginsStates {
		/** The version for the `ETag`. */
		version?: number;
		/** Value for `Set-Cookie`. */
		cookie?: string;
		/** Headers of a 202. */
		accepted?: Record<string, string>;
		/** Value for `Preference-Applied`. */
		preferences?: string;
	}
}

/** The message for unknown parameters, like the one for unknown fields of bodies. */
const UNKNOWN = { 'object.unknown': '{{#label}} is not a parameter of this operation' };
const JSON_TYPE = 'application/json';
/** A route that declares no query accepts none. */
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
			validate: { query: checkedBy(query.messages(UNKNOWN)), ...(body && bodyIs !== 'unread' && { payload: checkedBy(body) }) },
			plugins: {
				gatehouse: {
					...(need !== 'public' && { need, organization }),
					...(gatewayKeys && { gatewayKeys }),
					...(declared.countsItself && { countsItself: true as const }),
					...(bodyIs && { body: bodyIs }),
				},
				...(declared.errorBody && { errorBody: declared.errorBody.of }),
				operation: declared,
			},
		},
		handler: (request, h) =>
			answer(declared, request, h).catch((thrown: unknown) => {
				if (thrown instanceof Replay) return thrown.response(h);
				throw thrown;
			}),
	};
}

/** hapi would have Joi tell all faults of an input, however many there are. */
const checkedBy =
	(schema: Joi.Schema) =>
	async (input: unknown, options: Joi.ValidationOptions | undefined): Promise<unknown> => {
		const { value, error } = validateInput(schema, input, options ?? {});
		if (error) throw Object.assign(new Error('The input is not valid.'), { details: error.details });
		return value;
	};

/** An answer may change while the version does not: counters, costs, the next times of a schedule. */
const digestOf = (body: string): string => createHash('sha256').update(body).digest('base64url').slice(0, 22);

async function answer(declared: Endpoint, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
	const given = await run(declared, request);
	const { version, idempotent, cookie, accepted, preferences } = request.plugins;
	if (declared.bare && !idempotent && !accepted) return given as ResponseObject;
	const status = accepted ? 202 : (declared.status ?? 200);
	const body = JSON.stringify(declared.bare && !accepted ? given : success(given));
	const headers: Record<string, string> = {
		...accepted,
		...(preferences && { 'preference-applied': preferences }),
		...(declared.versioned && version !== undefined && { etag: `"${version}.${digestOf(body)}"` }),
	};
	await idempotent?.keep({ status, body, headers });
	const response = h.response(body).code(status).type(JSON_TYPE);
	for (const [name, value] of Object.entries(headers)) response.header(name, value);
	return cookie === undefined ? response : response.header('set-cookie', cookie).header('cache-control', 'no-store');
}

/** Runs the handler. A failed request had no effect, so the next one under the same key may try; an agent that failed has run. */
async function run(declared: Endpoint, request: Request): Promise<unknown> {
	const { idempotent } = request.plugins;
	const { handler } = declared;
	const work = () => (takesIfMatch(declared) ? forEachVersion(request, handler) : handler(request));
	try {
		return await (idempotent ? idempotent.during(work) : work());
	} catch (thrown) {
		const error = asGatewayError(thrown);
		const { idempotent: begun } = request.plugins;
		if (error?.code === 'agent_failed') {
			await begun?.keep({
				status: error.status,
				body: JSON.stringify(bodyOf(error, request)),
				headers: error.headers,
			});
		} else await begun?.forget();
		throw thrown;
	}
}

/** Sets a cookie; the answer must not be cached. @param cookie value for `Set-Cookie` */
export function setCookie(request: Request, cookie: string): void {
	request.plugins.cookie = cookie;
}

/** Makes the answer a 202: the work is not done yet. @param headers where to look for it, and when */
export function accept(request: Request, headers: { location: string; 'retry-after': string }): void {
	request.plugins.accepted = headers;
}

/** RFC 7240 §3: the answer lists the preferences of the client that were applied. */
export function showPreferences(request: Request, preferences: readonly string[]): void {
	request.plugins.preferences = preferences.join(', ');
}

/** Sets the version of the answer's `ETag`, which `If-Match` is compared with. */
export function showVersion(request: Request, version: number): void {
	request.plugins.version = version;
}
