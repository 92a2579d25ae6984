// Negotiates the version of the protocol (specification 1.0, section 3.6).

import type { Incoming } from '../../core/index.ts';
import { A2AError } from './errors.ts';
import { PROTOCOLS, type Protocol } from './wire.ts';

type Request = Pick<Incoming, 'headers' | 'query'>;

const named = ({ headers, query }: Request): string => (headers['a2a-version'] ?? query.get('A2A-Version') ?? '').trim();

const spoken = (given: string): Protocol | null => PROTOCOLS.find((one) => given === one || given.startsWith(`${one}.`)) ?? null;

/** Returns the version in which a client reads the card: it is there to tell clients of any other version which ones are spoken. */
export const cardVersionOf = (request: Request): Protocol => spoken(named(request)) ?? '0.3';

/**
 * Returns the version that a request names, by its header or, for clients that cannot set one, by its query; null when it names none. "Patch version
 * numbers MUST NOT be considered". @throws A2AError
 */
export function protocolOf(request: Request): Protocol | null {
	const given = named(request);
	if (given === '') return null;
	const protocol = spoken(given);
	if (protocol) return protocol;
	throw new A2AError(
		'VERSION_NOT_SUPPORTED',
		`The version "${given.slice(0, 32)}" is not spoken here, but ${PROTOCOLS.join(' and ')} are.`,
	);
}
