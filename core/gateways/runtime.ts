// Serves published gateways: resolve → match → authenticate → limit → body → dispatch to the adapter (core/README.md, "The way of a
// request").

import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { GateContext } from '../contract/admission.ts';
import type { Context } from '../contract/context.ts';
import { notFound } from '../contract/errors.ts';
import type { Caller, Gateway, Incoming, Scope } from '../contract/nouns.ts';
import { UNREAD } from '../http/body.ts';
import { clientLeaving } from '../http/client.ts';
import { publicUrlOf } from '../http/origins.ts';
import { placeOf } from '../http/places.ts';
import { assertQuery } from '../http/queries.ts';
import type { ReservedSegments } from '../http/reserved.ts';
import type { Streams } from '../http/streams.ts';
import { createIdentities, type Identities, type IdentityParts, type RequestIdentity } from '../identity/identity.ts';
import type { Member } from '../identity/members.ts';
import { type Reach, reachIn } from '../identity/reach.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import type { Limits } from '../limits/limits.ts';
import type { Recorder } from '../store/recorder.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { GatewaySnapshot } from '../store/store.ts';
import { type ManagementScope, managementContext, PluginCall } from '../tools/call.ts';
import type { CallParts, Services } from '../tools/call-parts.ts';
import type { ToolLimit } from '../tools/entry.ts';
import { admissionOf } from './admission.ts';
import { authenticate, type MountedMethod, scopeChallenge } from './authenticate.ts';
import { ANONYMOUS } from './check-caller.ts';
import { checkReply } from './check-reply.ts';
import { createFixedRoutes, type FixedAddress } from './fixed-routes.ts';
import { handle, respond } from './handling.ts';
import { describeRequest, incomingOf, isDiscovery, readFor } from './incoming.ts';
import { createMerged, type MergedGateways } from './merged.ts';
import { checkRoutes, findRoute, type MountedGateway, type MountParts, mountGateway, unmatched } from './mount.ts';
import { type CallOrigin, type Rebuilt, rebuild } from './rebuild.ts';
import { letSpeak } from './refusals.ts';
import { respondEvents } from './streaming.ts';
import { verifyBody } from './verify-body.ts';

export interface Runtime {
	/** Adds the gateways' routes to the server. */
	mount(server: Server): void;
	/** Returns the public address of a gateway. */
	url(organizationSlug: string, endpoint: string): string;
	/** Returns the context of a plugin in a route of the management API: private to the plugin and the gateway. */
	contextAt(scope: ManagementScope): Context;
	/** Makes a call anew for work that outlived its request, with the gateway and the caller's rights as they are now. @throws as `rebuild` */
	rebuild(origin: CallOrigin): Promise<Rebuilt>;
	/** Returns the reach of a member, as the holder of a credential or by themselves; null for somebody who is no member there. */
	reachIn(member: Member, organizationId: string): Reach | null;
	keyReach: MergedGateways['keyReach'];
	/** Returns a call over the gateways of an organization that the caller reaches. */
	callOf: MergedGateways['callOf'];
	/** Returns the request of a feature's own route as `callOf` takes it. @throws validation_failed */
	incomingOf(request: Request): Incoming;
	/** Serves a transport at a fixed address, over such a call; called while features register. */
	serveAt(address: FixedAddress): void;
	close(): void;
}

export interface RuntimeParts extends MountParts, IdentityParts {
	recorder: Recorder;
	config: Config;
	services: Services;
	limits: Limits;
	streams: Streams;
	reserved: ReservedSegments;
}

/** The number of gateways kept ready in this process; the longest unused are dropped first. */
const MOUNTED = 1000;
const SLUG = /^[a-z0-9-]{1,48}$/;
const ENDPOINT = /^[A-Za-z0-9_-]{1,64}$/;

