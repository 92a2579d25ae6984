// Cleans text of documents that people and models read: no characters that hide or redirect text, and a bounded length.

/** Control and formatting characters: ANSI, bidirectional overrides, zero-width, tags, variation selectors. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** @returns the text in at most `maxChars` UTF-16 units, with `…` where it was cut */
export function cleanText(text: string, maxChars: number): string {
	// The text is cut before cleaning too: the pattern need not run over megabytes of which a kilobyte is kept.
	const clean = text
		.slice(0, maxChars * 4)
		.replace(/\r\n?/g, '\n')
		.replace(HIDDEN, '')
		.trim();
	if (clean.length <= maxChars) return clean;
	return `${clean.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Writes a whole number as English does, with commas: 1,000. (The formatter of `Intl` takes 30 ms to load.) */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** Quotes a string of a document for one of our own sentences. */
export const quote = (text: string): string => `“${cleanText(text, 120)}”`;
