// A transport at a fixed address, over the gateways of an organization that the caller's credential reaches: a feature lends the address and
// the identity, the transport speaks as at a gateway.

import type { Router } from '@hapi/call';
import type { Request, Server } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Admission } from '../contract/admission.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { GatewayRoute } from '../contract/kinds.ts';
import type { Caller, Incoming, JsonObject, OrganizationSettings, ServedAt } from '../contract/nouns.ts';
import { type Answer, byHapi } from '../http/answer.ts';
import { UNREAD } from '../http/body.ts';
import { clientLeaving } from '../http/client.ts';
import { publicUrlOf } from '../http/origins.ts';
import { withoutLastSlashes } from '../http/places.ts';
import { assertQuery } from '../http/queries.ts';
import type { ReservedSegments } from '../http/reserved.ts';
import type { Streams } from '../http/streams.ts';
import type { Reach } from '../identity/reach.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { deepFreeze } from '../kit/json.ts';
import type { Limits } from '../limits/limits.ts';
import type { Registry } from '../registry/registry.ts';
import type { Recorder } from '../store/recorder.ts';
import type { Store } from '../store/store.ts';
import type { PluginCall } from '../tools/call.ts';
import { admissionOf as admissionOfMethods } from './admission.ts';
import { challenges, type MountedMethod, scopeChallenge } from './authenticate.ts';
import { checkReply } from './check-reply.ts';
import { Everywhere, type EverywhereParts } from './everywhere.ts';
import { handle, respond } from './handling.ts';
import { describeRequest, isDiscovery, readFor } from './incoming.ts';
import { beginLine, nameCaller } from './logged-requests.ts';
import type { MergedGateways } from './merged.ts';
import { findRoute, type MountedRoute, routeTable, speakerOf, unmatched } from './mount.ts';
import { letSpeak, type Speaker } from './refusals.ts';
import type { StillAdmitted } from './still-admitted.ts';
import { respondEvents } from './streaming.ts';

export interface FixedAddress {
	/** The path, such as `/mcp`; the transport's routes lie below it. Its first segment must be reserved. */
	path: string;
	/** The name of the transport. */
	transport: string;
	/** The name of what is served, for people; default: the path. */
	title?: string;
	/** Its config; default: that of its schema. */
	config?: JsonObject;
	/** Returns the fields of the config that an organization chooses by its settings. */
	configOf?(settings: OrganizationSettings): JsonObject;
	/**
	 * Returns the caller, the organization and the gateways that the request's credential reaches; null without one.
	 * @throws unauthorized for a bad credential, which counts against its address; forbidden
	 */
	identify(incoming: Incoming): Promise<Reach | null>;
	/** The value of WWW-Authenticate of a 401. Default `Bearer`. */
	challenge?(incoming: Incoming): string;
	/**
	 * Authentication methods that admit there, too, with their routes; each must be `universal`. They are asked when `identify` finds no
	 * credential, and their challenges come in place of `challenge`.
	 */
	methods?: readonly { name: string; config?: JsonObject }[];
	/** Checks the reach of a caller whom one of the methods admitted against the request. @throws no_organization, forbidden */
	check?(reach: Reach, incoming: Incoming): void;
	/** Returns what `call.admission()` does there. Default: a credential is required, with the challenge and without a scheme. */
	admission?(incoming: Incoming): readonly Admission[];
}

declare module '@hapi/hapi' {
	interface PluginSpecificConfiguration {
		/** A transport serves the route, and says how each refusal reads. */
		isTransports?: true;
	}
}

interface Parts {
	config: Config;
	registry: Registry;
	limits: Limits;
	reserved: ReservedSegments;
	recorder: Recorder;
	merged: MergedGateways;
	streams: Streams;
	admitted: StillAdmitted;
	store: Pick<Store, 'changes'>;
	everywhere: EverywhereParts;
}

interface Served extends Omit<FixedAddress, 'methods'> {
	methods: readonly MountedMethod[];
	router: Router<MountedRoute>;
	plugin: string;
	speaker: Speaker;
	/** Returns the config with what an organization chose. */
	configWith(chosen: JsonObject): JsonObject;
}

export interface FixedRoutes {
	/** @throws Error naming what cannot be served, before the service starts */
	serveAt(address: FixedAddress): void;
	mount(server: Server): void;
	/** Returns a caller whom a method admitted at an address, as they are now; undefined for callers of no such method. */
	boundAgain(caller: Caller, organizationId: string): Promise<Caller | null> | undefined;
	/** Returns the config of a transport at its address, for an organization. @param plugin `kind:name`. @throws not_found when it is served there no more */
	configAt(path: string, plugin: string, organizationId: string): Promise<JsonObject>;
}

const WELL_KNOWN = '/.well-known/';
/** The configs of an address that organizations chose. */
const CONFIGS = 100;
/** Work that outlives its request ends by itself. */
const NEVER = new AbortController().signal;
const PATH = /^(\/[a-z0-9-]{1,64}){1,4}$/;

