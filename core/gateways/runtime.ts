// Serves published gateways: resolve → match → authenticate → limit → body → dispatch to the adapter (core/README.md, "The way of a
// request").

import type { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Context } from '../contract/context.ts';
import { asGatewayError, GatewayError, notFound } from '../contract/errors.ts';
import type { GatewayRoute } from '../contract/kinds.ts';
import type { Caller, Gateway, Incoming, Reply, Scope } from '../contract/nouns.ts';
import { clientAddress } from '../http/addresses.ts';
import { DEFAULT_MAX_BYTES, parseFormBody, parseJson, readBody, UNREAD } from '../http/body.ts';
import { clientSignal } from '../http/client.ts';
import { isTrustedOrigin, publicUrlOf } from '../http/origins.ts';
import { assertQuery } from '../http/queries.ts';
import { createIdentities, type Identities, type IdentityParts } from '../identity/identity.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { mediaTypeOf } from '../kit/media-type.ts';
import type { Limits } from '../limits/limits.ts';
import type { Recorder } from '../store/recorder.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { GatewaySnapshot } from '../store/store.ts';
import { type CallParts, type ManagementScope, managementContext, PluginCall, type Services } from '../tools/call.ts';
import type { ToolLimit } from '../tools/entry.ts';
import { authenticate, scopeChallenge } from './authenticate.ts';
import { checkRoutes, findRoute, type MountedGateway, type MountParts, mountGateway, type RouteMatch, unmatched } from './mount.ts';

export interface Runtime {
	/** Adds the gateways' routes to the server. */
	mount(server: Server): void;
	/** Returns the public address of a gateway. */
	url(organizationSlug: string, endpoint: string): string;
	/** Returns the context of a plugin in a route of the management API: private to the plugin and the gateway. */
	contextAt(scope: ManagementScope): Context;
	close(): void;
}

export interface RuntimeParts extends MountParts, IdentityParts {
	recorder: Recorder;
	config: Config;
	services: Services;
	limits: Limits;
}

/** The number of gateways kept ready in this process; the longest unused are dropped first. */
const MOUNTED = 1000;
const SLUG = /^[a-z0-9-]{1,48}$/;
const ENDPOINT = /^[A-Za-z0-9_-]{1,64}$/;
/** The subject of callers that cannot be told apart. */
const ANONYMOUS = 'anonymous';

export function createRuntime(parts: RuntimeParts): Runtime {
	checkRoutes(parts.registry);
	const gateways = new GatewayCache(parts);
	const identities = createIdentities(parts);
	const handler = (request: Request, h: ResponseToolkit): Promise<ResponseObject> => serve(request, h, { parts, gateways, identities });
	return {
		mount(server) {
			const options = { auth: false as const, ...UNREAD };
			server.route({ method: '*', path: '/{org}/{gateway}/{rest*}', options, handler });
			// RFC 8414 §3.1 and RFC 9728 §3.1 insert the well-known part before the path; both forms are accepted.
			server.route({ method: '*', path: '/.well-known/{name}/{org}/{gateway}', options, handler });
		},
		url: (organizationSlug, endpoint) => `${parts.config.publicUrls[0]}/${organizationSlug}${endpoint}`,
		contextAt: (scope) => managementContext(parts.services, scope),
		close() {
			gateways.close();
			identities.close();
		},
	};
}

/** Gateways by their address, each prepared once and dropped with the first change of its organization. */
class GatewayCache {
	readonly #parts: RuntimeParts;
	readonly #mounted = new BoundedMap<string, { organizationId: string | null; gateway: Promise<MountedGateway | null> }>(MOUNTED);
	readonly #unsubscribe: () => void;

