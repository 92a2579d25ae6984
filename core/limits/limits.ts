// Rate limits (specification 8): the windows that a request counts in, and the headers of its answer. An authenticated caller counts by
// name, others by address; a bad credential counts against the address that sent it.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/errors.ts';
import { clientAddress } from '../http/addresses.ts';
import { type ReservedSegments, reservedSegments } from '../http/reserved.ts';
import { asSubject, named } from './subjects.ts';
import type { Bucket, Standing, Windows } from './windows.ts';

export interface Window {
	max: number;
	seconds: number;
}

/** A public route whose action pages of gateways offer, too. */
export type PageRoute = 'POST /auth/login' | 'POST /auth/forgot-password';

/** The limits of a service. */
export interface LimitTable {
	/** For requests without a category. */
	global: Window;
	/** By first segment: one window for all paths below it, except `routes`. Null: no limit. */
	categories: Readonly<Record<string, Window | null>>;
	/** For `POST /agents/:id/invoke`, instead of the global window. */
	invoke: Window;
	/** All of `/{org}/{gateway}`, per gateway. Null: no limit. */
	gateways: Window | null;
	/** Per address, with the global window and without the category's; `POST /:org/:gw/register` also per gateway, with the gateway's. */
	routes: Readonly<Record<string, Window>>;
}

export interface Limits {
	/** Counts an authenticated user of the management API. @throws rate_limited */
	ofUser(request: Request, userId: string): Promise<void>;
	/** Counts an authenticated key of a gateway. @throws rate_limited */
	ofKey(request: Request, keyId: string): Promise<void>;
	/** Counts a request of a public route by address. @throws rate_limited */
	ofAddress(request: Request): Promise<void>;
	/** Counts a request at a gateway; with a null subject by address. @throws rate_limited */
	ofGateway(request: Request, gatewayId: string, subject: string | null): Promise<void>;
	/** Counts a page of a gateway in the windows of the public route that does the same, in addition to its own. @throws rate_limited */
	ofRoute(request: Request, route: PageRoute): Promise<void>;
	/** Counts a call of one tool of a gateway. @throws rate_limited */
	ofTool(request: Request, tool: { assignmentId: string; perMinute: number }, subject: string | null): Promise<void>;
	/** Checks, before any look-up and at no cost, whether the address has sent too many bad credentials. @throws rate_limited */
	assertMayTry(request: Request): void;
	/** Counts a bad credential. @throws rate_limited, instead of the refusal of the credential */
	ofFailure(request: Request): Promise<void>;
	/** Counts a request by address before its answer, unless it was counted already. @throws rate_limited */
	settle(request: Request): Promise<void>;
	/** Returns the standing of an address whose message never became a request, as far as this process knows. */
	standingOf(address: string): Standing;
}

declare module '@hapi/hapi' {
	interface PluginSpecificConfiguration {
		/** The limit class that the route's feature declares for it. */
		limitClass?: Window & { name: string };
	}
	interface PluginsStates {
		/** The tightest of the windows in which the request was counted. */
		limit?: Standing;
	}
}

const perMinute = (max: number): Window => ({ max, seconds: 60 });

/** Specification 8.1 and 8.2. */
export function limitTable({ rateLimit }: Pick<Config, 'rateLimit'>): LimitTable {
	return {
		global: { max: rateLimit.max, seconds: rateLimit.windowSeconds },
		categories: {
			auth: perMinute(10),
			apis: perMinute(120),
			tools: perMinute(120),
			gateways: perMinute(120),
			mcp: perMinute(300),
			a2a: perMinute(300),
			utcp: perMinute(300),
			analytics: perMinute(30),
			health: null,
		},
		invoke: perMinute(60),
		gateways: perMinute(300),
		routes: {
			'POST /auth/register': { max: 10, seconds: 3600 },
			'POST /auth/login': { max: 10, seconds: 300 },
			'POST /auth/forgot-password': { max: 5, seconds: 3600 },
			'POST /auth/refresh': { max: 20, seconds: 300 },
			'GET /auth/check-organization-name': perMinute(30),
			'POST /:org/:gw/register': { max: 10, seconds: 300 },
		},
	};
}

interface NamedWindow {
	name: string;
	window: Window;
	/** Stricter while Redis is away: for routes where credentials are guessed or issued. */
	isStrict: boolean;
}

interface Parts {
	table: LimitTable;
	windows: Windows;
	trustProxy: readonly string[];
	reserved: ReservedSegments;
}

