// The text of an HTML page, roughly: for excerpts of error pages, whose first kilobytes are often style.

/** Elements whose content a browser does not show as text. */
const UNSEEN = ['script', 'style', 'svg', 'template', 'noscript'];
/** Elements at which a browser starts a new line. */
const BREAKS = /^\/?(?:p|div|br|h[1-6]|li|ul|ol|tr|table|title|head|body|section|article|header|footer|pre|hr|center|form)\b/i;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', amp: '&' };

/** Removes tags, comments and hidden content, in one pass from left to right, so that no page takes long. */
export function textOfHtml(html: string): string {
	const pieces: string[] = [];
	for (let at = 0; at < html.length; ) {
		const open = html.indexOf('<', at);
		const isLast = open < 0;
		pieces.push(html.slice(at, isLast ? html.length : open));
		if (isLast) break;
		const { end, text } = readTag(html, open);
		pieces.push(text);
		at = end;
	}
	return decodeEntities(pieces.join(''))
		.split('\n')
		.map((line) => line.replace(/[ \t\r\f]+/g, ' ').trim())
		.filter((line) => line !== '')
		.join('\n');
}

/** Returns the end of the tag and the text that replaces it. */
function readTag(html: string, open: number): { end: number; text: string } {
	if (html.startsWith('<!--', open)) return { end: behind(html, '-->', open + 4), text: '' };
	const tag = /^<(\/?[a-z!][^\s/>]*)/i.exec(html.slice(open, open + 32))?.[1]?.toLowerCase();
	// The `<` does not start a tag, so it is text.
	if (tag === undefined) return { end: open + 1, text: '<' };
	const end = behind(html, '>', open);
	if (!UNSEEN.includes(tag)) return { end, text: BREAKS.test(tag) ? '\n' : '' };
	return { end: behind(html, '>', behindName(html, `</${tag}`, end)), text: '' };
}

function behind(html: string, mark: string, from: number): number {
	const at = html.indexOf(mark, from);
	return at < 0 ? html.length : at + mark.length;
}

/** Finds a closing tag, ignoring case; an unclosed element extends to the end of the page. */
function behindName(html: string, mark: string, from: number): number {
	for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2))
		if (html.slice(at, at + mark.length).toLowerCase() === mark) return at;
	return html.length;
}

const decodeEntities = (text: string): string =>
	text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
		if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
		const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
		return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
	});
