// Serves published gateways: resolve → match → authenticate → limit → body → dispatch to the adapter (core/README.md, "The path of a
// request").

import type { Request, Server } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { GateContext } from '../contract/admission.ts';
import type { Context } from '../contract/context.ts';
import { notFound } from '../contract/errors.ts';
import type { Caller, Gateway, Incoming, Scope } from '../contract/nouns.ts';
import { type Answer, byHapi } from '../http/answer.ts';
import { UNREAD } from '../http/body.ts';
import { clientLeaving } from '../http/client.ts';
import { publicUrlOf } from '../http/origins.ts';
import { type GatewayPath, placeOf } from '../http/places.ts';
import { assertQuery } from '../http/queries.ts';
import type { ReservedSegments } from '../http/reserved.ts';
import type { Streams } from '../http/streams.ts';
import type { KeyedGateway } from '../identity/gateway-keys.ts';
import { createIdentities, type Identities, type IdentityParts, type RequestIdentity } from '../identity/identity.ts';
import type { Member } from '../identity/members.ts';
import { type Reach, reachIn } from '../identity/reach.ts';
import type { Limits } from '../limits/limits.ts';
import type { Recorder } from '../store/recorder.ts';
import { tellGateway } from '../telemetry/request-fields.ts';
import { PluginCall } from '../tools/call.ts';
import type { CallParts, Services, ToolShelf } from '../tools/call-parts.ts';
import type { ToolLimit } from '../tools/entry.ts';
import { type ManagementScope, managementContext } from '../tools/management-context.ts';
import { admissionOf } from './admission.ts';
import { type AuthenticationHooks, authenticate, type MountedMethod, scopeChallenge } from './authenticate.ts';
import { ANONYMOUS } from './check-caller.ts';
import { checkReply } from './check-reply.ts';
import { createFixedRoutes, type FixedAddress } from './fixed-routes.ts';
import { refuseForeignPage } from './foreign-pages.ts';
import { GatewayCache } from './gateway-cache.ts';
import { handle, respond } from './handling.ts';
import { describeRequest, incomingOf, isDiscovery, readFor } from './incoming.ts';
import { addLine, beginLine, logRequests, nameCaller } from './logged-requests.ts';
import { createMerged, type MergedGateways } from './merged.ts';
import { checkRoutes, findRoute, type MountedGateway, type MountParts, unmatched } from './mount.ts';
import { OnlyGateways } from './only-gateways.ts';
import { type CallOrigin, callerOfStream, type RebuildParts, type Rebuilt, rebuild } from './rebuild.ts';
import { letSpeak } from './refusals.ts';
import { Served } from './served.ts';
import { StillAdmitted } from './still-admitted.ts';
import { respondEvents } from './streaming.ts';
import { estimateTokens, notServed } from './tokens.ts';
import { verifyBody } from './verify-body.ts';