export function createLimits(
	table: LimitTable,
	windows: Windows,
	{ trustProxy }: Pick<Config, 'trustProxy'>,
	reserved: ReservedSegments = reservedSegments(),
): Limits {
	const parts: Parts = { table, windows, trustProxy, reserved };
	return {
		ofUser: (request, userId) => countAt(request, parts, `user:${userId}`),
		ofKey: (request, keyId) => countAt(request, parts, `key:${keyId}`),
		ofAddress: (request) => countAt(request, parts, null),
		ofGateway: (request, gatewayId, subject) => countAtGateway(request, parts, { gatewayId, subject }),
		ofRoute: (request, route) => countAsRoute(request, parts, route),
		async ofTool(request, { assignmentId, perMinute: max }, subject) {
			const counted = { name: `tool:${assignmentId}`, window: perMinute(max), isStrict: false };
			await count(request, windows, [bucketOf(counted, named(subject) ?? addressOf(request, parts))]);
		},
		assertMayTry(request) {
			const failures = failuresAt(request, parts);
			if (!failures || windows.look(failures).remaining > 0) return;
			const [last] = [failures, routeBucket(request, parts)]
				.flatMap((bucket) => (bucket ? [windows.look(bucket)] : []))
				.filter(({ remaining }) => remaining === 0)
				.toSorted((a, b) => b.resetAtMs - a.resetAtMs);
			if (last) refuse(request, last);
		},
		async ofFailure(request) {
			const failures = failuresAt(request, parts);
			if (failures) await count(request, windows, [failures, routeBucket(request, parts)]);
		},
		async settle(request) {
			if (request.plugins.limit) return;
			// The request was refused for another reason than a bad credential.
			if (request.method !== 'options') return countAt(request, parts, null, true);
			// A preflight is sent by the browser itself: it gets the standing, costs nothing and is not refused.
			const counted = windowOf(parts, normalized(request.path));
			if (counted) request.plugins.limit = windows.look(bucketOf(counted, addressOf(request, parts)));
		},
		standingOf: (address) => windows.look(bucketOf(globalWindow(table), asSubject(clientAddress(address, undefined, trustProxy)))),
	};
}

/**
 * @param subject null counts by address
 * @param hasTried whether there may have been a credential: a client that tried too many bad ones must not learn that this one was valid
 */
async function countAt(request: Request, parts: Parts, subject: string | null, hasTried = subject !== null): Promise<void> {
	const counted = windowOfRequest(request, parts);
	if (!counted) return;
	const failures = hasTried ? peek(failuresAt(request, parts)) : null;
	const own = bucketOf(counted, subject ?? addressOf(request, parts));
	await count(request, parts.windows, [failures, own, routeBucket(request, parts)]);
}

async function countAtGateway(
	request: Request,
	parts: Parts,
	{ gatewayId, subject }: { gatewayId: string; subject: string | null },
): Promise<void> {
	const window = parts.table.gateways;
	if (!window) return;
	const isStrict = GIVES_CREDENTIALS.test(normalized(request.path));
	const counted = { name: `gateway:${gatewayId}`, window, isStrict };
	const failures = subject === null ? null : peek(failuresAt(request, parts));
	const own = bucketOf(counted, named(subject) ?? addressOf(request, parts));
	// Programs with many users register from few addresses: the window per gateway keeps one gateway's users from using up another's.
	await count(request, parts.windows, [failures, own, routeBucket(request, parts, gatewayId)]);
}

async function countAsRoute(request: Request, parts: Parts, route: PageRoute): Promise<void> {
	const counted = windowOfRoute(parts, route, route.slice(route.indexOf('/')));
	const own = counted && bucketOf(counted, addressOf(request, parts));
	await count(request, parts.windows, [own, namedRouteBucket(route, request, parts)]);
}

const addressOf = ({ info, raw }: Request, { trustProxy }: Parts): string =>
	asSubject(clientAddress(info.remoteAddress, raw.req.headers['x-forwarded-for']?.toString(), trustProxy));

/** Returns the window for bad credentials. */
function failuresAt(request: Request, parts: Parts): Bucket | null {
	const counted = windowOf(parts, normalized(request.path));
	return counted && bucketOf({ name: `failed:${counted.name}`, window: counted.window, isStrict: true }, addressOf(request, parts));
}

const peek = (bucket: Bucket | null): Bucket | null => bucket && { ...bucket, isPeek: true };

/** Returns the route's own window, which applies in addition. @param gatewayId of a route that each gateway has for itself */
const routeBucket = (request: Request, parts: Parts, gatewayId?: string): Bucket | null =>
	namedRouteBucket(routeName(request.method, normalized(request.path), parts), request, parts, gatewayId);

function namedRouteBucket(name: string, request: Request, parts: Parts, gatewayId?: string): Bucket | null {
	const window = Object.hasOwn(parts.table.routes, name) ? parts.table.routes[name] : undefined;
	const windowName = gatewayId === undefined ? name : `${name}:${gatewayId}`;
	return window ? bucketOf({ name: windowName, window, isStrict: true }, addressOf(request, parts)) : null;
}

