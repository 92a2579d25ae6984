// Hides what patterns find in a JSON text. A search for all matches takes the square of a text's length at worst, so this runs in a thread.

import { BoundedMap } from '../kit/bounded-map.ts';
import { LinearRegExp } from './linear-regexp.ts';

export const REDACTED = '[redacted]';
/** Texts and numbers: what stands between them has no data. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
/** A pattern that also matches nothing writes into each gap of a text, and the next one into each gap of that. */
const MAX_CHARS = 1024 * 1024;
/** Compiled patterns that are kept, with up to 60 kB each. */
const KNOWN = 200;

const known = new BoundedMap<string, LinearRegExp>(KNOWN);

/**
 * Returns a JSON text, which may be cut between two values, with `[redacted]` for each match in its texts, names and numbers. It ends once it has more
 * than `maxChars`. @throws Error when a text becomes too long
 */
export function hideMatches(json: string, patterns: readonly string[], maxChars: number): string {
	const compiled = patterns.map(compile);
	let [shown, at] = ['', 0];
	for (const { 0: token, index } of json.matchAll(TOKEN)) {
		if (shown.length > maxChars) return shown;
		shown += json.slice(at, index) + hideInToken(token, compiled);
		at = index + token.length;
	}
	return shown + json.slice(at);
}

function hideInToken(token: string, patterns: readonly LinearRegExp[]): string {
	const text = token.startsWith('"') ? (JSON.parse(token) as string) : token;
	const shown = patterns.reduce(hide, text);
	return shown === text ? token : JSON.stringify(shown);
}

function hide(text: string, pattern: LinearRegExp): string {
	const shown = pattern.replaceAll(text, REDACTED);
	if (shown.length > MAX_CHARS) throw new Error(`The patterns make a text of more than ${MAX_CHARS} characters.`);
	return shown;
}

function compile(pattern: string): LinearRegExp {
	const found = known.get(pattern);
	if (found) return found;
	const made = new LinearRegExp(pattern);
	known.set(pattern, made);
	return made;
}
