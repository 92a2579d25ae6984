// What a document says in words reaches people and models: without characters that hide or steer, and bounded.

/** Control and formatting characters: ANSI, bidirectional overrides, zero-width, tags, variation selectors. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** @returns the text in at most `maxChars` UTF-16 units, with `…` where it was cut */
export function cleanText(text: string, maxChars: number): string {
	// Cut before cleaning too: the pattern need not run over megabytes of which a kilobyte stays.
	const clean = text
		.slice(0, maxChars * 4)
		.replace(/\r\n?/g, '\n')
		.replace(HIDDEN, '')
		.trim();
	if (clean.length <= maxChars) return clean;
	return `${clean.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** A string out of the document inside one of our own sentences. */
export const quote = (text: string): string => `“${cleanText(text, 120)}”`;
