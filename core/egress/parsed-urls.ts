// URLs that were parsed before: a call parses the URL of its request in several layers, and calls of a tool often have the same one. The objects
// are shared, so nobody may change them.

import { BoundedMap } from '../kit/bounded-map.ts';

/** URLs kept, and the longest text of one. */
const KEPT = 1000;
const MAX_CHARS = 1024;

const known = new BoundedMap<string, URL | null>(KEPT);

/** Returns the URL of a text; null when it is none. */
export function knownUrl(text: string): Readonly<URL> | null {
	const found = known.get(text);
	if (found !== undefined) return found;
	const url = URL.parse(text);
	if (text.length <= MAX_CHARS) known.set(text, url);
	return url;
}

export interface UrlParts {
	href: string;
	origin: string;
	host: string;
	/** Path and query. */
	target: string;
}

const parts = new WeakMap<Readonly<URL>, UrlParts>();

/** Returns the parts of a URL, which its own getters write anew each time. */
export function urlParts(url: Readonly<URL>): UrlParts {
	const found = parts.get(url);
	if (found) return found;
	const { href, origin, host, pathname, search } = url;
	const made = { href, origin, host, target: pathname + search };
	parts.set(url, made);
	return made;
}
