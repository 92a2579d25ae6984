// The gate of a gateway (specification 5.2): its admitting methods in order, their validation rules, and the answer to failure.

import type { GateContext } from '../contract/admission.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { AuthMethod, ChallengeFault } from '../contract/kinds.ts';
import type { Caller, Gateway, Incoming, JsonObject, Scope, ServedAt } from '../contract/nouns.ts';
import { admittingOf, checkRules } from '../identity/gateway-rules.ts';
import { answerOf, resultOf } from '../process/hooks.ts';
import type { ValidationRules } from '../store/store.ts';
import { checkCaller, checkChallenge, checkTakes, type GivenCaller } from './check-caller.ts';

/** A configured use of a method: its row, with the config opened and checked. */
export interface MountedMethod {
	plugin: AuthMethod;
	isRequired: boolean;
	config: JsonObject;
	rules: ValidationRules;
	/** Tells the callers that it names apart from those of an earlier row of the same method, whose issuer may be another. Absent: there is none. */
	realm?: string;
	/** Returns the config without its secrets. */
	shownConfig?(): JsonObject;
	/** The reason why it admits nobody: a secret of its config cannot be read, and without it the method might admit anybody. */
	shut?: GatewayError;
}

/** An admitted caller, the gateway, and its methods. */
interface Admitted {
	gateway: ServedAt;
	caller: Caller;
	methods: readonly MountedMethod[];
}

export interface AuthenticationHooks {
	contextOf(method: MountedMethod): GateContext;
	/** Callers that core's own identity gave in this request. */
	given: GivenCaller;
	/** Called before the refusal of a bad credential. @throws rate_limited, instead of the refusal */
	onBadCredential(): Promise<void>;
	/** Learns of each method that was asked: its caller, its refusal, or null for no credential. */
	onAsked?(method: MountedMethod, outcome: Caller | GatewayError | null): void;
}

/**
 * Authenticates a request by the required methods if there are any, else by all; the first success wins, else the last error counts.
 * Returns the caller with the method that admits it.
 * Without methods it is refused. @throws unauthorized, with one challenge per method; forbidden
 */
export async function authenticate(
	request: Incoming,
	gateway: Gateway,
	methods: readonly MountedMethod[],
	{ contextOf, given, onBadCredential, onAsked }: AuthenticationHooks,
): Promise<{ caller: Caller; by: MountedMethod }> {
	const admitting = admittingOf(methods);
	// Created only when needed: an error records its stack, and most callers are admitted.
	let last: GatewayError | null = null;
	/** The last refusal of a credential, which tells more than that a later method has found none: both are a 401. */
	let refused: GatewayError | null = null;
	const bad: MountedMethod[] = [];
	const empty: MountedMethod[] = [];
	const open = admitting.filter(({ shut }) => !shut);
	for (const method of open) {
		try {
			checkRules(request, method.rules);
			const caller = checkCaller(method.plugin.name, await ask(method, request, contextOf(method)), given, method.realm);
			onAsked?.(method, caller);
			if (caller) return { caller, by: method };
			last = null;
			empty.push(method);
		} catch (thrown) {
			last = refusal(thrown);
			onAsked?.(method, last);
			if (last.code !== 'unauthorized') continue;
			refused = last;
			bad.push(method);
		}
	}
	if (bad.length > 0) await onBadCredential();
	const shut = open.length === 0 ? admitting[0]?.shut : undefined;
	const error = last ?? refused ?? shut ?? new GatewayError('unauthorized', askFor(empty));
	throw withChallenges(error, challenges({ ...gateway, target: request.target }, open, bad));
}

/** @throws PluginFault when the method gives no answer in time, or fails by an error that nobody foresaw */
export const ask = ({ plugin, config }: MountedMethod, request: Incoming, context: GateContext): Promise<unknown> =>
	answerOf({ plugin: `auth:${plugin.name}`, hook: 'authenticate' }, () => plugin.authenticate(request, config, context));

/** Asks for the credentials that the methods name. @param methods that found no credential; none for a gateway without any */
function askFor(methods: readonly MountedMethod[]): string {
	if (methods.length === 0) return 'This gateway has no authentication configured, so it admits nobody.';
	const taken = methods.map(takenBy).filter((text) => text !== undefined);
	return taken.length > 0 ? `Send ${[...new Set(taken)].join(', or ')}.` : 'A credential is required.';
}

const takenBy = ({ plugin, config }: MountedMethod): string | undefined =>
	checkTakes(
		plugin.name,
		resultOf({ plugin: `auth:${plugin.name}`, hook: 'takes' }, () => plugin.takes?.(config)),
	);

/** Returns a refusal, which lets the next method try; rethrows anything else (a database outage, a bug), which ends the request. */
export function refusal(thrown: unknown): GatewayError {
	const error = asGatewayError(thrown);
	if (error && (error.code === 'unauthorized' || error.code === 'forbidden')) return error;
	throw thrown;
}

/** Joins the challenges, equal ones once; one that reports a bad credential replaces one that only asks. */
export function challenges(gateway: ServedAt, methods: readonly MountedMethod[], bad: readonly MountedMethod[]): string {
	const texts = new Map<string, string>();
	for (const method of methods) {
		const plain = challengeOf(method, gateway, null);
		if (!plain || (texts.has(plain) && !bad.includes(method))) continue;
		texts.set(plain, bad.includes(method) ? challengeOf(method, gateway, { error: 'invalid_token' }) || plain : plain);
	}
	return [...texts.values()].sort((a, b) => rank(a) - rank(b)).join(', ') || 'Bearer';
}

export const challengeOf = ({ plugin, config }: MountedMethod, gateway: ServedAt, fault: ChallengeFault | null): string =>
	checkChallenge(
		plugin.name,
		resultOf({ plugin: `auth:${plugin.name}`, hook: 'challenge' }, () => plugin.challenge?.(gateway, config, fault)),
	);

/** MCP's TypeScript SDK 1.32 reads only the first challenge, and looks in it for the OAuth metadata (decisions, 26). */
function rank(challenge: string): number {
	if (!isBearer(challenge)) return 2;
	return challenge.includes('resource_metadata=') ? 0 : 1;
}

const isBearer = (challenge: string): boolean => /^bearer\b/i.test(challenge);

/** Returns the challenge of the admitting method for a missing scope (RFC 6750 §3.1); null when it takes no Bearer tokens. */
export function scopeChallenge(missing: Scope, { gateway, caller, methods }: Admitted): string | null {
	const method = methods.find(({ plugin }) => plugin.name === caller.method);
	const scopes = [...new Set([...caller.scopes, missing])];
	const challenge = method && challengeOf(method, gateway, { error: 'insufficient_scope', scopes });
	return challenge && isBearer(challenge) ? challenge : null;
}

/** Adds the challenges of all methods to a 401, that of one with the fault of a bad credential. */
export const withChallengeOf = (
	error: GatewayError,
	gateway: Gateway,
	methods: readonly MountedMethod[],
	bad: MountedMethod,
): GatewayError =>
	withChallenges(
		error,
		challenges(
			gateway,
			admittingOf(methods).filter(({ shut }) => !shut),
			[bad],
		),
	);

/** RFC 9110 §15.5.2: a 401 "MUST send a WWW-Authenticate header field". */
export function withChallenges(error: GatewayError, header: string): GatewayError {
	if (error.code !== 'unauthorized') return error;
	return new GatewayError('unauthorized', error.message, { cause: error.cause, headers: { ...error.headers, 'www-authenticate': header } });
}
