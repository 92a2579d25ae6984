// Finds a text in another in a time that grows with their lengths alone, whatever they are.

/**
 * V8 searches by a table of the last 250 characters of what it looks for. Of a longer one it compares the rest anew wherever those occur: in
 * texts that repeat themselves, `includes` takes the product of both lengths.
 */
const MAX_NATIVE_CHARS = 250;

/** Tells whether a text holds another, as `includes` does. */
export const holds = (text: string, sought: string): boolean =>
	sought.length <= MAX_NATIVE_CHARS ? text.includes(sought) : !placesOf(text, sought).next().done;

/** Writes `by` wherever a text holds another, as `replaceAll` does with a text that has no `$`. @param sought not empty */
export function replaceText(text: string, sought: string, by: string): string {
	if (!holds(text, sought)) return text;
	if (sought.length <= MAX_NATIVE_CHARS) return text.replaceAll(sought, () => by);
	const parts: string[] = [];
	let at = 0;
	for (const place of placesOf(text, sought)) {
		parts.push(text.slice(at, place));
		at = place + sought.length;
	}
	return [...parts, text.slice(at)].join(by);
}

/** Yields the places of a long text, without overlaps: by Knuth, Morris and Pratt, from where V8 finds its first 250 characters. */
function* placesOf(text: string, sought: string): Generator<number, undefined> {
	const begin = sought.slice(0, MAX_NATIVE_CHARS);
	let falls: Int32Array | null = null;
	let matched = 0;
	for (let at = 0; at < text.length; ) {
		if (matched === 0) {
			at = text.indexOf(begin, at);
			if (at < 0) return;
			falls ??= fallsOf(sought);
			matched = begin.length;
			at += matched;
		} else {
			matched = after(sought, falls ?? fallsOf(sought), matched, text.charCodeAt(at++));
		}
		if (matched < sought.length) continue;
		yield at - matched;
		matched = 0;
	}
}

/** Returns how many first characters are matched after one more. */
function after(sought: string, falls: Int32Array, matched: number, code: number): number {
	let length = matched;
	while (length > 0 && sought.charCodeAt(length) !== code) length = falls[length - 1] ?? 0;
	return sought.charCodeAt(length) === code ? length + 1 : 0;
}

/** Returns, for each beginning of a text, the length of the longest shorter one with which it ends. */
function fallsOf(sought: string): Int32Array {
	const falls = new Int32Array(sought.length);
	for (let at = 1; at < sought.length; at++) falls[at] = after(sought, falls, falls[at - 1] ?? 0, sought.charCodeAt(at));
	return falls;
}