export function createFixedRoutes(parts: Parts): FixedRoutes {
	const served = new Map<string, Served>();
	let isMounted = false;
	return {
		serveAt(address) {
			const { path } = address;
			if (isMounted) throw new Error(`${path}: a transport is put at an address while features register, and not later.`);
			if (!PATH.test(path) || !parts.reserved.has(path.split('/')[1] ?? ''))
				throw new Error(`${path}: the first segment of the path of a transport must be reserved, and its segments match ${PATH}.`);
			if (served.has(path)) throw new Error(`${path}: another feature serves a transport there.`);
			served.set(path, prepare(address, parts));
		},
		async configAt(path, plugin, organizationId) {
			const one = served.get(path);
			if (one?.plugin !== plugin) throw new GatewayError('not_found', `The transport is served at ${path} no more.`);
			return configIn(organizationId, one, parts);
		},
		boundAgain(caller, organizationId) {
			const method = [...served.values()].flatMap(({ methods }) => methods).find(({ plugin }) => plugin.name === caller.method);
			return method && new Everywhere(parts.everywhere, { signal: NEVER }).again(method, caller, organizationId);
		},
		mount(server) {
			isMounted = true;
			for (const one of served.values()) {
				const answerer = (request: Request): Promise<Answer> => serve(request, one, parts);
				const options = { auth: false as const, ...UNREAD, plugins: { ...UNREAD.plugins, isTransports: true as const, answerer } };
				const handler = async (request: Request) => byHapi(request, await answerer(request));
				server.route({ method: '*', path: `${one.path}/{rest*}`, options, handler });
				// RFC 8414 §3.1 and RFC 9728 §3.1 insert the well-known part before the path.
				server.route({ method: '*', path: `/.well-known/{name}${one.path}`, options, handler });
			}
		},
	};
}

function prepare(address: FixedAddress, { registry }: Parts): Served {
	const transport = registry.get('transport', address.transport);
	if (!transport) throw new Error(`${address.path}: the transport "${address.transport}" is not loaded.`);
	const valid = (given: JsonObject): JsonObject => {
		const { error, value } = transport.config.validate(given, { abortEarly: false });
		if (error) throw new Error(`${address.path}: the config of transport:${transport.name}: ${error.message}`);
		return deepFreeze(value as JsonObject);
	};
	const config = valid(address.config ?? {});
	const configs = new BoundedMap<string, JsonObject>(CONFIGS);
	const configWith = (chosen: JsonObject): JsonObject => {
		const key = JSON.stringify(chosen);
		const known = configs.get(key) ?? valid({ ...address.config, ...chosen });
		configs.set(key, known);
		return known;
	};
	const methods = (address.methods ?? []).map((method) => prepareMethod(method, address.path, registry));
	const router = routeTable(transport, config, methods);
	return { ...address, methods, router, plugin: `transport:${transport.name}`, speaker: speakerOf(transport, config), configWith };
}

async function configIn(organizationId: string, { configOf, configWith, speaker }: Served, { merged }: Parts): Promise<JsonObject> {
	return configOf ? configWith(configOf(await merged.settingsOf(organizationId))) : speaker.config;
}

function prepareMethod(
	{ name, config: given = {} }: { name: string; config?: JsonObject },
	path: string,
	registry: Registry,
): MountedMethod {
	const plugin = registry.get('auth', name);
	if (!plugin?.universal) throw new Error(`${path}: the authentication method "${name}" is not loaded, or is not universal.`);
	const { error, value } = plugin.config.validate(given, { abortEarly: false });
	if (error) throw new Error(`${path}: the config of auth:${name}: ${error.message}`);
	return { plugin, isRequired: false, config: deepFreeze(value as JsonObject), rules: {} };
}

