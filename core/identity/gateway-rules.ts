// Which methods of a gateway admit, and from where and with what its rules let a request in.

import { GatewayError } from '../contract/errors.ts';
import type { Incoming } from '../contract/nouns.ts';
import { inRanges } from '../http/addresses.ts';
import type { ValidationRules } from '../store/store.ts';

/** The required ones if there are any, else all. */
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

/** With a value: Node joins what is sent twice with a comma. `constructor` is a name that any object answers to. */
const isPresent = (headers: Incoming['headers'], name: string): boolean =>
	Object.hasOwn(headers, name) && /[^\s,]/.test(headers[name] ?? '');
