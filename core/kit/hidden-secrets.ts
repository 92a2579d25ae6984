// Hides credentials that an upstream repeats in its answer, as debug pages and echo services do: they are found in what signing added to
// the request.

import type { OutboundRequest } from '../contract/outbound.ts';
import { replaceText } from './search/text-search.ts';

/** Shorter secrets occur in ordinary text too often. */
const MIN_SECRET_CHARS = 6;
export const HIDDEN = '[hidden]';

/**
 * Returns the secrets that `signed` carries and `request` does not, in each spelling in which an answer may contain them.
 * @param written names of headers into which the config itself writes a secret
 */
export function secretsAdded(request: OutboundRequest, signed: OutboundRequest, written: readonly string[] = []): string[] {
	if (signed === request && written.length === 0) return [];
	const before = new Map(Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
	for (const name of written) before.delete(name.toLowerCase());
	const found = Object.entries(signed.headers ?? {}).flatMap(([name, value]) => {
		const was = before.get(name.toLowerCase());
		return was === value ? [] : secretsOf(name.toLowerCase(), value, was ?? '');
	});
	const spellings = [...found, ...queryAdded(request.url, signed.url)].flatMap(spellingsOf);
	// Longest first, since one may be part of another.
	return [...new Set(spellings)].filter((text) => text.length >= MIN_SECRET_CHARS).toSorted((a, b) => b.length - a.length);
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
	return secrets.reduce((rest, secret) => replaceText(rest, secret, HIDDEN), text);
}

function secretsOf(name: string, value: string, was: string): string[] {
	if (name === 'cookie') {
		const known = was.split(/;\s*/);
		return value
			.split(/;\s*/)
			.filter((pair) => !known.includes(pair))
			.map((pair) => pair.slice(pair.indexOf('=') + 1));
	}
	if (name !== 'authorization') return [value];
	const [scheme = '', ...rest] = value.split(' ');
	const credential = rest.join(' ');
	if (credential === '') return [value];
	return scheme.toLowerCase() === 'basic' ? [credential, ...basicParts(credential)] : [credential];
}

/** RFC 7617 §2: user name, colon, password. */
function basicParts(credential: string): string[] {
	const decoded = Buffer.from(credential, 'base64').toString('utf8');
	return [decoded, decoded.slice(decoded.indexOf(':') + 1)];
}

function queryAdded(before: string, after: string): string[] {
	if (before === after || !URL.canParse(before) || !URL.canParse(after)) return [];
	const known = new URL(before).search.slice(1).split('&');
	const added = new URL(after).search.slice(1).split('&');
	const values = added.filter((piece) => !known.includes(piece)).map((piece) => piece.slice(piece.indexOf('=') + 1));
	return values.flatMap((value) => [value, new URLSearchParams(`v=${value}`).get('v') ?? value]);
}

/** Returns a secret's spellings: plain, in JSON, in a URL, and in HTML. */
const spellingsOf = (secret: string): string[] => [
	secret,
	JSON.stringify(secret).slice(1, -1),
	encodeURIComponent(secret.toWellFormed()),
	secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
];
