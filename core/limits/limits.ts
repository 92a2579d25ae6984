// Rate limits (specification 8): for whom a request counts in its windows, and the headers of its answer. An authenticated caller counts by
// name, others by address; a bad credential counts against the address that sent it.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/errors.ts';
import { clientAddress } from '../http/addresses.ts';
import { reservedSegments } from '../http/reserved.ts';
import { ATTRIBUTES } from '../telemetry/names.ts';
import { activeSpan } from '../telemetry/spans.ts';
import {
	type ClassParts,
	gatewayRouteLimits,
	globalWindow,
	normalized,
	ownWindow,
	routeWindow,
	windowBeside,
	windowOf,
	windowsOf,
} from './classes.ts';
import { asSubject, named } from './subjects.ts';
import { type LimitTable, MAILS, type NamedWindow, perMinute } from './table.ts';
import type { Bucket, Standing, Verdict, Windows } from './windows.ts';

/** A public route whose action pages of gateways offer, too. */
export type PageRoute = 'POST /auth/login' | 'POST /auth/forgot-password';

export interface Limits {
	/** Counts an authenticated user of the management API. @throws rate_limited */
	ofUser(request: Request, userId: string): Promise<void>;
	/** Counts an authenticated key of a gateway. @throws rate_limited */
	ofKey(request: Request, keyId: string): Promise<void>;
	/** Counts a request of a public route by address. @throws rate_limited */
	ofAddress(request: Request): Promise<void>;
	/** Counts a request at a gateway; with a null subject by address. @returns nothing when no replica had to be asked. @throws rate_limited */
	ofGateway(request: Request, gatewayId: string, subject: string | null): Promise<void> | undefined;
	/** Counts a page of a gateway in the windows of the public route that does the same, in addition to its own. @throws rate_limited */
	ofRoute(request: Request, route: PageRoute): Promise<void>;
	/** Counts a verified call of a webhook, as an invocation of its agent. @throws rate_limited */
	ofWebhook(request: Request, webhookId: string): Promise<void>;
	/** Counts a call of one tool of a gateway. @throws rate_limited */
	ofTool(request: Request, tool: { assignmentId: string; perMinute: number }, subject: string | null): Promise<void>;
	/** Counts a call of one tool of a gateway by work that outlived its request. @throws rate_limited */
	ofLaterTool(tool: { assignmentId: string; perMinute: number }, subject: string): Promise<void>;
	/** Counts a mail to an address that its sender chooses. @returns whether it may be sent */
	mayMail(userId: string): Promise<boolean>;
	/** Tells whether a call at a gateway would be refused now, and of one of its tools if it has a limit; counts nothing. */
	lookAt(call: LookedAt): Promise<Looked>;
	/** Checks, before any look-up and at no cost, whether the address has sent too many bad credentials. @throws rate_limited */
	assertMayTry(request: Request): void;
	/** Counts a bad credential. @throws rate_limited, instead of the refusal of the credential */
	ofFailure(request: Request): Promise<void>;
	/** Checks, at no cost, whether the address has sent as many wrong passwords to gateways as it may try logins. @throws rate_limited */
	assertMayGuess(request: Request): void;
	/** Counts a wrong password at a gateway. @throws rate_limited, instead of the refusal of the password */
	ofWrongPassword(request: Request): Promise<void>;
	/** Counts a request by address before its answer, unless it was counted already. @throws rate_limited */
	settle(request: Request): Promise<void>;
	/** Returns the standing of an address whose message never became a request, as far as this process knows. */
	standingOf(address: string): Standing;
}

/** A call whose windows are looked at. */
export interface LookedAt {
	gatewayId: string;
	/** Null for callers without a name of their own. */
	subject: string | null;
	address: string;
	tool: { assignmentId: string; perMinute: number } | null;
}

/** The windows of a call as they stand; null where there is none. `full` is the one that would refuse. */
export interface Looked {
	failures: Standing | null;
	gateway: Standing | null;
	tool: Standing | null;
	full: 'failures' | 'gateway' | 'tool' | null;
}

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** The tightest of the windows in which the request was counted. */
		limit?: Standing;
		/** The window of its address for bad credentials; null where there is none. */
		failures?: Bucket | null;
	}
}

