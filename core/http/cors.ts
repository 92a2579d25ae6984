// All CORS headers (decisions, 19): the management API answers FRONTEND_URL with credentials, gateways answer any
// page without them.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { ReservedSegments } from './reserved.ts';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const MAX_AGE_SECONDS = '600';
const MANAGEMENT_HEADERS =
	'authorization, content-type, accept, x-organization-id, x-request-id, idempotency-key, if-match, prefer, last-event-id';
const GATEWAY_HEADERS =
	'authorization, content-type, accept, x-api-key, x-request-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, a2a-version, a2a-extensions';
const EXPOSED =
	'x-request-id, www-authenticate, mcp-session-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, etag, location, preference-applied';

interface Parts {
	config: Config;
	reserved: ReservedSegments;
}

type Headers = Readonly<Record<string, string>>;

const NO_HEADERS: Headers = {};

/** Returns the CORS headers of an answer; none when the request has no Origin. */
export function corsHeaders(request: Request, { config, reserved }: Parts): Headers {
	const { origin } = request.raw.req.headers;
	if (origin === undefined) return NO_HEADERS;
	if (reserved.isGatewayPath(request.path)) return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };
	if (origin !== config.frontendUrl) return { vary: 'origin' };
	return {
		'access-control-allow-origin': origin,
		'access-control-allow-credentials': 'true',
		'access-control-expose-headers': EXPOSED,
		vary: 'origin',
	};
}

/** Returns the preflight's own headers; `corsHeaders` go with every answer. */
export function preflightHeaders(request: Request, { config, reserved }: Parts): Headers {
	const gateway = reserved.isGatewayPath(request.path);
	if (!gateway && request.raw.req.headers.origin !== config.frontendUrl) return {};
	const asked = request.raw.req.headers['access-control-request-headers'];
	return {
		'access-control-allow-methods': METHODS,
		// A gateway's key header may have any name; the page itself sends it, without the browser's credentials.
		'access-control-allow-headers': gateway ? safeList(asked) || GATEWAY_HEADERS : MANAGEMENT_HEADERS,
		'access-control-max-age': MAX_AGE_SECONDS,
	};
}

const safeList = (asked: string | undefined): string =>
	asked !== undefined && /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1000}$/.test(asked) ? asked : '';
