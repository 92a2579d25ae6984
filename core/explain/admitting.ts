// Asks the methods of a gateway about a credential, as a request would, and keeps what each of them says.

import { randomBytes } from 'node:crypto';
import type { GateContext } from '../contract/admission.ts';
import type { Context } from '../contract/context.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { Caller, Incoming } from '../contract/nouns.ts';
import { authenticate, type MountedMethod } from '../gateways/authenticate.ts';
import type { MountedGateway } from '../gateways/mount.ts';
import type { Runtime } from '../gateways/runtime.ts';
import { type KeyedGateway, noKeysYet } from '../identity/gateway-keys.ts';
import { admittingOf } from '../identity/gateway-rules.ts';
import { GATEWAY_KEY_PREFIX, hashId } from '../secrets/tokens.ts';
import type { KeyRow } from '../store/store.ts';
import { PluginCall } from '../tools/call.ts';
import type { Services } from '../tools/call-parts.ts';
import { secretHeadersOf } from '../upstreams/pass-through.ts';
import type { Step } from './steps.ts';

/** The credential and the address to be explained. */
export interface SampleRequest {
	/** Headers as a client would send them, by lower-case names. */
	headers: Readonly<Record<string, string>>;
	/** A key or a token, to be put where the methods look for one. */
	credential: string | null;
	/** The key of the gateway whose id was given. */
	key: KeyRow | null;
	address: string;
}

interface AdmittingParts {
	runtime: Pick<Runtime, 'identityAt'>;
	services: Services;
	/** Counts a bad credential. @throws rate_limited */
	onBadCredential(): Promise<void>;
	signal: AbortSignal;
	requestId: string;
}

export interface Admitting {
	caller: Caller;
	incoming: Incoming;
	around: { organizationId: string; gateway: MountedGateway['gateway']; methods: readonly MountedMethod[]; incoming: Incoming };
	methods: NonNullable<Step['methods']>;
}

/** @throws unauthorized, forbidden, rate_limited. @param asked receives what each method says, also when all refuse */
export async function admitting(
	given: SampleRequest,
	mounted: MountedGateway,
	asked: NonNullable<Step['methods']>,
	parts: AdmittingParts,
): Promise<Omit<Admitting, 'methods'>> {
	const { secret, keyed } = keyOf(given, mounted);
	const incoming = incomingOf({ ...given, credential: secret }, mounted, parts.requestId);
	const identity = parts.runtime.identityAt(keyed);
	const { gateway, methods } = mounted;
	const around = { organizationId: gateway.organizationId, gateway, methods, incoming };
	const inside = { ...around, identity, signal: parts.signal, entry: null, listener: null, caller: null, shelf: null };
	const outcomes = new Map<MountedMethod, Caller | GatewayError | null>();
	try {
		const { caller } = await authenticate(incoming, gateway, methods, {
			contextOf: ({ plugin: { name } }) => new PluginCall(parts.services, { ...inside, plugin: `auth:${name}` }) as Context as GateContext,
			given: (subject) => identity.given(subject),
			onBadCredential: parts.onBadCredential,
			onAsked: (method, outcome) => void outcomes.set(method, outcome),
		});
		return { caller, incoming, around };
	} finally {
		asked.push(...describe(methods, outcomes));
	}
}

/** Lets a credential that nobody else knows stand for the key of an id. */
function keyOf({ credential, key }: SampleRequest, { gateway }: MountedGateway): { secret: string | null; keyed: KeyedGateway } {
	const keyed: KeyedGateway = { gateway, keys: noKeysYet() };
	if (!key) return { secret: credential, keyed };
	const secret = GATEWAY_KEY_PREFIX + randomBytes(32).toString('hex');
	const expiresAt = key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
	const caller: Caller = { method: 'key', subject: `key:${key.id}`, keyId: key.id, scopes: key.scopes };
	if (key.expiresAt) caller.expiresAt = key.expiresAt;
	keyed.keys.set(hashId(secret), key.revokedAt === null ? { caller, expiresAt } : null);
	return { secret, keyed };
}

function incomingOf({ headers, credential, address }: SampleRequest, { gateway, methods }: MountedGateway, id: string): Incoming {
	const places = credential === null ? {} : placed(credential, methods);
	const publicUrl = new URL(gateway.url).origin;
	return {
		...{ id, method: 'POST', target: new URL(gateway.url).pathname, authority: new URL(gateway.url).host, path: '/', base: gateway.url },
		...{ params: {}, query: new URLSearchParams(), body: null, lastEventId: null, address, publicUrl },
		headers: { host: new URL(gateway.url).host, ...places, ...headers },
		origin: { value: null, trusted: false },
	};
}

/** Returns the headers in which the methods look for a credential, with this one. */
function placed(credential: string, methods: readonly MountedMethod[]): Record<string, string> {
	const names = [...secretHeadersOf(methods)];
	const own = Object.fromEntries(names.filter((name) => name !== 'authorization').map((name) => [name, credential]));
	return { ...own, authorization: /^(?:basic|bearer|dpop) /i.test(credential) ? credential : `Bearer ${credential}` };
}

function describe(
	methods: readonly MountedMethod[],
	outcomes: ReadonlyMap<MountedMethod, Caller | GatewayError | null>,
): NonNullable<Step['methods']> {
	const admit = admittingOf(methods);
	return methods.map((method) => {
		const base = { method: method.plugin.name, isRequired: method.isRequired };
		const outcome = outcomes.get(method);
		if (outcome === undefined) {
			const why = method.shut?.message ?? (admit.includes(method) ? 'One before it admitted.' : 'Only required methods admit here.');
			return { ...base, outcome: 'not_asked', message: why };
		}
		if (outcome === null) return { ...base, outcome: 'no_credential', message: 'It found no credential of its kind.' };
		if (outcome instanceof Error) return { ...base, outcome: 'refused', message: outcome.message };
		return { ...base, outcome: 'admitted', message: 'It admits the caller.' };
	});
}