const globalWindow = (table: LimitTable): NamedWindow => ({ name: 'global', window: table.global, isStrict: false });

/** The window for unknown gateways and for bad credentials at any of them: else every made-up path would open a fresh window. */
const unknownGateway = ({ gateways }: LimitTable): NamedWindow | null => gateways && { name: 'gateway', window: gateways, isStrict: false };

/** Paths of a gateway's OAuth server. */
const GIVES_CREDENTIALS = /^\/[^/]+\/[^/]+\/(token|register)$/;
const REGISTERS = /^\/[^/]+\/[^/]+\/register$/;
/** Paths of RFC 8414 §3.1 and RFC 9728 §3.1 for the universal endpoint. */
const DISCOVERS_MCP = /^\/\.well-known\/[^/]+\/mcp$/;

/** @param path normalized. Null when there is no limit */
function windowOf({ table, reserved }: Pick<Parts, 'table' | 'reserved'>, path: string): NamedWindow | null {
	const [, first = '', , third, ...more] = path.split('/');
	const category = DISCOVERS_MCP.test(path) ? 'mcp' : first;
	if (Object.hasOwn(table.categories, category)) {
		const window = table.categories[category];
		return window ? { name: category, window, isStrict: category === 'auth' } : null;
	}
	if (first === 'agents' && third === 'invoke' && more.length === 0)
		return { name: 'agents/invoke', window: table.invoke, isStrict: false };
	if (reserved.isGatewayPath(path)) return unknownGateway(table);
	return globalWindow(table);
}

/** A route with a window of its own also counts in the global one: in its category's, the route's number might never be reached. */
function windowOfRoute(parts: Parts, name: string, path: string): NamedWindow | null {
	const isBesideGlobal = Object.hasOwn(parts.table.routes, name) && !parts.reserved.isGatewayPath(path);
	return isBesideGlobal ? globalWindow(parts.table) : windowOf(parts, path);
}

/** Bad credentials still count in the window of the path: no feature decides how many may be tried. */
function windowOfRequest({ method, path, route }: Request, parts: Parts): NamedWindow | null {
	const declared = route.settings.plugins?.limitClass;
	if (declared) return { name: declared.name, window: declared, isStrict: false };
	const plain = normalized(path);
	return windowOfRoute(parts, routeName(method, plain, parts), plain);
}

/** Returns the name that the table of routes uses. */
function routeName(method: string, path: string, { reserved }: Parts): string {
	const isRegistration = REGISTERS.test(path) && reserved.isGatewayPath(path);
	return `${method === 'head' ? 'GET' : method.toUpperCase()} ${isRegistration ? '/:org/:gw/register' : path}`;
}

/** Normalizes the case and the slashes of a path. It runs several times for every request, and nearly all paths are normal. */
function normalized(path: string): string {
	const lower = path.toLowerCase();
	if (!lower.includes('//') && !lower.endsWith('/')) return lower;
	return lower.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
}

const bucketOf = ({ name, window, isStrict }: NamedWindow, subject: string): Bucket => ({
	key: `${name}:${subject}`,
	max: window.max,
	windowMs: window.seconds * 1000,
	isStrict,
});

/** Counts in all windows or in none, and stores the standing for the answer. @throws rate_limited */
async function count(request: Request, windows: Windows, wanted: readonly (Bucket | null)[]): Promise<void> {
	const buckets = wanted.filter((one) => one !== null);
	const { refusedBy, standings } = await windows.hit(buckets);
	const refusing = standings[refusedBy];
	if (refusing) refuse(request, refusing);
	for (const [at, standing] of standings.entries()) {
		// The bad credentials of others at this address are not shown as the client's own count.
		if (buckets[at]?.isPeek) continue;
		const known = request.plugins.limit;
		if (!known || standing.remaining < known.remaining) request.plugins.limit = standing;
	}
}

/** @throws rate_limited */
function refuse(request: Request, standing: Standing): never {
	request.plugins.limit = standing;
	const seconds = Math.max(1, Math.ceil((standing.resetAtMs - Date.now()) / 1000));
	throw new GatewayError('rate_limited', `Too many requests: retry after ${seconds} seconds.`, {
		headers: { 'retry-after': String(seconds) },
	});
}

/** Specification 8.3. */
export const limitHeaders = ({ max, remaining, resetAtMs }: Standing): Record<string, string> => ({
	'x-ratelimit-limit': String(max),
	'x-ratelimit-remaining': String(remaining),
	'x-ratelimit-reset': String(Math.ceil(resetAtMs / 1000)),
});
