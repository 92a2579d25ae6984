// Authenticates and authorizes callers of the management API, and finds their organization (specification 5.1).

import type { AuthCredentials, Request, Server } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { PermissionName, Permissions, Role } from '../contract/permissions.ts';
import { clientOf } from '../http/client.ts';
import { isOwnOrigin } from '../http/origins.ts';
import { readTokenCookie } from '../identity/cookies.ts';
import type { Holder, Member, Members, Membership } from '../identity/members.ts';
import type { Limits } from '../limits/limits.ts';
import { ACCESS_KEY_PREFIX } from '../secrets/tokens.ts';
import type { Recorder } from '../store/recorder.ts';
import type { AccessKeyRow, Actor, OrganizationRef, Store } from '../store/store.ts';
import { assertNamed, choose } from './chosen-organization.ts';
import { GatewayReaders, gatewayKeyIn, type Reader } from './gateway-readers.ts';
import { readInput } from './input.ts';

/**
 * The requirement of a route. A permission requires a member of the organization whose role has it. The others need no organization: `self`
 * admits everyone who acts for a whole account, `account` a login or a key without restrictions, `login` only a login.
 */
export type Need = PermissionName | 'self' | 'account' | 'login';

declare module '@hapi/hapi' {
	interface UserCredentials {
		id: string;
	}
	interface AuthCredentials {
		// `user` is absent with a gateway's key.
		/** Null on routes that need no organization. */
		organization: OrganizationRef | null;
		role: Role | null;
		/** The caller's permissions in the organization. */
		permissions: ReadonlySet<PermissionName>;
		/** The login that is used; null with an access key. */
		login: { sessionId: string; at: Date } | null;
		/** Null with a gateway's key, which changes nothing. */
		actor: Actor | null;
	}
	interface PluginSpecificConfiguration {
		gatehouse?: {
			/** Required on every route but the public ones; the start fails without it. */
			need?: Need;
			/** Keys of the gateway in `{id}` are accepted, too: for a GET that requires a permission. */
			gatewayKeys?: true;
			/** The handler counts the request by a credential of its own. */
			countsItself?: true;
			/** The source of the organization: the header or the only membership (`context`), or `{orgId}` in the path. */
			organization?: 'context' | 'path';
			/** `unread`: the handler reads the body itself, with a limit of its own. `optional`: an absent body is `{}`. */
			body?: 'unread' | 'optional';
		};
	}
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="gatehouse"' };
const SAFE_METHODS = new Set(['get', 'head', 'options']);
/** Limits these extensions to the management API's routes, so that gateways' routes do not pay for them. */
const SANDBOX = { sandbox: 'plugin' } as const;

interface Parts {
	config: Config;
	members: Members;
	store: Store;
	recorder: Recorder;
	limits: Limits;
	permissions: Permissions;
}

/** A caller who has the required permission. */
interface Admitted {
	caller: Holder;
	membership: Membership | null;
	permissions: ReadonlySet<PermissionName>;
}

/**
 * Registers the default strategy: a login's token or an access key as `Authorization: Bearer`, or the cookie; then the organization, then
 * the permission.
 * @param server of the plugin that owns the routes
 */
export function registerAccess(server: Server, parts: Parts): void {
	const readers = new GatewayReaders(parts);
	server.ext({ type: 'onPostStop', method: () => readers.close() });
	server.auth.scheme('management', () => ({
		async authenticate(request, h) {
			const gatewayKey = gatewayKeyIn(request);
			if (gatewayKey !== null) {
				const look = (): Promise<Reader> => counted(request, parts, () => readers.identify(gatewayKey, request));
				const reader = await look();
				await parts.limits.ofKey(request, reader.key.id);
				const credentials = await admit(parts, { caller: reader, look, decide: (one) => readers.credentialsOf(one, request) });
				assertNamed(request, credentials.organization?.id);
				await readInput(request);
				request.plugins.admitAgain = async () => void readers.credentialsOf(await readers.identify(gatewayKey, request), request);
				return h.authenticated({ credentials });
			}
			const look = (): Promise<Holder> => counted(request, parts, () => identify(request, parts));
			const caller = await look();
			await parts.limits.ofUser(request, caller.userId);
			const admitted = await admit(parts, { caller, look, decide: (one) => decide(request, one, parts.permissions) });
			// The body is read only for admitted callers.
			await readInput(request);
			request.plugins.admitAgain = async () => assertSame(admitted, decide(request, await identify(request, parts), parts.permissions));
			return h.authenticated({ credentials: credentialsOf(request, admitted, parts) });
		},
	}));
	server.auth.strategy('management', 'management');
	server.auth.default('management');
	server.ext(
		'onPreAuth',
		async (request, h) => {
			// On public routes the body is read here; elsewhere authentication reads it once the caller is admitted.
			if (isPublic(request.route.settings)) {
				if (!request.route.settings.plugins?.gatehouse?.countsItself) await parts.limits.ofAddress(request);
				await readInput(request);
			}
			return h.continue;
		},
		SANDBOX,
	);
	// Callers see their own changes at once on this replica; also on public routes, since a password can be reset without a credential. A
	// change stays committed if this refresh fails.
	server.ext(
		'onPostHandler',
		async (request, h) => {
			if (!SAFE_METHODS.has(request.method)) await parts.store.changes.fresh(0)?.catch(() => null);
			return h.continue;
		},
		SANDBOX,
	);
}

// hapi's types leave out that `auth: false` stays false.
export const isPublic = ({ auth }: { auth?: unknown }): boolean => auth === false;

async function identify(request: Request, parts: Parts): Promise<Holder> {
	const secret = bearer(request) ?? cookie(request, parts.config);
	if (secret === null) throw new GatewayError('unauthorized', 'A Bearer token is required.');
	const holder = await parts.members.holder(secret);
	if (holder) return holder;
	throw new GatewayError(
		'unauthorized',
		secret.startsWith(ACCESS_KEY_PREFIX) ? 'The access key is not valid.' : 'The login of this token has ended.',
	);
}

interface Admission<C, A> {
	caller: C;
	/** Looks the caller up again if something of them has changed. @throws unauthorized */
	look(): Promise<C>;
	/** @throws the refusal */
	decide(caller: C): A;
}

/**
 * Decides on a refusal again with every change committed by now, so that a permission granted on one replica is effective on all of them at
 * once. @throws forbidden, insufficient_scope, no_organization, not_found
 */
async function admit<C, A>({ store }: Parts, { caller, look, decide }: Admission<C, A>): Promise<A> {
	try {
		return decide(caller);
	} catch (refusal) {
		await store.changes.fresh(0);
		const now = await look();
		if (now === caller) throw refusal;
		return decide(now);
	}
}

function decide(request: Request, caller: Holder, all: Permissions): Admitted {
	const membership = choose(request, caller.memberships);
	const permissions = allowed(caller, membership, all);
	authorize(request, caller, permissions);
	return { caller, membership, permissions };
}

/** @throws forbidden when the request would be one of another organization now */
function assertSame({ membership: before }: Admitted, { membership: now }: Admitted): void {
	if (before?.organization.id !== now?.organization.id)
		throw new GatewayError('forbidden', 'You are no member of this organization any more.');
}

function credentialsOf(request: Request, { caller, membership, permissions }: Admitted, parts: Parts): AuthCredentials {
	const { userId, email, login, key } = caller;
	const actor = { userId, email, accessKeyId: key?.id ?? null, ...clientOf(request, parts) };
	const { organization = null, role = null } = membership ?? {};
	return { user: { id: userId }, organization, role, permissions, login, actor };
}

/** Counts failed attempts against the address. @param look throws unauthorized for a bad credential. @throws rate_limited */
async function counted<T>(request: Request, parts: Parts, look: () => Promise<T>): Promise<T> {
	parts.limits.assertMayTry(request);
	try {
		return await look();
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error?.code !== 'unauthorized') throw thrown;
		await (isTried(request, parts.config) ? parts.limits.ofFailure(request) : parts.limits.ofAddress(request));
		throw new GatewayError('unauthorized', error.message, { cause: error.cause, headers: CHALLENGE });
	}
}