interface Parts extends ClassParts {
	windows: Windows;
	trustProxy: readonly string[];
}

export function createLimits(
	table: LimitTable,
	windows: Windows,
	{ trustProxy }: Pick<Config, 'trustProxy'>,
	{ reserved = reservedSegments(), gatewayRoutes = gatewayRouteLimits() }: Partial<Pick<ClassParts, 'reserved' | 'gatewayRoutes'>> = {},
): Limits {
	const parts: Parts = { table, windows, trustProxy, reserved, gatewayRoutes };
	return {
		ofUser: (request, userId) => countAt(request, parts, `user:${userId}`),
		ofKey: (request, keyId) => countAt(request, parts, `key:${keyId}`),
		ofAddress: (request) => countAt(request, parts, null),
		ofGateway: (request, gatewayId, subject) => countAtGateway(request, parts, { gatewayId, subject }),
		ofRoute: (request, route) => countAsRoute(request, parts, route),
		async ofWebhook(request, webhookId) {
			const window = { name: 'agents/invoke', window: table.invoke, isStrict: false };
			await count(request, windows, [peek(failuresAt(request, parts)), bucketOf(window, `webhook:${webhookId}`)]);
		},
		async ofTool(request, tool, subject) {
			await count(request, windows, [toolBucket(tool, named(subject) ?? addressOf(request, parts))]);
		},
		async ofLaterTool(tool, subject) {
			await count({ plugins: {} }, windows, [toolBucket(tool, named(subject))]);
		},
		mayMail: async (userId) => (await windows.hit([bucketOf(MAILS, `user:${userId}`)])).refusedBy === -1,
		lookAt: (call) => lookAt(call, parts),
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
		assertMayGuess(request) {
			const guesses = guessesAt(request, parts);
			const standing = guesses && windows.look(guesses);
			if (standing?.remaining === 0) refuse(request, standing);
		},
		ofWrongPassword: async (request) => count(request, windows, [guessesAt(request, parts)]),
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
	const route = ownWindow(request, parts);
	const counted = windowsOf(request, route, parts).filter((one) => one !== null);
	if (counted.length === 0) return;
	const failures = hasTried ? peek(failuresAt(request, parts)) : null;
	const address = addressOf(request, parts);
	const own = route && bucketOf(route, address);
	// A route of a transport at a fixed address may issue credentials as one of a gateway may.
	const isStrict = request.plugins.gatewayRoute?.issuesCredentials === true;
	const windows = counted.map((one) => bucketOf({ ...one, isStrict: one.isStrict || isStrict }, subject ?? address));
	await count(request, parts.windows, [failures, ...windows, own]);
}

function countAtGateway(
	request: Request,
	parts: Parts,
	{ gatewayId, subject }: { gatewayId: string; subject: string | null },
): Promise<void> | undefined {
	const window = parts.table.gateways;
	if (!window) return undefined;
	const isStrict = request.plugins.gatewayRoute?.issuesCredentials === true;
	const counted = { name: `gateway:${gatewayId}`, window, isStrict };
	const failures = subject === null ? null : peek(failuresAt(request, parts));
	const who = named(subject) ?? addressOf(request, parts);
	// Programs with many users register from few addresses: the window per gateway keeps one gateway's users from using up another's.
	const route = ownWindow(request, parts);
	const own = route && bucketOf({ ...route, name: `${route.name}:${gatewayId}` }, who);
	return count(request, parts.windows, [failures, bucketOf(counted, who), own]);
}

async function countAsRoute(request: Request, parts: Parts, route: PageRoute): Promise<void> {
	const [method = '', path = ''] = route.split(' ');
	const own = routeWindow(request.server, parts.table, method, path);
	const address = addressOf(request, parts);
	const buckets = [windowBeside(own, parts, path), own].map((one) => one && bucketOf(one, address));
	await count(request, parts.windows, buckets);
}

const addressOf = ({ info, raw }: Request, { trustProxy }: Parts): string =>
	asSubject(clientAddress(info.remoteAddress, raw.req.headers['x-forwarded-for']?.toString(), trustProxy));

/** Returns the window for bad credentials. */
function failuresAt(request: Request, parts: Parts): Bucket | null {
	const { plugins } = request;
	if (plugins.failures !== undefined) return plugins.failures;
	const counted = windowOf(parts, normalized(request.path));
	const named = counted && { name: `failed:${counted.name}`, window: counted.window, isStrict: true };
	plugins.failures = named && bucketOf(named, addressOf(request, parts));
	return plugins.failures;
}

/**
 * Returns the window for wrong passwords at gateways: as large as that of logins, and apart from it, so that a program with an old password
 * keeps nobody at its address from logging in.
 */
function guessesAt(request: Request, parts: Parts): Bucket | null {
	const own = routeWindow(request.server, parts.table, 'POST', '/auth/login');
	return own && bucketOf({ name: `failed:${own.name}`, window: own.window, isStrict: true }, addressOf(request, parts));
}

const peek = (bucket: Bucket | null): Bucket | null => bucket && { ...bucket, isPeek: true };

/** Returns the window of the route itself, for this address. */
function routeBucket(request: Request, parts: Parts): Bucket | null {
	const own = ownWindow(request, parts);
	return own && bucketOf(own, addressOf(request, parts));
}

const toolBucket = ({ assignmentId, perMinute: max }: { assignmentId: string; perMinute: number }, subject: string): Bucket =>
	bucketOf({ name: `tool:${assignmentId}`, window: perMinute(max), isStrict: false }, subject);

const bucketOf = ({ name, window, isStrict }: NamedWindow, subject: string): Bucket => ({
	key: `${name}:${subject}`,
	max: window.max,
	windowMs: window.seconds * 1000,
	isStrict,
});

/** Looks at the windows in the order in which a call would meet them. */
async function lookAt({ gatewayId, subject, address, tool }: LookedAt, { windows, table }: Parts): Promise<Looked> {
	const { gateways: window } = table;
	const at = asSubject(address);
	const who = named(subject) ?? at;
	const wanted = {
		failures: window && bucketOf({ name: 'failed:gateway', window, isStrict: true }, at),
		gateway: window && bucketOf({ name: `gateway:${gatewayId}`, window, isStrict: false }, who),
		tool: tool && toolBucket(tool, who),
	};
	const looked: Looked = { failures: null, gateway: null, tool: null, full: null };
	for (const name of ['failures', 'gateway', 'tool'] as const) {
		const bucket = peek(wanted[name]);
		if (!bucket) continue;
		const { refusedBy, standings } = await windows.hit([bucket]);
		looked[name] = standings[0] ?? null;
		if (refusedBy !== -1) looked.full ??= name;
	}
	return looked;
}

/** Counts in all windows or in none, and stores the standing for the answer. @throws rate_limited */
function count(request: Pick<Request, 'plugins'>, windows: Windows, wanted: readonly (Bucket | null)[]): Promise<void> | undefined {
	const buckets = wanted.filter((bucket) => bucket !== null);
	const verdict = windows.hit(buckets);
	if (verdict instanceof Promise) return verdict.then((given) => follow(request, buckets, given));
	follow(request, buckets, verdict);
	return undefined;
}

/** @throws rate_limited */
function follow(request: Pick<Request, 'plugins'>, buckets: readonly Bucket[], { refusedBy, standings }: Verdict): void {
	const refusing = standings[refusedBy];
	if (refusing) refuse(request, refusing, buckets[refusedBy]?.key);
	for (let at = 0; at < standings.length; at++) {
		const standing = standings[at] as Standing;
		// The bad credentials of others at this address are not shown as the client's own count.
		if (buckets[at]?.isPeek) continue;
		const known = request.plugins.limit;
		if (!known || standing.remaining < known.remaining) request.plugins.limit = standing;
	}
}

/** @param key of the bucket: it begins with the name of its window. @throws rate_limited */
function refuse(request: Pick<Request, 'plugins'>, standing: Standing, key = 'failed'): never {
	activeSpan()?.measure('refusals', 1, { [ATTRIBUTES.window]: key.split(':', 1)[0] ?? '' });
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
