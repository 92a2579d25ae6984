// Checks the resource that a token is for (RFC 8707): the gateway, or other address, whose server issues it, and nothing else.

import type { Incoming } from '../../../core/index.ts';
import { OAuthFault } from './faults.ts';
import type { Parameters } from './parameters.ts';

/** Checks the resource. A client that names none means the address whose server it uses. @throws invalid_target */
export function assertResource(parameters: Parameters, { base }: Pick<Incoming, 'base'>): void {
	const foreign = parameters.all('resource').find((resource) => resource !== base && resource !== `${base}/`);
	if (foreign !== undefined) throw new OAuthFault('invalid_target', `resource must be ${base}`);
}