export function createRuntime(parts: RuntimeParts): Runtime {
	checkRoutes(parts.registry);
	const gateways = new GatewayCache(parts);
	const identities = createIdentities(parts);
	const gatewayAt = (slug: string, endpoint: string) => gateways.get(slug, endpoint);
	const merged = createMerged({ ...parts, gatewayAt });
	const fixed = createFixedRoutes({ ...parts, merged });
	const handler = (request: Request, h: ResponseToolkit): Promise<ResponseObject> => serve(request, h, { parts, gateways, identities });
	return {
		mount(server) {
			const options = { auth: false as const, ...UNREAD };
			server.route({ method: '*', path: '/{org}/{gateway}/{rest*}', options, handler });
			// RFC 8414 §3.1 and RFC 9728 §3.1 insert the well-known part before the path; both forms are accepted.
			server.route({ method: '*', path: '/.well-known/{name}/{org}/{gateway}', options, handler });
			fixed.mount(server);
		},
		url: (organizationSlug, endpoint) => `${parts.config.publicUrls[0]}/${organizationSlug}${endpoint}`,
		rebuild: (origin) => rebuild(origin, { ...parts, gateways, identities, merged, fixed }),
		contextAt: (scope) => managementContext(parts.services, scope),
		reachIn,
		callOf: merged.callOf,
		incomingOf: (request) => incomingOf(request, parts.config),
		keyReach: merged.keyReach,
		serveAt: fixed.serveAt,
		close() {
			merged.close();
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
	const { mounted, path } = await resolve(request, gateways);
	const publicUrl = publicUrlOf(parts.config, request.raw.req.headers.host);
	const gateway = placed(mounted.gateway, publicUrl);
	const match = findRoute(mounted.router, request.method, path);
	request.plugins.servedBy = { plugin: mounted.plugin, gateway: mounted.place };
	request.plugins.gatewayRoute = match?.found.route;
	const incoming = describeRequest(request, { config: parts.config, publicUrl, base: gateway.url, path, match });
	letSpeak(request, match?.found ?? mounted.speaker, incoming);
	assertQuery(incoming.target);
	const leaving = clientLeaving(request);
	const identity = identities.at(mounted, request);
	const { limits } = parts;
	const around = {
		organizationId: gateway.organizationId,
		gateway,
		methods: mounted.methods,
		challenge: (caller: Caller, scope: Scope) => scopeChallenge(scope, { gateway, caller, methods: mounted.methods }),
		admission: () => admissionOf(gateway, mounted.methods),
		identity,
		incoming,
		signal: leaving.signal,
		entry: null,
		listener: null,
	};
	const isOpen = match ? match.found.route.public === true : isDiscovery(path);
	const { caller, verify } = isOpen ? NOBODY : await admit(request, incoming, { mounted, around, gateway, parts });
	await limits.ofGateway(request, gateway.id, subjectOf(caller));
	if (caller?.keyId) parts.recorder.used(gateway.organizationId, caller.keyId);
	if (!match) throw unmatched(mounted.router, path);
	const { route, plugin } = match.found;
	const servedBy = { plugin, gateway: mounted.place };
	request.plugins.servedBy = servedBy;
	incoming.body = await readFor(request, route, verify);
	// A method that verified the body served the request in between.
	request.plugins.servedBy = servedBy;
	const countTool = (limit: ToolLimit): Promise<void> => limits.ofTool(request, limit, subjectOf(caller));
	const lists = route.lists === true;
	const call = new PluginCall(parts.services, { ...around, plugin, caller, shelf: mounted.shelf, countTool, lists });
	const from = { plugin, gaveCookie: (cookie: string) => identity.gaveCookie(cookie) };
	const reply = checkReply(await handle(match.found, { incoming, call, leaving }), from);
	// A request that granted or withdrew a credential takes effect at once on this replica. The change stays committed if this refresh fails.
	if (route.public && request.method !== 'get') await parts.store.changes.fresh(0)?.catch(() => undefined);
	const { events } = reply;
	return events
		? respondEvents(h, { ...reply, events }, { mounted: match.found, incoming, call, leaving, request, from, streams: parts.streams })
		: respond(h, reply, call);
}

/** The caller of a request, and the check of its body by the method that admitted the caller. */
interface Admitted {
	caller: Caller | null;
	verify: ((rawBody: Buffer | null) => Promise<void>) | null;
}

const NOBODY: Admitted = { caller: null, verify: null };

interface Admission {
	mounted: MountedGateway;
	gateway: Gateway;
	around: Omit<CallParts, 'plugin' | 'caller' | 'shelf'> & { identity: RequestIdentity };
	parts: RuntimeParts;
}

/** @throws unauthorized, forbidden, rate_limited */
async function admit(request: Request, incoming: Incoming, { mounted, gateway, around, parts }: Admission): Promise<Admitted> {
	parts.limits.assertMayTry(request);
	const hooks = {
		contextOf({ plugin: { name } }: MountedMethod): GateContext {
			const plugin = `auth:${name}`;
			request.plugins.servedBy = { plugin, gateway: mounted.place };
			// Its gateway is the one of `around`.
			return new PluginCall(parts.services, { ...around, plugin, caller: null, shelf: null }) as Context as GateContext;
		},
		given: (subject: string) => around.identity.given(subject),
		onBadCredential: () => parts.limits.ofFailure(request),
	};
	const { caller, by } = await authenticate(incoming, gateway, mounted.methods, hooks);
	const { methods } = mounted;
	const verify = by.plugin.verifyBody && ((raw: Buffer | null) => verifyBody(raw, { incoming, caller, gateway, methods, by }, hooks));
	return { caller, verify: verify ?? null };
}

/** Returns the subject whose requests are counted together; null for callers without a name of their own. */
const subjectOf = (caller: Caller | null): string | null => (caller === null || caller.subject === ANONYMOUS ? null : caller.subject);

/** Finds the gateway of a path, in any of its spellings. @throws not_found */
async function resolve({ path }: Request, gateways: GatewayCache): Promise<{ mounted: MountedGateway; path: string }> {
	const place = placeOf(path);
	const isPossible = place !== null && SLUG.test(place.organization) && ENDPOINT.test(place.endpoint);
	const mounted = isPossible ? await gateways.get(place.organization, `/${place.endpoint}`) : null;
	if (!place || !mounted || (place.suffix !== '' && place.suffix !== mounted.suffix)) throw notFound('Gateway');
	return { mounted, path: place.path };
}

/** Returns the gateway with the address that this client used. */
function placed(gateway: Gateway, publicUrl: string): Gateway {
	const url = `${publicUrl}/${gateway.organizationSlug}${gateway.endpoint}`;
	return url === gateway.url ? gateway : Object.freeze({ ...gateway, url });
}