	constructor(parts: RuntimeParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.store.changes.subscribe((topics) => this.#drop(new Set(topics)));
	}

	/** Returns the prepared gateway; null when there is none, or it is not active. */
	async get(organizationSlug: string, endpoint: string): Promise<MountedGateway | null> {
		const look = this.#parts.store.changes.fresh(STALE_MS);
		if (look) await look;
		const key = organizationSlug + endpoint;
		const known = this.#mounted.get(key);
		if (known) return known.gateway;
		const entry: { organizationId: string | null; gateway: Promise<MountedGateway | null> } = {
			organizationId: null,
			gateway: this.#load(organizationSlug, endpoint).then(({ organizationId, gateway }) => {
				entry.organizationId = organizationId;
				return gateway;
			}),
		};
		this.#mounted.set(key, entry);
		entry.gateway.catch(() => this.#mounted.get(key) === entry && this.#mounted.delete(key));
		return entry.gateway;
	}

	close(): void {
		this.#unsubscribe();
		this.#mounted.clear();
	}

	async #load(organizationSlug: string, endpoint: string): Promise<{ organizationId: string | null; gateway: MountedGateway | null }> {
		const snapshot = await this.#parts.store.gateways.snapshot(organizationSlug, endpoint);
		if (!snapshot) return { organizationId: null, gateway: null };
		const organizationId = snapshot.organization.id;
		return { organizationId, gateway: snapshot.gateway.status === 'active' ? this.#mount(snapshot) : null };
	}

	#mount(snapshot: GatewaySnapshot): MountedGateway {
		const url = `${this.#parts.config.publicUrls[0]}/${snapshot.organization.slug}${snapshot.gateway.endpoint}`;
		return mountGateway(snapshot, url, this.#parts);
	}

	/**
	 * Drops gateways of changed organizations. One that is still loading, or was missing, may belong to any of them. A gateway caches no
	 * records and no accounts.
	 */
	#drop(topics: ReadonlySet<string>): void {
		if (![...topics].some((topic) => topic === '*' || topic.startsWith('org:'))) return;
		for (const [key, { organizationId }] of this.#mounted) {
			if (organizationId === null || topics.has(`org:${organizationId}`) || topics.has('*')) this.#mounted.delete(key);
		}
	}
}

interface Serving {
	parts: RuntimeParts;
	gateways: GatewayCache;
	identities: Identities;
}

async function serve(request: Request, h: ResponseToolkit, { parts, gateways, identities }: Serving): Promise<ResponseObject> {
	const mounted = await resolve(request, gateways);
	const publicUrl = publicUrlOf(parts.config, request.raw.req.headers.host);
	const gateway = placed(mounted.gateway, publicUrl);
	const path = innerPath(request);
	const match = findRoute(mounted.router, request.method, path);
	await reading(match?.found.route, () => assertQuery(request.raw.req.url ?? ''));
	const incoming = describeRequest(request, { parts, publicUrl, path, match });
	const signal = clientSignal(request);
	const { limits } = parts;
	const around = {
		organizationId: gateway.organizationId,
		gateway,
		methods: mounted.methods,
		challenge: (caller: Caller, scope: Scope) => scopeChallenge(scope, { gateway, caller, methods: mounted.methods }),
		identity: identities.at(mounted, request),
		incoming,
		signal,
		entry: null,
		listener: null,
	};
	const isOpen = match ? match.found.route.public === true : isDiscovery(path);
	const caller = isOpen ? null : await admit(request, incoming, { mounted, around, gateway, parts });
	await limits.ofGateway(request, gateway.id, subjectOf(caller));
	if (caller?.keyId) parts.recorder.used(gateway.organizationId, caller.keyId);
	if (!match) throw unmatched(mounted.router, path);
	const { route, config, plugin } = match.found;
	incoming.body = await reading(route, () => readFor(request, route));
	const countTool = (limit: ToolLimit): Promise<void> => limits.ofTool(request, limit, subjectOf(caller));
	const call = new PluginCall(parts.services, { ...around, plugin, caller, shelf: mounted.shelf, countTool });
	const reply = await route.handler(incoming, config, call);
	// A request that granted or withdrew a credential takes effect at once on this replica. The change stays committed if this refresh fails.
	if (route.public && request.method !== 'get') await parts.store.changes.fresh(0)?.catch(() => undefined);
	return respond(h, reply);
}

