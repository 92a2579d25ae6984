// The place of a request among gateways by its path. A gateway has several spellings: `/{org}/{gateway}` and `/@{org}/{gateway}`, with or
// without the suffix of its transport, and the forms of RFC 8414 §3.1. Routing, limits and CORS all tell them from other paths here.

export interface GatewayPath {
	organization: string;
	/** The segment of the gateway without a suffix. */
	endpoint: string;
	/** From the first dot of that segment, such as `.git`; mostly empty. */
	suffix: string;
	/** The raw path inside the gateway, `/` at its root; a trailing slash makes no difference. */
	path: string;
}

const WELL_KNOWN = '/.well-known/';

/** Returns the place of a path; null when it cannot be a gateway's. @param path normalized by hapi: no encoded character that needs no encoding */
export function placeOf(path: string): GatewayPath | null {
	const start = organizationStart(path);
	const end = organizationEnd(path, start);
	if (end === -1) return null;
	const next = path.indexOf('/', end + 1);
	const segment = next === -1 ? path.slice(end + 1) : path.slice(end + 1, next);
	const dot = segment.indexOf('.');
	return {
		organization: path.slice(start, end),
		endpoint: dot === -1 ? segment : segment.slice(0, dot),
		suffix: dot === -1 ? '' : segment.slice(dot),
		path: path.startsWith(WELL_KNOWN) ? path.slice(0, path.indexOf('/', WELL_KNOWN.length)) : withoutSlashes(path, next),
	};
}

/** Whether hapi's routes of gateways have a path of a gateway: no segment up to the one of the gateway is empty. */
export function isOfDoor(path: string): boolean {
	if (path.startsWith(`${WELL_KNOWN}/`)) return false;
	const end = organizationEnd(path, organizationStart(path));
	return end !== -1 && end + 1 < path.length && path[end + 1] !== '/';
}

/** Returns only the organization of a path's place: it runs several times for each request. */
export function organizationIn(path: string): string | null {
	const start = organizationStart(path);
	const end = organizationEnd(path, start);
	return end === -1 ? null : path.slice(start, end);
}

/** Returns where the name of the organization begins, behind an `@`; -1 if nowhere. */
function organizationStart(path: string): number {
	const at = path.startsWith(WELL_KNOWN) ? path.indexOf('/', WELL_KNOWN.length) + 1 : 1;
	if (at === 0) return -1;
	return path[at] === '@' ? at + 1 : at;
}

/** Returns where the name of the organization ends, with a segment after it; of a well-known path, with exactly one. */
function organizationEnd(path: string, start: number): number {
	const end = start === -1 ? -1 : path.indexOf('/', start);
	if (end <= start) return -1;
	if (!path.startsWith(WELL_KNOWN)) return end;
	return end + 1 < path.length && !path.includes('/', end + 1) ? end : -1;
}

function withoutSlashes(path: string, start: number): string {
	const inner = start === -1 ? '/' : path.slice(start);
	return inner.length > 1 ? withoutLastSlashes(inner) || '/' : inner;
}

/** Removes slashes at the end. An expression would look at a path of nothing but slashes again from each of them. */
export function withoutLastSlashes(path: string): string {
	let end = path.length;
	while (path[end - 1] === '/') end--;
	return end === path.length ? path : path.slice(0, end);
}
