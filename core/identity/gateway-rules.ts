// Selects the methods of a gateway that admit, and checks the rules that requests must satisfy.

import { GatewayError } from '../contract/errors.ts';
import type { Incoming } from '../contract/nouns.ts';
import { inRanges } from '../kit/ip-addresses.ts';
import type { ValidationRules } from '../store/store.ts';

/** Returns the required methods if there are any, else all. */
export function admittingOf<M extends { isRequired: boolean }>(methods: readonly M[]): readonly M[] {
	const required = methods.filter(({ isRequired }) => isRequired);
	return required.length > 0 ? required : methods;
}

/** @throws forbidden */
export function checkRules(request: Pick<Incoming, 'address' | 'headers'>, rules: ValidationRules): void {
	if (rules.allowedIpRanges && !inRanges(request.address, rules.allowedIpRanges)) {
		throw new GatewayError('forbidden', 'This address may not use this gateway.');
	}
	for (const name of rules.requiredHeaders ?? []) {
		if (!isPresent(request.headers, name.toLowerCase())) throw new GatewayError('forbidden', `The header ${name} is required.`);
	}
}

/**
 * Tells whether a header has a value: Node joins repeated ones with a comma. An own property only, since every object inherits names such
 * as `constructor`.
 */
const isPresent = (headers: Incoming['headers'], name: string): boolean =>
	Object.hasOwn(headers, name) && /[^\s,]/.test(headers[name] ?? '');
