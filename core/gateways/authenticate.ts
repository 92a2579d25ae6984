// The gate of a gateway (specification 5.2): its admitting methods in order, their validation rules, the answer to failure.

import type { Context } from '../contract/context.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { AuthMethod } from '../contract/kinds.ts';
import type { Caller, Gateway, Incoming, JsonObject, Scope } from '../contract/nouns.ts';
import { admittingOf, checkRules } from '../identity/gateway-rules.ts';
import type { ValidationRules } from '../store/store.ts';

/** A configured use of a method: its row, with the config opened and checked. */
export interface MountedMethod {
	plugin: AuthMethod;
	isRequired: boolean;
	config: JsonObject;
	rules: ValidationRules;
	/** Why it admits nobody: a secret of its config cannot be read, and without that it might admit anybody. */
	shut?: GatewayError;
}

/** Who was let in where, and by what. */
interface Admitted {
	gateway: Gateway;
	caller: Caller;
	methods: readonly MountedMethod[];
}

interface Surroundings {
	contextOf(method: MountedMethod): Context;
	/** Before the refusal, when a credential was there and was not good. @throws rate_limited, in place of it */
	onBadCredential(): Promise<void>;
}

/**
 * The required methods if there are any, else all; the first success wins, else the last error counts. No method at all
 * rejects. @throws unauthorized, with one challenge per method; forbidden
 */
export async function authenticate(
	request: Incoming,
	gateway: Gateway,
	methods: readonly MountedMethod[],
	{ contextOf, onBadCredential }: Surroundings,
): Promise<Caller> {
	const admitting = admittingOf(methods);
	// Made only when it is needed: an error records its stack, and most callers are let in.
	let last: GatewayError | null = null;
	const bad: MountedMethod[] = [];
	const empty: MountedMethod[] = [];
	const open = admitting.filter(({ shut }) => !shut);
	for (const method of open) {
		try {
			checkRules(request, method.rules);
			const caller = await method.plugin.authenticate(request, method.config, contextOf(method));
			if (caller) return caller.method === method.plugin.name ? caller : { ...caller, method: method.plugin.name };
			last = null;
			empty.push(method);
		} catch (thrown) {
			last = refusal(thrown);
			if (last.code === 'unauthorized') bad.push(method);
		}
	}
	if (bad.length > 0) await onBadCredential();
	const shut = open.length === 0 ? admitting[0]?.shut : undefined;
	const error = last ?? shut ?? new GatewayError('unauthorized', askFor(empty));
	throw withChallenges(error, challenges(gateway, open, bad));
}

/** Names what each method takes, as far as they say it. @param methods that found no credential; of a gateway without any, none */
function askFor(methods: readonly MountedMethod[]): string {
	if (methods.length === 0) return 'This gateway has no authentication configured, so it admits nobody.';
	const taken = methods.map(({ plugin, config }) => plugin.takes?.(config)).filter((text) => text !== undefined);
	return taken.length > 0 ? `Send ${[...new Set(taken)].join(', or ')}.` : 'A credential is required.';
}

/** Only a refusal lets the next method try; anything else (the database is away, a bug) ends the request. */
function refusal(thrown: unknown): GatewayError {
	const error = asGatewayError(thrown);
	if (error && (error.code === 'unauthorized' || error.code === 'forbidden')) return error;
	throw thrown;
}

/** One of each, though methods may ask alike; what says that a credential was bad stands for what only asks for one. */
function challenges(gateway: Gateway, methods: readonly MountedMethod[], bad: readonly MountedMethod[]): string {
	const texts = new Map<string, string>();
	for (const method of methods) {
		const { plugin, config } = method;
		const plain = plugin.challenge?.(gateway, config, null);
		if (!plain || (texts.has(plain) && !bad.includes(method))) continue;
		texts.set(plain, bad.includes(method) ? (plugin.challenge?.(gateway, config, { error: 'invalid_token' }) ?? plain) : plain);
	}
	return [...texts.values()].sort((a, b) => rank(a) - rank(b)).join(', ') || 'Bearer';
}

/** MCP's TypeScript SDK 1.32 reads only the first challenge, and looks in it for where to begin OAuth (decisions, 26). */
function rank(challenge: string): number {
	if (!isBearer(challenge)) return 2;
	return challenge.includes('resource_metadata=') ? 0 : 1;
}

const isBearer = (challenge: string): boolean => /^bearer\b/i.test(challenge);

/** How the method that admitted the caller asks for one scope more (RFC 6750 §3.1); null when it takes no Bearer tokens. */
export function scopeChallenge(missing: Scope, { gateway, caller, methods }: Admitted): string | null {
	const method = methods.find(({ plugin }) => plugin.name === caller.method);
	const scopes = [...new Set([...caller.scopes, missing])];
	const challenge = method?.plugin.challenge?.(gateway, method.config, { error: 'insufficient_scope', scopes });
	return challenge && isBearer(challenge) ? challenge : null;
}

/** RFC 9110 §15.5.2: a 401 "MUST send a WWW-Authenticate header field". */
function withChallenges(error: GatewayError, header: string): GatewayError {
	if (error.code !== 'unauthorized') return error;
	return new GatewayError('unauthorized', error.message, { cause: error.cause, headers: { ...error.headers, 'www-authenticate': header } });
}