/** Tells whether there was a credential at all: a request without one guesses nothing. */
const isTried = (request: Request, config: Config): boolean =>
	request.raw.req.headers.authorization !== undefined ||
	gatewayKeyIn(request) !== null ||
	readTokenCookie(config, request.raw.req.headers) !== null;

/** Returns the Bearer token; null without the header. @throws unauthorized when the header has another form */
function bearer(request: Request): string | null {
	const { authorization } = request.raw.req.headers;
	if (authorization === undefined) return null;
	const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
	if (token === undefined) throw new GatewayError('unauthorized', 'Authorization must be: Bearer <token>.');
	return token;
}

/** Returns the cookie's token. A page of another origin can make a browser send the cookie, but cannot forge its `Origin`. */
function cookie(request: Request, config: Config): string | null {
	const { headers } = request.raw.req;
	const token = readTokenCookie(config, headers);
	if (token === null || SAFE_METHODS.has(request.method)) return token;
	const { origin } = headers;
	if (origin === undefined || !isOwnOrigin(config, origin)) {
		throw new GatewayError(
			'forbidden',
			'With the cookie, changes are taken only from pages of this service: the Origin header must name one.',
		);
	}
	return token;
}

/** Returns the permissions that the role has now, limited to those of the key. */
function allowed({ key }: Member, membership: Membership | null, all: Permissions): ReadonlySet<PermissionName> {
	const held = membership ? all.of(membership.role) : [];
	return new Set(held.filter((permission) => key?.permissions?.includes(permission) ?? true));
}