interface Admission {
	mounted: MountedGateway;
	gateway: Gateway;
	around: Omit<CallParts, 'plugin' | 'caller' | 'shelf'>;
	parts: RuntimeParts;
}

/** @throws unauthorized, forbidden, rate_limited */
function admit(request: Request, incoming: Incoming, { mounted, gateway, around, parts }: Admission): Promise<Caller> {
	parts.limits.assertMayTry(request);
	return authenticate(incoming, gateway, mounted.methods, {
		contextOf: ({ plugin }) => new PluginCall(parts.services, { ...around, plugin: `auth:${plugin.name}`, caller: null, shelf: null }),
		onBadCredential: () => parts.limits.ofFailure(request),
	});
}

/** Returns the subject whose requests are counted together; null for callers without a name of their own. */
const subjectOf = (caller: Caller | null): string | null => (caller === null || caller.subject === ANONYMOUS ? null : caller.subject);

async function resolve(request: Request, gateways: GatewayCache): Promise<MountedGateway> {
	const { org, gateway: endpoint } = request.params as { org: string; gateway: string };
	const mounted = SLUG.test(org) && ENDPOINT.test(endpoint) ? await gateways.get(org, `/${endpoint}`) : null;
	if (!mounted) throw notFound('Gateway');
	return mounted;
}

/** Returns the gateway with the address that this client used. */
function placed(gateway: Gateway, publicUrl: string): Gateway {
	const url = `${publicUrl}/${gateway.organizationSlug}${gateway.endpoint}`;
	return url === gateway.url ? gateway : { ...gateway, url };
}

/**
 * Tells whether a path is a discovery endpoint. "Discovery endpoints (.well-known/*, agent cards) are always public" (specification 4.3),
 * including missing ones: a client takes 404 for "no OAuth here" and 401 for a broken gateway.
 */
const isDiscovery = (path: string): boolean => path === '/.well-known' || path.startsWith('/.well-known/');

/** Returns the raw path inside the gateway; a trailing slash makes no difference. */
function innerPath(request: Request): string {
	const { name } = request.params as { name?: string };
	if (name !== undefined && request.path.startsWith('/.well-known/')) return `/.well-known/${name}`;
	const start = request.path.indexOf('/', request.path.indexOf('/', 1) + 1);
	const inner = start === -1 ? '/' : request.path.slice(start);
	return inner.length > 1 && inner.endsWith('/') ? inner.replace(/\/+$/, '') || '/' : inner;
}

function describeRequest(
	request: Request,
	around: { parts: RuntimeParts; publicUrl: string; path: string; match: RouteMatch | null },
): Incoming {
	const { config } = around.parts;
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

/** Lets the route describe errors of reading the body. */
async function reading<T>(route: GatewayRoute | undefined, read: () => T | Promise<T>): Promise<T> {
	try {
		return await read();
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error || !route?.unreadable) throw thrown;
		const { code, message, headers } = error;
		throw new GatewayError(code, message, { headers, cause: thrown, body: route.unreadable(error) });
	}
}

async function readFor(request: Request, route: GatewayRoute): Promise<unknown> {
	const body = await readBody(request.raw.req, route.maxBytes ?? DEFAULT_MAX_BYTES);
	if (body === null || route.body === undefined || route.body === 'raw') return body;
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	const expected = route.body === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
	if (type !== expected) throw new GatewayError('unsupported_media_type', `Content-Type must be ${expected}.`);
	return route.body === 'json' ? parseJson(body) : parseFormBody(body);
}

function respond(h: ResponseToolkit, reply: Reply): ResponseObject {
	const body = reply.body ?? undefined;
	const isJson = typeof body === 'object' && !isBinary(body);
	const response = h.response(isJson ? JSON.stringify(body) : body).code(reply.status);
	if (isJson) response.type('application/json');
	for (const [name, value] of Object.entries(reply.headers ?? {})) response.header(name, value);
	return response;
}

const isBinary = (body: object): body is Buffer | Readable =>
	Buffer.isBuffer(body) || typeof (body as Partial<Readable>).pipe === 'function';