export interface Runtime {
	/** Adds the gateways' routes to the server. */
	mount(server: Server): void;
	/** Returns the public address of a gateway. */
	url(organizationSlug: string, endpoint: string): string;
	/** Returns the transport's estimate of what the gateway's lists cost a model; null for one that is not active, cannot be served, or estimates nothing. */
	tokens(organizationSlug: string, endpoint: string): Promise<Record<string, number> | null>;
	/** Returns the context of a plugin in a route of the management API: private to the plugin and the gateway. */
	contextAt(scope: ManagementScope): Context;
	/** Makes a call anew for work that outlived its request, with the gateway and the caller's rights as they are now. @throws as `rebuild` */
	rebuild(origin: CallOrigin): Promise<Rebuilt>;
	/** Returns the reach of a member, as the holder of a credential or by themselves; null for somebody who is no member there. */
	reachIn(member: Member, organizationId: string): Reach | null;
	/** Follows what is served, for `call.served`. */
	served: Served;
	/** Returns the gateway as it is served; null for one that is not active. @throws when it cannot be served */
	mounted: GatewayCache['get'];
	/** Returns the identity that a gateway's plugins get, outside of a request. */
	identityAt(mounted: KeyedGateway): RequestIdentity;
	keyReach: MergedGateways['keyReach'];
	/** Returns a call over the gateways of an organization that the caller reaches. */
	callOf: MergedGateways['callOf'];
	/** Returns the tools of gateways, for work of the organization itself. @throws not_found, unavailable */
	shelfOf(organizationId: string, gateways: readonly string[]): Promise<ToolShelf>;
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

const SLUG = /^[a-z0-9-]{1,48}$/;
const ENDPOINT = /^[A-Za-z0-9_-]{1,64}$/;

export function createRuntime(parts: RuntimeParts): Runtime {
	checkRoutes(parts.registry);
	const gateways = new GatewayCache(parts);
	const only = new OnlyGateways(parts);
	const identities = createIdentities(parts);
	const gatewayAt = (slug: string, endpoint: string) => gateways.get(slug, endpoint);
	const merged = createMerged({ ...parts, gatewayAt, boundAgain: (caller, organizationId) => fixed.boundAgain(caller, organizationId) });
	const rebuilding = (): RebuildParts => ({ ...parts, gateways, identities, merged, fixed });
	const { changes } = parts.store;
	const served = new Served({ changes, gatewayAt, merged });
	const admitted = new StillAdmitted({
		changes,
		log: parts.services.log,
		check: (who, signal) => callerOfStream(who, signal, rebuilding()),
	});
	const fixed = createFixedRoutes({ ...parts, merged, admitted, everywhere: { ...parts, identities } });
	const serving: Serving = { parts, gateways, only, identities, admitted };
	const atGateways = (request: Request): Promise<Answer> => serve(request, serving);
	return {
		mount(server) {
			const options = { auth: false as const, ...UNREAD };
			const handler = async (request: Request) => byHapi(request, await atGateways(request));
			server.app.door = { atGateways, ended: (request, sent) => addLine(request, sent, parts.recorder) };
			server.route({ method: '*', path: '/{org}/{gateway}/{rest*}', options, handler });
			// RFC 8414 §3.1 and RFC 9728 §3.1 insert the well-known part before the path; both forms are accepted.
			server.route({ method: '*', path: '/.well-known/{name}/{org}/{gateway}', options, handler });
			fixed.mount(server);
			logRequests(server, parts.recorder);
		},
		url: (organizationSlug, endpoint) => `${parts.config.publicUrls[0]}/${organizationSlug}${endpoint}`,
		tokens: async (slug, endpoint) => estimateTokens(await gatewayAt(slug, endpoint).catch(notServed), parts),
		rebuild: (origin) => rebuild(origin, rebuilding()),
		served,
		mounted: gatewayAt,
		identityAt: (mounted) => identities.at(mounted, null),
		contextAt: (scope) => managementContext(parts.services, scope),
		reachIn,
		callOf: merged.callOf,
		shelfOf: (organizationId, gateways) => merged.shelfOf({ organizationId, gateways, incoming: undefined }),
		incomingOf: (request) => incomingOf(request, parts.config),
		keyReach: merged.keyReach,
		serveAt: fixed.serveAt,
		close() {
			admitted.close();
			served.close();
			merged.close();
			gateways.close();
			only.close();
			identities.close();
		},
	};
}

interface Serving {
	parts: RuntimeParts;
	gateways: GatewayCache;
	only: OnlyGateways;
	identities: Identities;
	admitted: StillAdmitted;
}

async function serve(request: Request, { parts, gateways, only, identities, admitted }: Serving): Promise<Answer> {
	const place = placeOf(request.path);
	const { mounted, path } = resolved(place, gateways) ?? (await resolve(await only.placed(place), gateways));
	const publicUrl = publicUrlOf(parts.config, request.raw.req.headers.host);
	const gateway = placed(mounted.gateway, publicUrl);
	const names = { organization: gateway.organizationSlug, gateway: gateway.endpoint.slice(1) };
	beginLine(request, { organizationId: gateway.organizationId, gatewayId: gateway.id, names });
	const match = findRoute(mounted.router, request.method, path);
	tellGateway(names, match?.found.route.path);
	request.plugins.servedBy = { plugin: mounted.plugin, gateway: mounted.place };
	request.plugins.gatewayRoute = match?.found.route;
	const incoming = describeRequest(request, { config: parts.config, publicUrl, base: gateway.url, path, match });
	request.plugins.incoming = incoming;
	letSpeak(request, match?.found ?? mounted.speaker, incoming, gateway);
	assertQuery(incoming.target);
	const leaving = clientLeaving(request);
	const identity = identities.at(mounted, request);
	const around = {
		organizationId: gateway.organizationId,
		gateway,
		methods: mounted.methods,
		challenge: (caller: Caller, scope: Scope) =>
			scopeChallenge(scope, { gateway: { ...gateway, target: incoming.target }, caller, methods: mounted.methods }),
		admission: () => admissionOf(gateway, mounted.methods),
		identity,
		incoming,
		names,
		signal: leaving.signal,
		entry: null,
		listener: null,
	};
	const isOpen = match ? match.found.route.public === true : isDiscovery(path);
	const hooks = isOpen ? null : gateHooks(request, { mounted, around, parts });
	const passed = hooks && (await authenticate(incoming, gateway, mounted.methods, hooks));
	if (passed && !mounted.judgesOrigin) refuseForeignPage(incoming, passed, parts.config);
	const caller = passed?.caller ?? null;
	nameCaller(request, caller);
	const counting = parts.limits.ofGateway(request, gateway.id, subjectOf(caller));
	if (counting) await counting;
	if (caller?.keyId) parts.recorder.used(gateway.organizationId, caller.keyId);
	if (!match) throw unmatched(mounted.router, path);
	const { route, plugin, config } = match.found;
	const servedBy = { plugin, gateway: mounted.place };
	request.plugins.servedBy = servedBy;
	incoming.body = await readFor(request, route, passed && verifierOf(passed, incoming, { mounted, gateway, hooks }));
	// A method that verified the body served the request in between.
	request.plugins.servedBy = servedBy;
	const countTool = (limit: ToolLimit): Promise<void> => parts.limits.ofTool(request, limit, subjectOf(caller));
	const countCall = async (): Promise<void> => parts.limits.ofGateway(request, gateway.id, subjectOf(caller));
	const lists = route.lists === true;
	const call = new PluginCall(parts.services, { ...around, plugin, caller, shelf: mounted.shelf, countTool, countCall, lists, config });
	const from = { plugin, gaveCookie: (cookie: string) => identity.gaveCookie(cookie) };
	const reply = checkReply(await handle(match.found, { incoming, call, leaving }), from);
	// A request that granted or withdrew a credential takes effect at once on this replica. The change stays committed if this refresh fails.
	if (route.public && request.method !== 'get') await parts.store.changes.fresh(0)?.catch(() => undefined);
	const { events } = reply;
	if (!events) return respond(reply, call);
	const who = caller && { plugin, organizationId: gateway.organizationId, gateway: mounted.gateway, caller };
	const streaming = { mounted: match.found, incoming, call, leaving, request, from, streams: parts.streams, admitted, who };
	return respondEvents({ ...reply, events }, streaming);
}

interface Admission {
	mounted: MountedGateway;
	around: Omit<CallParts, 'plugin' | 'caller' | 'shelf'> & { identity: RequestIdentity };
	parts: RuntimeParts;
}

/** Returns what the gate asks of the request. @throws rate_limited for an address that sent too many bad credentials */
function gateHooks(request: Request, { mounted, around, parts }: Admission): AuthenticationHooks {
	parts.limits.assertMayTry(request);
	return {
		contextOf({ plugin: { name } }: MountedMethod): GateContext {
			const plugin = `auth:${name}`;
			request.plugins.servedBy = { plugin, gateway: mounted.place };
			// Its gateway is the one of `around`.
			return new PluginCall(parts.services, { ...around, plugin, caller: null, shelf: null }) as Context as GateContext;
		},
		given: (subject: string) => around.identity.given(subject),
		onBadCredential: () => parts.limits.ofFailure(request),
	};
}

/** Returns the check of the body by the method that admitted the caller; null where it has none. */
function verifierOf(
	{ caller, by }: Awaited<ReturnType<typeof authenticate>>,
	incoming: Incoming,
	{ mounted: { methods }, gateway, hooks }: { mounted: MountedGateway; gateway: Gateway; hooks: AuthenticationHooks },
): ((rawBody: Buffer | null) => Promise<void>) | null {
	return by.plugin.verifyBody ? (raw) => verifyBody(raw, { incoming, caller, gateway, methods, by }, hooks) : null;
}

/** Returns the subject whose requests are counted together; null for callers without a name of their own. */
const subjectOf = (caller: Caller | null): string | null => (caller === null || caller.subject === ANONYMOUS ? null : caller.subject);

/** Finds the gateway of a path without waiting, as most can be; null for any other one. */
function resolved(place: GatewayPath | null, gateways: GatewayCache): { mounted: MountedGateway; path: string } | null {
	if (!place || place.endpoint === '' || place.suffix !== '') return null;
	const mounted = gateways.ready(place.organization, `/${place.endpoint}`);
	return mounted && { mounted, path: place.path };
}

/** Finds the gateway of a path, in any of its spellings. @throws not_found */
async function resolve(place: GatewayPath | null, gateways: GatewayCache): Promise<{ mounted: MountedGateway; path: string }> {
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
