// All CORS headers (decisions, 19): the management API answers FRONTEND_URL with credentials, gateways answer any
// page without them.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { CorsHeaders } from '../contract/cors.ts';
import type { ReservedSegments } from './reserved.ts';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const MAX_AGE_SECONDS = '600';
const MANAGEMENT_HEADERS =
	'authorization, content-type, accept, x-organization-id, x-request-id, idempotency-key, if-match, if-none-match, prefer, last-event-id';
/** Headers of HTTP and of core itself that a page may send to any gateway. */
const SENT = ['authorization', 'content-type', 'accept', 'x-request-id', 'last-event-id'];
const READ = [
	...['x-request-id', 'www-authenticate', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after', 'etag'],
	...['location', 'preference-applied', 'content-disposition', 'idempotency-replayed'],
];

export interface CorsParts {
	config: Pick<Config, 'frontendUrl'>;
	reserved: ReservedSegments;
	/** Plugins that declare headers. */
	plugins?: Iterable<{ cors?: CorsHeaders }>;
	/** Whether a transport is served at a path that is no gateway's: it is called as a gateway is. */
	isTransports?: (path: string) => boolean;
}

type Headers = Readonly<Record<string, string>>;

export interface Cors {
	/** Returns the CORS headers of an answer; none when the request has no Origin. */
	headers(request: Request): Headers;
	/** Returns the preflight's own headers; `headers` go with every answer. */
	preflight(request: Request): Headers;
}

const NO_HEADERS: Headers = {};

/**
 * Every gateway allows what any plugin declares: a preflight carries no credential, so it must neither cost a look at the database nor tell
 * whether a gateway exists, let alone which plugins it has.
 */
export function createCors({ config: { frontendUrl }, reserved, plugins = [], isTransports = () => false }: CorsParts): Cors {
	const isCalled = (path: string): boolean => reserved.isGatewayPath(path) || isTransports(path);
	const declared = [...plugins].map(({ cors = {} }) => cors);
	const sent = listed(
		SENT,
		declared.map(({ send }) => send),
	);
	const read = listed(
		READ,
		declared.map((one) => one.read),
	);
	const atGateways: Headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': read };
	const toFrontend: Headers = {
		'access-control-allow-origin': frontendUrl,
		'access-control-allow-credentials': 'true',
		'access-control-expose-headers': READ.join(', '),
		vary: 'origin',
	};
	return {
		headers({ raw, path }) {
			const { origin } = raw.req.headers;
			if (origin === undefined) return NO_HEADERS;
			if (isCalled(path)) return atGateways;
			return origin === frontendUrl ? toFrontend : { vary: 'origin' };
		},
		preflight({ raw, path }) {
			const { origin, 'access-control-request-headers': asked } = raw.req.headers;
			const isGateway = isCalled(path);
			if (!isGateway && origin !== frontendUrl) return NO_HEADERS;
			return {
				'access-control-allow-methods': METHODS,
				// A gateway's key header may have any name; the page itself sends it, without the browser's credentials.
				'access-control-allow-headers': isGateway ? safeList(asked) || sent : MANAGEMENT_HEADERS,
				'access-control-max-age': MAX_AGE_SECONDS,
			};
		},
	};
}

const listed = (ours: readonly string[], declared: readonly (readonly string[] | undefined)[]): string =>
	[...new Set([...ours, ...declared.flatMap((names) => names ?? []).map((name) => name.toLowerCase())])].join(', ');

const safeList = (asked: string | undefined): string =>
	asked !== undefined && /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1000}$/.test(asked) ? asked : '';
