// Negotiates the version of the protocol (specification 1.0, section 3.6).

import type { Incoming } from '../../core/index.ts';
import { A2AError } from './errors.ts';
import { PROTOCOLS, type Protocol } from './wire.ts';

/**
 * Returns the version that a request names, by its header or, for clients that cannot set one, by its query; null when it names none. "Patch version
 * numbers MUST NOT be considered". @throws A2AError
 */
export function protocolOf({ headers, query }: Pick<Incoming, 'headers' | 'query'>): Protocol | null {
	const given = (headers['a2a-version'] ?? query.get('A2A-Version') ?? '').trim();
	if (given === '') return null;
	const protocol = PROTOCOLS.find((one) => given === one || given.startsWith(`${one}.`));
	if (protocol) return protocol;
	throw new A2AError(
		'VERSION_NOT_SUPPORTED',
		`The version "${given.slice(0, 32)}" is not spoken here, but ${PROTOCOLS.join(' and ')} are.`,
	);
}
