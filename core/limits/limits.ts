// What a client may ask, and how often (specification 8): which windows a request counts in, and what the answer says of them.
// Who is known counts by name, who is not by address; a bad credential counts against the address that sent it.

import { createHash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/errors.ts';
import { bucketAddress, clientAddress } from '../http/addresses.ts';
import { isGatewayPath } from '../http/reserved.ts';
import type { Bucket, Standing, Windows } from './windows.ts';

export interface Window {
	max: number;
	seconds: number;
}

/** A public route whose deed pages of gateways offer, too. */
export type PageRoute = 'POST /auth/login' | 'POST /auth/forgot-password';

/** The limits of a service. */
export interface LimitTable {
	/** Of whatever has no category. */
	global: Window;
	/** By first segment: one window for all that begins with it, but for `routes`. Null: no limit. */
	categories: Readonly<Record<string, Window | null>>;
	/** `POST /agents/:id/invoke`, in place of the global one. */
	invoke: Window;
	/** All of `/{org}/{gateway}`, per gateway. Null: no limit. */
	gateways: Window | null;
	/** Per address, beside the global window, not the category's; of `POST /:org/:gw/register` per gateway too, beside the gateway's. */
	routes: Readonly<Record<string, Window>>;
}

export interface Limits {
	/** Whose credential is good: a user of the management API. @throws rate_limited */
	ofUser(request: Request, userId: string): Promise<void>;
	/** Whose credential is a gateway's key. @throws rate_limited */
	ofKey(request: Request, keyId: string): Promise<void>;
	/** Nobody in particular, at a public route. @throws rate_limited */
	ofAddress(request: Request): Promise<void>;
	/** At a gateway; a null subject is nobody in particular. @throws rate_limited */
	ofGateway(request: Request, gatewayId: string, subject: string | null): Promise<void>;
	/** A page of a gateway that does what a public route does counts in the windows of that, in addition to its own. @throws rate_limited */
	ofRoute(request: Request, route: PageRoute): Promise<void>;
	/** One tool of a gateway. @throws rate_limited */
	ofTool(request: Request, tool: { assignmentId: string; perMinute: number }, subject: string | null): Promise<void>;
	/** Before a credential is looked at, at no cost: whether the address is known to have sent too many bad ones. @throws rate_limited */
	assertMayTry(request: Request): void;
	/** Whose credential was bad. @throws rate_limited, in place of what is said of the credential */
	ofFailure(request: Request): Promise<void>;
	/** Before the answer: whatever was not counted yet is counted by address. @throws rate_limited */
	settle(request: Request): Promise<void>;
	/** Of a request that never became one: what its address may still ask, as far as this process knows. */
	standingOf(address: string): Standing;
}

declare module '@hapi/hapi' {
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

interface Place {
	name: string;
	window: Window;
	/** With Redis away, stricter: where credentials are guessed or given. */
	isStrict: boolean;
}

interface Parts {
	table: LimitTable;
	windows: Windows;
	trustProxy: readonly string[];
}

export function createLimits(table: LimitTable, windows: Windows, { trustProxy }: Pick<Config, 'trustProxy'>): Limits {
	const parts: Parts = { table, windows, trustProxy };
	return {
		ofUser: (request, userId) => countAt(request, parts, `user:${userId}`),
		ofKey: (request, keyId) => countAt(request, parts, `key:${keyId}`),
		ofAddress: (request) => countAt(request, parts, null),
		ofGateway: (request, gatewayId, subject) => countAtGateway(request, parts, { gatewayId, subject }),
		ofRoute: (request, route) => countAsRoute(request, parts, route),
		async ofTool(request, { assignmentId, perMinute: max }, subject) {
			const place = { name: `tool:${assignmentId}`, window: perMinute(max), isStrict: false };
			await count(request, windows, [bucketOf(place, named(subject) ?? addressOf(request, parts))]);
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
			if (request.method !== 'options') return countUnknown(request, parts);
			// A preflight is the browser's own doing: it is told where it stands, costs nothing and is not refused.
			const place = placeOf(table, normalized(request.path));
			if (place) request.plugins.limit = windows.look(bucketOf(place, addressOf(request, parts)));
		},
		standingOf: (address) => windows.look(bucketOf(globalPlace(table), asSubject(clientAddress(address, undefined, trustProxy)))),
	};
}

/** @param subject null: nobody in particular */
async function countAt(request: Request, parts: Parts, subject: string | null): Promise<void> {
	const place = placeOfRequest(request, parts);
	if (!place) return;
	const failures = subject === null ? null : peek(failuresAt(request, parts));
	const own = bucketOf(place, subject ?? addressOf(request, parts));
	await count(request, parts.windows, [failures, own, routeBucket(request, parts)]);
}

/** Who was refused for another reason than a bad credential: if it was good, whoever tried too many others must not learn it. */
async function countUnknown(request: Request, parts: Parts): Promise<void> {
	const place = placeOfRequest(request, parts);
	if (!place) return;
	const own = bucketOf(place, addressOf(request, parts));
	await count(request, parts.windows, [peek(failuresAt(request, parts)), own, routeBucket(request, parts)]);
}

async function countAtGateway(
	request: Request,
	parts: Parts,
	{ gatewayId, subject }: { gatewayId: string; subject: string | null },
): Promise<void> {
	const window = parts.table.gateways;
	if (!window) return;
	const isStrict = GIVES_CREDENTIALS.test(normalized(request.path));
	const place = { name: `gateway:${gatewayId}`, window, isStrict };
	const failures = subject === null ? null : peek(failuresAt(request, parts));
	const own = bucketOf(place, named(subject) ?? addressOf(request, parts));
	// Programs that many people share register from few addresses: at one gateway, none takes the place of another's users.
	await count(request, parts.windows, [failures, own, routeBucket(request, parts, gatewayId)]);
}

async function countAsRoute(request: Request, parts: Parts, route: PageRoute): Promise<void> {
	const place = placeOfRoute(parts.table, route, route.slice(route.indexOf('/')));
	const own = place && bucketOf(place, addressOf(request, parts));
	await count(request, parts.windows, [own, namedRouteBucket(route, request, parts)]);
}

const addressOf = ({ info, raw }: Request, { trustProxy }: Parts): string =>
	asSubject(clientAddress(info.remoteAddress, raw.req.headers['x-forwarded-for']?.toString(), trustProxy));

/** Where bad credentials count. */
function failuresAt(request: Request, parts: Parts): Bucket | null {
	const place = placeOf(parts.table, normalized(request.path));
	return place && bucketOf({ name: `failed:${place.name}`, window: place.window, isStrict: true }, addressOf(request, parts));
}

const peek = (bucket: Bucket | null): Bucket | null => bucket && { ...bucket, isPeek: true };

/** The route's own window, in addition. @param gatewayId of a route that each gateway has for itself */
const routeBucket = (request: Request, parts: Parts, gatewayId?: string): Bucket | null =>
	namedRouteBucket(routeName(request.method, normalized(request.path)), request, parts, gatewayId);

function namedRouteBucket(name: string, request: Request, parts: Parts, gatewayId?: string): Bucket | null {
	const window = Object.hasOwn(parts.table.routes, name) ? parts.table.routes[name] : undefined;
	const place = gatewayId === undefined ? name : `${name}:${gatewayId}`;
	return window ? bucketOf({ name: place, window, isStrict: true }, addressOf(request, parts)) : null;
}

const globalPlace = (table: LimitTable): Place => ({ name: 'global', window: table.global, isStrict: false });

/** Gateways that were not found, and bad credentials at any: else every made-up path would bring a fresh window. */
const unknownGateway = ({ gateways }: LimitTable): Place | null => gateways && { name: 'gateway', window: gateways, isStrict: false };

/** Of a gateway's OAuth server. */
const GIVES_CREDENTIALS = /^\/[^/]+\/[^/]+\/(token|register)$/;
const REGISTERS = /^\/[^/]+\/[^/]+\/register$/;
/** RFC 8414 §3.1 and RFC 9728 §3.1, of the universal endpoint. */
const DISCOVERS_MCP = /^\/\.well-known\/[^/]+\/mcp$/;

/** @param path normalized. Null where there is no limit */
function placeOf(table: LimitTable, path: string): Place | null {
	const [, first = '', , third, ...more] = path.split('/');
	const category = DISCOVERS_MCP.test(path) ? 'mcp' : first;
	if (Object.hasOwn(table.categories, category)) {
		const window = table.categories[category];
		return window ? { name: category, window, isStrict: category === 'auth' } : null;
	}
	if (first === 'agents' && third === 'invoke' && more.length === 0)
		return { name: 'agents/invoke', window: table.invoke, isStrict: false };
	if (isGatewayPath(path)) return unknownGateway(table);
	return globalPlace(table);
}

/** A route with a window of its own counts in the global one beside it: in its category's, the route's number might never be reached. */
function placeOfRoute(table: LimitTable, name: string, path: string): Place | null {
	const isBesideGlobal = Object.hasOwn(table.routes, name) && !isGatewayPath(path);
	return isBesideGlobal ? globalPlace(table) : placeOf(table, path);
}

function placeOfRequest({ method, path }: Request, { table }: Parts): Place | null {
	const plain = normalized(path);
	return placeOfRoute(table, routeName(method, plain), plain);
}

/** As the table of routes spells it. */
function routeName(method: string, path: string): string {
	const isRegistration = REGISTERS.test(path) && isGatewayPath(path);
	return `${method === 'head' ? 'GET' : method.toUpperCase()} ${isRegistration ? '/:org/:gw/register' : path}`;
}

/** The same for a path's case and slashes. */
const normalized = (path: string): string =>
	path
		.toLowerCase()
		.replace(/\/{2,}/g, '/')
		.replace(/(.)\/$/, '$1');

const LONGEST_SUBJECT = 100;

/** A subject by name. Some are chosen by others, and keys must not be as long as somebody likes. */
function named(subject: string | null): string | null {
	if (subject === null || subject.length <= LONGEST_SUBJECT) return subject;
	return `hash:${createHash('sha256').update(subject).digest('base64url')}`;
}

/** No name looks like it. */
const asSubject = (address: string): string => `@${bucketAddress(address)}`;

const bucketOf = ({ name, window, isStrict }: Place, subject: string): Bucket => ({
	key: `${name}:${subject}`,
	max: window.max,
	windowMs: window.seconds * 1000,
	isStrict,
});

/** In all of them or in none; keeps what the answer will say. @throws rate_limited */
async function count(request: Request, windows: Windows, wanted: readonly (Bucket | null)[]): Promise<void> {
	const buckets = wanted.filter((one) => one !== null);
	const { refusedBy, standings } = await windows.hit(buckets);
	const refusing = standings[refusedBy];
	if (refusing) refuse(request, refusing);
	for (const [at, standing] of standings.entries()) {
		// Bad credentials of others at this address are nobody's own count.
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