/** @throws forbidden, insufficient_scope */
function authorize(request: Request, { key }: Member, permissions: ReadonlySet<PermissionName>): void {
	const { need } = request.route.settings.plugins?.gatehouse ?? {};
	if (key && need === 'login') throw new GatewayError('forbidden', 'This requires a login: an access key is not enough.');
	if (key && !isReached(request, key)) throw new GatewayError('insufficient_scope', 'The access key does not reach this resource.');
	if (need === 'self' || need === 'login') return;
	if (need === 'account') {
		if (key?.permissions) throw new GatewayError('insufficient_scope', 'This requires a login, or an access key without restrictions.');
		return;
	}
	if (need === undefined || !permissions.has(need)) throw withoutPermission(String(need), key !== null);
}

const withoutPermission = (permission: string, byKey: boolean): GatewayError => {
	const [code, who] = byKey ? (['insufficient_scope', 'The access key'] as const) : (['forbidden', 'Your role'] as const);
	return new GatewayError(code, `${who} does not have the permission ${permission}.`);
};

/** The paths of the resources that a key may be for. */
const REACHED = { gateway: /^\/gateways\/\{(\w+)\}/, agent: /^\/agents\/\{(\w+)\}/ } as const;

/** Tells whether a key reaches a route: a key for one gateway or agent reaches the routes of that one and nothing else. */
function isReached(request: Request, { reach }: AccessKeyRow): boolean {
	if (reach.type === 'account') return true;
	const [, name] = REACHED[reach.type].exec(request.route.path) ?? [];
	return name !== undefined && String(request.params[name]).toLowerCase() === reach.id;
}

/** Checks permissions that depend on more than the route. @throws forbidden, or insufficient_scope for a key */
export function requirePermission(request: Request, ...needed: PermissionName[]): void {
	requireOf(request, needed, request.auth.credentials.permissions);
}

/** Checks permissions among those that the caller has as known later. @throws forbidden, or insufficient_scope for a key */
export function requireOf(request: Request, needed: readonly PermissionName[], held: ReadonlySet<PermissionName>): void {
	const { login } = request.auth.credentials;
	const missing = needed.find((permission) => !held.has(permission));
	if (missing) throw withoutPermission(missing, login === null);
}
