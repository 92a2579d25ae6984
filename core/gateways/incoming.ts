// A request to a gateway, free of hapi's types: its path inside the gateway, its query, and its body in the form that the route declares.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { asGatewayError, GatewayError, PluginFault } from '../contract/errors.ts';
import type { GatewayRoute } from '../contract/kinds.ts';
import type { Incoming, JsonObject } from '../contract/nouns.ts';
import { clientAddress } from '../http/addresses.ts';
import { DEFAULT_MAX_BYTES, parseFormBody, parseJson, readBody } from '../http/body.ts';
import { isTrustedOrigin } from '../http/origins.ts';
import { isObject, measureJson } from '../kit/json.ts';
import { mediaTypeOf } from '../kit/media-type.ts';
import type { MountedRoute, RouteMatch } from './mount.ts';

/** The most characters of the body with which a route reports an unreadable one. */
const MAX_REPORT_CHARS = 64 * 1024;

/** Returns the raw path inside the gateway; a trailing slash makes no difference. */
export function innerPath(request: Request): string {
	const { name } = request.params as { name?: string };
	if (name !== undefined && request.path.startsWith('/.well-known/')) return `/.well-known/${name}`;
	const start = request.path.indexOf('/', request.path.indexOf('/', 1) + 1);
	const inner = start === -1 ? '/' : request.path.slice(start);
	return inner.length > 1 && inner.endsWith('/') ? inner.replace(/\/+$/, '') || '/' : inner;
}

/**
 * Tells whether a path is a discovery endpoint. "Discovery endpoints (.well-known/*, agent cards) are always public" (specification 4.3),
 * including missing ones: a client takes 404 for "no OAuth here" and 401 for a broken gateway.
 */
export const isDiscovery = (path: string): boolean => path === '/.well-known' || path.startsWith('/.well-known/');

export function describeRequest(
	request: Request,
	{ config, ...around }: { config: Config; publicUrl: string; path: string; match: RouteMatch | null },
): Incoming {
	const { headers } = request.raw.req;
	const origin = headers.origin ?? null;
	return {
		id: request.info.id,
		method: request.method.toUpperCase(),
		path: around.path,
		params: around.match?.params ?? {},
		query: queryOf(request),
		// Node joins repeated headers; only set-cookie, which no request carries, would be a list.
		headers: headers as Record<string, string | undefined>,
		body: null,
		address: clientAddress(request.info.remoteAddress, headers['x-forwarded-for']?.toString(), config.trustProxy),
		publicUrl: around.publicUrl,
		origin: { value: origin, trusted: origin !== null && isTrustedOrigin(config, origin) },
	};
}

/** Reads the query from the raw target: hapi would first parse the whole target as a URL. */
function queryOf({ raw: { req } }: Request): URLSearchParams {
	const target = req.url ?? '';
	const start = target.indexOf('?');
	return new URLSearchParams(start === -1 ? '' : target.slice(start + 1));
}

/** Lets the route describe errors of reading the body. @throws PluginFault when its description cannot be sent */
export async function reading<T>(mounted: MountedRoute | undefined, read: () => T | Promise<T>): Promise<T> {
	try {
		return await read();
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error || !mounted?.route.unreadable) throw thrown;
		const { code, message, headers } = error;
		throw new GatewayError(code, message, { headers, cause: thrown, body: checkReport(mounted.plugin, mounted.route.unreadable(error)) });
	}
}

function checkReport(plugin: string, report: unknown): JsonObject {
	const { fault, chars } = measureJson(report, MAX_REPORT_CHARS);
	if (isObject(report) && fault === null && chars <= MAX_REPORT_CHARS) return report;
	throw new PluginFault(
		plugin,
		`unreadable must return a JSON object of at most ${MAX_REPORT_CHARS} characters${fault ? `: it ${fault}` : ''}.`,
	);
}

/** @throws unsupported_media_type, payload_too_large, validation_failed */
export async function readFor(request: Request, route: GatewayRoute): Promise<unknown> {
	const body = await readBody(request.raw.req, route.maxBytes ?? DEFAULT_MAX_BYTES);
	if (body === null || route.body === undefined || route.body === 'raw') return body;
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	const expected = route.body === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
	if (type !== expected) throw new GatewayError('unsupported_media_type', `Content-Type must be ${expected}.`);
	return route.body === 'json' ? parseJson(body) : parseFormBody(body);
}
