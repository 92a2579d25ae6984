// A transport at a fixed address, over the gateways of an organization that the caller's credential reaches: a feature lends the address and
// the identity, the transport speaks as at a gateway.

import { Router } from '@hapi/call';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Admission } from '../contract/admission.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Incoming, JsonObject } from '../contract/nouns.ts';
import { UNREAD } from '../http/body.ts';
import { clientLeaving } from '../http/client.ts';
import { publicUrlOf } from '../http/origins.ts';
import { assertQuery } from '../http/queries.ts';
import type { ReservedSegments } from '../http/reserved.ts';
import type { Streams } from '../http/streams.ts';
import type { Reach } from '../identity/reach.ts';
import { deepFreeze } from '../kit/json.ts';
import type { Limits } from '../limits/limits.ts';
import type { Registry } from '../registry/registry.ts';
import type { Recorder } from '../store/recorder.ts';
import { checkReply } from './check-reply.ts';
import { handle, respond } from './handling.ts';
import { describeRequest, readFor } from './incoming.ts';
import type { MergedGateways } from './merged.ts';
import { findRoute, type MountedRoute, speakerOf, unmatched } from './mount.ts';
import { letSpeak, type Speaker } from './refusals.ts';
import { respondEvents } from './streaming.ts';

export interface FixedAddress {
	/** The path, such as `/mcp`; the transport's routes lie below it. Its first segment must be reserved. */
	path: string;
	/** The name of the transport. */
	transport: string;
	/** Its config; default: that of its schema. */
	config?: JsonObject;
	/**
	 * Returns the caller, the organization and the gateways that the request's credential reaches; null without one.
	 * @throws unauthorized for a bad credential, which counts against its address; forbidden
	 */
	identify(incoming: Incoming): Promise<Reach | null>;
	/** The value of WWW-Authenticate of a 401. Default `Bearer`. */
	challenge?(incoming: Incoming): string;
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
}

interface Served extends FixedAddress {
	router: Router<MountedRoute>;
	plugin: string;
	speaker: Speaker;
}

export interface FixedRoutes {
	/** @throws Error naming what cannot be served, before the service starts */
	serveAt(address: FixedAddress): void;
	mount(server: Server): void;
	/** Returns the config of a transport at its address. @param plugin `kind:name`. @throws not_found when it is served there no more */
	configAt(path: string, plugin: string): JsonObject;
}

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
		configAt(path, plugin) {
			const one = served.get(path);
			if (one?.plugin !== plugin) throw new GatewayError('not_found', `The transport is served at ${path} no more.`);
			return one.speaker.config;
		},
		mount(server) {
			isMounted = true;
			const options = { auth: false as const, ...UNREAD, plugins: { ...UNREAD.plugins, isTransports: true as const } };
			for (const one of served.values()) {
				const handler = (request: Request, h: ResponseToolkit): Promise<ResponseObject> => serve(request, h, one, parts);
				server.route({ method: '*', path: `${one.path}/{rest*}`, options, handler });
			}
		},
	};
}

function prepare(address: FixedAddress, { registry }: Parts): Served {
	const transport = registry.get('transport', address.transport);
	if (!transport) throw new Error(`${address.path}: the transport "${address.transport}" is not loaded.`);
	const { error, value } = transport.config.validate(address.config ?? {}, { abortEarly: false });
	if (error) throw new Error(`${address.path}: the config of transport:${transport.name}: ${error.message}`);
	const config = deepFreeze(value as JsonObject);
	const plugin = `transport:${transport.name}`;
	const speaker = speakerOf(transport, config);
	const router = new Router<MountedRoute>({ isCaseSensitive: true });
	for (const route of transport.routes) router.add({ method: route.method.toLowerCase(), path: route.path }, { ...speaker, route });
	return { ...address, router, plugin, speaker };
}

async function serve(request: Request, h: ResponseToolkit, served: Served, parts: Parts): Promise<ResponseObject> {
	const { router, plugin, speaker } = served;
	request.plugins.servedBy = { plugin };
	const path = innerPath(request.path, served.path);
	const match = findRoute(router, request.method, path);
	request.plugins.gatewayRoute = match?.found.route;
	const publicUrl = publicUrlOf(parts.config, request.raw.req.headers.host);
	const incoming = describeRequest(request, { config: parts.config, publicUrl, base: publicUrl + served.path, path, match });
	letSpeak(request, speaker, incoming);
	assertQuery(incoming.target);
	const leaving = clientLeaving(request);
	// Public routes tell about one gateway, so a caller is needed for each.
	const reach = await admit(request, incoming, served, parts);
	if (!match) throw unmatched(router, path);
	incoming.body = await readFor(request, match.found.route, null);
	const call = await parts.merged.callOf({
		...{ ...reach, plugin, request, incoming, signal: leaving.signal, path: served.path },
		...{ lists: match.found.route.lists === true, admission: () => admissionOf(served, incoming) },
	});
	const from = { plugin, gaveCookie: () => false };
	const reply = checkReply(await handle(match.found, { incoming, call, leaving }), from);
	const { events } = reply;
	if (!events) return respond(h, reply, call);
	return respondEvents(h, { ...reply, events }, { mounted: match.found, incoming, call, leaving, request, from, streams: parts.streams });
}

/** Returns the raw path below the address; a trailing slash makes no difference. */
function innerPath(path: string, base: string): string {
	const inner = path.slice(base.length).replace(/\/+$/, '');
	return inner === '' ? '/' : inner;
}

const challengeOf = ({ challenge }: Served, incoming: Incoming): string => challenge?.(incoming) ?? 'Bearer';

const admissionOf = (served: Served, incoming: Incoming): readonly Admission[] =>
	served.admission?.(incoming) ?? [{ method: 'credential', required: true, challenge: challengeOf(served, incoming) }];

/** @throws unauthorized, forbidden, rate_limited */
async function admit(request: Request, incoming: Incoming, served: Served, { limits, recorder }: Parts): Promise<Reach> {
	limits.assertMayTry(request);
	const refused = (message: string, cause?: unknown): GatewayError =>
		new GatewayError('unauthorized', message, { cause, headers: { 'www-authenticate': challengeOf(served, incoming) } });
	const reach = await served.identify(incoming).catch(async (thrown: unknown) => {
		const error = asGatewayError(thrown);
		if (error?.code !== 'unauthorized') throw thrown;
		await limits.ofFailure(request);
		throw refused(error.message, thrown);
	});
	if (!reach) throw refused('A credential is required.');
	const { caller, organizationId } = reach;
	if (caller.keyId !== undefined) await limits.ofKey(request, caller.keyId);
	else if (caller.userId !== undefined) await limits.ofUser(request, caller.userId);
	if (caller.keyId !== undefined) recorder.used(organizationId, caller.keyId);
	return reach;
}
