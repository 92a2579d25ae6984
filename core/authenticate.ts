// The gate of a gateway (specification 5.2): its admitting methods in order, their validation rules, the answer to failure.

import { inRanges } from './addresses.ts';
import type { AuthMethod, Caller, Context, Gateway, Incoming, JsonObject } from './contracts.ts';
import { asGatewayError, GatewayError } from './errors.ts';
import type { ValidationRules } from './store.ts';

/** A configured use of a method: its row, with the config opened and checked. */
export interface MountedMethod {
	plugin: AuthMethod;
	isRequired: boolean;
	config: JsonObject;
	rules: ValidationRules;
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
	const required = methods.filter(({ isRequired }) => isRequired);
	const admitting = required.length > 0 ? required : methods;
	// Made only when it is needed: an error records its stack, and most callers are let in.
	let last: GatewayError | null = null;
	let wasBad = false;
	for (const method of admitting) {
		try {
			checkRules(request, method.rules);
			const caller = await method.plugin.authenticate(request, method.config, contextOf(method));
			if (caller) return caller.method === method.plugin.name ? caller : { ...caller, method: method.plugin.name };
			last = new GatewayError('unauthorized', 'A credential is required.');
		} catch (thrown) {
			last = refusal(thrown);
			wasBad ||= last.code === 'unauthorized';
		}
	}
	if (wasBad) await onBadCredential();
	const error = last ?? new GatewayError('unauthorized', 'This gateway has no authentication configured, so it admits nobody.');
	throw withChallenges(error, challenges(gateway, admitting));
}

/** Only a refusal lets the next method try; anything else (the database is away, a bug) ends the request. */
function refusal(thrown: unknown): GatewayError {
	const error = asGatewayError(thrown);
	if (error && (error.code === 'unauthorized' || error.code === 'forbidden')) return error;
	throw thrown;
}

function checkRules(request: Incoming, rules: ValidationRules): void {
	if (rules.allowedIpRanges && !inRanges(request.address, rules.allowedIpRanges)) {
		throw new GatewayError('forbidden', 'This address may not use this gateway.');
	}
	for (const name of rules.requiredHeaders ?? []) {
		if (!request.headers[name.toLowerCase()]) throw new GatewayError('forbidden', `The header ${name} is required.`);
	}
}

/** Bearer first: MCP's TypeScript SDK 1.32 reads only the first challenge. */
function challenges(gateway: Gateway, methods: readonly MountedMethod[]): string {
	const texts = methods.map(({ plugin, config }) => plugin.challenge?.(gateway, config)).filter((text): text is string => Boolean(text));
	const sorted = [...new Set(texts)].sort((a, b) => Number(b.startsWith('Bearer')) - Number(a.startsWith('Bearer')));
	return sorted.join(', ') || 'Bearer';
}

/** RFC 9110 §15.5.2: a 401 "MUST send a WWW-Authenticate header field". */
function withChallenges(error: GatewayError, header: string): GatewayError {
	if (error.code !== 'unauthorized') return error;
	return new GatewayError('unauthorized', error.message, { cause: error.cause, headers: { ...error.headers, 'www-authenticate': header } });
}
