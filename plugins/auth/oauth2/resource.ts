// Checks the resource that a token is for (RFC 8707): the gateway, or other address, whose server issues it, and nothing else.

import type { Incoming } from '../../../core/index.ts';
import { OAuthFault } from './faults.ts';
import type { Parameters } from './parameters.ts';

/** Checks the resource. A client that names none means the address whose server it uses. @throws invalid_target */
export function assertResource(parameters: Parameters, { base }: Pick<Incoming, 'base'>): void {
	const own = split(base);
	const spellings = spellingsOf(own.rest);
	const isOwn = (resource: string): boolean => {
		const { origin, rest } = split(resource);
		return origin !== null && origin === own.origin && spellings.includes(rest);
	};
	if (!parameters.all('resource').every(isOwn)) throw new OAuthFault('invalid_target', `resource must be ${base}`);
}

/** The path of a gateway. */
const GATEWAY = /^\/[^/]+\/[^/]+$/;

/** Returns the spellings of the path: a gateway's may begin with `@`, and each may end with a slash. */
function spellingsOf(path: string): string[] {
	const named = GATEWAY.test(path) ? [path, `/@${path.slice(1)}`] : [path];
	return named.flatMap((one) => [one, `${one}/`]);
}

/** Scheme and authority of a URL, without user name and without what parsers remove or read as the end of the authority. */
const ORIGIN = /^https?:\/\/[^/?#\\@\s]+/i;

/**
 * Splits a URL. Scheme and host are the same in capitals and in small letters, and with the scheme's usual port and without (RFC 3986
 * §6.2.2.1, §6.2.3); the rest is compared as written. `origin` is null for a text that is no URL.
 */
function split(url: string): { origin: string | null; rest: string } {
	const [written = ''] = ORIGIN.exec(url) ?? [];
	return { origin: URL.canParse(written) ? new URL(written).origin : null, rest: url.slice(written.length) };
}
