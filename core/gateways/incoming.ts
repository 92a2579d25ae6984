// A request to a gateway, free of hapi's types: its path inside the gateway, its query, and its body in the form that the route declares.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/errors.ts';
import type { GatewayRoute } from '../contract/kinds.ts';
import type { Incoming } from '../contract/nouns.ts';
import { clientAddress } from '../http/addresses.ts';
import { DEFAULT_MAX_BYTES, parseFormBody, parseJson, readBody } from '../http/body.ts';
import { codingOf, inflated } from '../http/codings.ts';
import { isTrustedOrigin, publicUrlOf } from '../http/origins.ts';
import { assertQuery } from '../http/queries.ts';
import { lastEventIdOf } from '../http/server-events.ts';
import { mediaTypeOf } from '../kit/media-type.ts';
import type { RouteMatch } from './mount.ts';

/**
 * Tells whether a path is a discovery endpoint. "Discovery endpoints (.well-known/*, agent cards) are always public" (specification 4.3),
 * including missing ones: a client takes 404 for "no OAuth here" and 401 for a broken gateway.
 */
export const isDiscovery = (path: string): boolean => path === '/.well-known' || path.startsWith('/.well-known/');

export function describeRequest(
	request: Request,
	{ config, ...around }: { config: Config; publicUrl: string; base: string; path: string; match: RouteMatch | null },
): Incoming {
	const { headers } = request.raw.req;
	const origin = headers.origin ?? null;
	return {
		id: request.info.id,
		method: request.method.toUpperCase(),
		target: request.raw.req.url ?? '',
		authority: authorityOf(headers.host, around.publicUrl),
		path: around.path,
		base: around.base,
		params: around.match?.params ?? {},
		// Not a getter of its own: V8 keeps the shape that holds it, and with it the request, until a whole collection.
		query: queryOf(request),
		// Node joins repeated headers; only set-cookie, which no request carries, would be a list.
		headers: headers as Record<string, string | undefined>,
		body: null,
		lastEventId: lastEventIdOf(request),
		address: clientAddress(request.info.remoteAddress, headers['x-forwarded-for']?.toString(), config.trustProxy),
		publicUrl: around.publicUrl,
		origin: { value: origin, trusted: origin !== null && isTrustedOrigin(config, origin) },
	};
}

/**
 * Returns the request of a feature's own route as `runtime.callOf` takes it: its body is for the feature to read.
 * @throws validation_failed for a query that is not text
 */
export function incomingOf(request: Request, config: Config): Incoming {
	const publicUrl = publicUrlOf(config, request.raw.req.headers.host);
	const incoming = describeRequest(request, { config, publicUrl, base: publicUrl, path: request.path, match: null });
	assertQuery(incoming.target);
	return { ...incoming, params: request.params as Record<string, string> };
}

/** RFC 9421 §2.2.3: "the hostname is normalized to lowercase, and the default port is omitted". */
function authorityOf(host: string | undefined, publicUrl: string): string {
	const lower = host?.toLowerCase() ?? '';
	const port = publicUrl.startsWith('https:') ? ':443' : ':80';
	return lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/** Reads the query from the raw target: hapi would first parse the whole target as a URL. */
function queryOf({ raw: { req } }: Request): URLSearchParams {
	const target = req.url ?? '';
	const start = target.indexOf('?');
	return new URLSearchParams(start === -1 ? '' : target.slice(start + 1));
}

/**
 * Reads the body of a request, in the form that the route declares.
 * @param verify is given the body as it was sent, before anything else reads it. @throws unsupported_media_type, payload_too_large, validation_failed
 */
export async function readFor(
	request: Request,
	route: GatewayRoute,
	verify: ((rawBody: Buffer | null) => Promise<void>) | null,
): Promise<unknown> {
	const { headers } = request.raw.req;
	const maxBytes = route.maxBytes ?? DEFAULT_MAX_BYTES;
	const sent = await readBody(request.raw.req, maxBytes, route.encodings);
	if (verify) await verify(sent);
	if (sent === null) return null;
	const body = codingOf(headers['content-encoding'], route.encodings) === null ? sent : await inflated(sent, maxBytes);
	if (route.body === undefined || route.body === 'raw') return body;
	const type = mediaTypeOf(headers['content-type']);
	const expected = route.body === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
	if (type !== expected) throw new GatewayError('unsupported_media_type', `Content-Type must be ${expected}.`);
	return route.body === 'json' ? parseJson(body) : parseFormBody(body);
}
