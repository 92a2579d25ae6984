// The address of a gateway as a request writes it: it has several spellings.

const WELL_KNOWN = '/.well-known/';

/** Path of a target, which may be a whole URL (RFC 9112 §3.2.2). */
const TARGET = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i;

/**
 * Returns an address as the target of a request writes it, also behind the name of a well-known document: `/{org}/{gateway}` or `/@{org}/{gateway}`, each
 * with a slash at its end or without. @param base the usual spelling
 */
export function writtenAddress(target: string, base: string): string {
	const [, path = ''] = TARGET.exec(target) ?? [];
	if (!path.includes('/@') && !path.endsWith('/')) return base;
	const { origin, pathname } = new URL(base);
	const start = path.startsWith(WELL_KNOWN) ? path.indexOf('/', WELL_KNOWN.length) : 0;
	const written = start === -1 ? '' : path.slice(start);
	const own = written.startsWith('/@') ? `/@${pathname.slice(1)}` : pathname;
	return origin + (written === `${own}/` ? written : own);
}