async function serve(request: Request, served: Served, parts: Parts): Promise<Answer> {
	const { router, speaker } = served;
	request.plugins.servedBy = { plugin: served.plugin };
	const path = innerPath(request.path, served.path);
	const match = findRoute(router, request.method, path);
	request.plugins.gatewayRoute = match?.found.route;
	const publicUrl = publicUrlOf(parts.config, request.raw.req.headers.host);
	const incoming = describeRequest(request, { config: parts.config, publicUrl, base: publicUrl + served.path, path, match });
	request.plugins.incoming = incoming;
	letSpeak(request, match?.found ?? speaker, incoming, servedAt(served, incoming));
	assertQuery(incoming.target);
	const leaving = clientLeaving(request);
	const place = new Everywhere(parts.everywhere, { request, incoming, signal: leaving.signal });
	const isOpen = match ? isOfMethod(match.found) && match.found.route.public === true : isDiscovery(path);
	// Public routes of a transport tell about one gateway, so a caller is needed for each.
	const reach = isOpen ? await parts.limits.ofAddress(request) : await admit(request, { incoming, place, served }, parts);
	if (!match) throw unmatched(router, path);
	const { route, plugin } = match.found;
	const isOwn = reach !== undefined && plugin === served.plugin;
	request.plugins.servedBy = { plugin };
	incoming.body = await readFor(request, route, null);
	const call = reach ? await callOf(reach, { request, incoming, leaving, served, route }, parts) : place.call(plugin);
	const from = { plugin, gaveCookie: (cookie: string) => isOpen && place.gaveCookie(cookie) };
	const mounted = isOwn ? { ...match.found, config: await configIn(reach.organizationId, served, parts) } : match.found;
	const reply = checkReply(await handle(mounted, { incoming, call, leaving }), from);
	// A request that granted or withdrew a credential takes effect at once on this replica. The change stays committed if this refresh fails.
	if (isOpen && request.method !== 'get') await parts.store.changes.fresh(0)?.catch(() => undefined);
	const { events } = reply;
	if (!events) return respond(reply, call);
	const { streams, admitted } = parts;
	const who = reach ? { plugin, ...reach, gateway: null, reach: { gateways: reach.gateways, path: served.path } } : null;
	return respondEvents({ ...reply, events }, { mounted, incoming, call, leaving, request, from, streams, admitted, who });
}

const isOfMethod = ({ plugin }: MountedRoute): boolean => plugin.startsWith('auth:');

interface FixedRequest {
	request: Request;
	incoming: Incoming;
	leaving: AbortController;
	served: Served;
	route: GatewayRoute;
}

function callOf(reach: Reach, { request, incoming, leaving, served, route }: FixedRequest, { merged }: Parts): Promise<PluginCall> {
	const { plugin, path, methods } = served;
	const at = servedAt(served, incoming);
	return merged.callOf({
		...{ ...reach, plugin, request, incoming, signal: leaving.signal, path },
		...{ lists: route.lists === true, admission: () => admissionOf(served, incoming) },
		challenge: (caller, scope) => scopeChallenge(scope, { gateway: at, caller, methods }),
	});
}

/** Returns the raw path below the address; a trailing slash makes no difference. */
function innerPath(path: string, base: string): string {
	if (isDiscovery(path)) return path.slice(0, path.indexOf('/', WELL_KNOWN.length));
	const inner = withoutLastSlashes(path.slice(base.length));
	return inner === '' ? '/' : inner;
}

const servedAt = ({ title, path }: Served, { base, target }: Incoming): ServedAt => ({ url: base, name: title ?? path.slice(1), target });

/** @param bad whether a credential of no method was bad */
function challengeOf(served: Served, incoming: Incoming, bad: boolean): string {
	const { methods } = served;
	if (methods.length === 0) return served.challenge?.(incoming) ?? 'Bearer';
	return challenges(servedAt(served, incoming), methods, bad ? methods : []);
}

function admissionOf(served: Served, incoming: Incoming): readonly Admission[] {
	const own = served.admission?.(incoming) ?? [{ method: 'credential', required: false, challenge: challengeOf(served, incoming, false) }];
	if (served.methods.length > 0) return [...own, ...admissionOfMethods(servedAt(served, incoming), served.methods)];
	return served.admission ? own : own.map((one) => ({ ...one, required: true }));
}

interface Admitting {
	incoming: Incoming;
	place: Everywhere;
	served: Served;
}

/** @throws unauthorized, forbidden, no_organization, rate_limited */
async function admit(request: Request, { incoming, place, served }: Admitting, { limits, recorder }: Parts): Promise<Reach> {
	limits.assertMayTry(request);
	const at = servedAt(served, incoming);
	const refused = (error: GatewayError, bad: boolean): GatewayError => {
		const challenge = error.headers['www-authenticate'] ?? challengeOf(served, incoming, bad);
		return new GatewayError('unauthorized', error.message, { cause: error.cause, headers: { 'www-authenticate': challenge } });
	};
	const find = async (): Promise<Reach | null> => {
		const reach = await served.identify(incoming);
		const bound = reach ? null : await place.authenticate(served.methods, incoming, at);
		if (bound) served.check?.({ ...bound, gateways: 'all' }, incoming);
		return reach ?? (bound && { ...bound, gateways: 'all' });
	};
	const reach = await find().catch(async (thrown: unknown) => {
		const error = asGatewayError(thrown);
		if (error?.code !== 'unauthorized') throw thrown;
		await limits.ofFailure(request);
		throw refused(error, true);
	});
	if (!reach) throw refused(new GatewayError('unauthorized', 'A credential is required.'), false);
	const { caller, organizationId } = reach;
	beginLine(request, { organizationId, gatewayId: null });
	nameCaller(request, caller);
	if (caller.keyId !== undefined) await limits.ofKey(request, caller.keyId);
	else if (caller.userId !== undefined) await limits.ofUser(request, caller.userId);
	if (caller.keyId !== undefined) recorder.used(organizationId, caller.keyId);
	return reach;
}
