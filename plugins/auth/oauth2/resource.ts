// Checks the resource that a token is for (RFC 8707): this gateway, and nothing else.

import type { Call } from '../../../core/index.ts';
import { OAuthFault } from './faults.ts';
import { gatewayUrl } from './metadata.ts';
import type { Parameters } from './parameters.ts';

/** Checks the resource. A client that names none means the gateway whose server it uses. @throws invalid_target */
export function assertResource(parameters: Parameters, call: Pick<Call, 'gateway'>): void {
	const own = gatewayUrl(call);
	const foreign = parameters.all('resource').find((resource) => resource !== own && resource !== `${own}/`);
	if (foreign !== undefined) throw new OAuthFault('invalid_target', `resource must be ${own}`);
}
