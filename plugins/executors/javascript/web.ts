// URLs and base64 by Node, for the web APIs of the sandbox. Each function takes texts and returns JSON text, or undefined on failure.

const PARTS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'] as const;
type Part = (typeof PARTS)[number];

const isPart = (name: unknown): name is Exclude<Part, 'origin'> => name !== 'origin' && (PARTS as readonly unknown[]).includes(name);

/** Parses a URL, and sets one part of it if `part` is given. @param texts `[url, base, part, value]` */
export function changedUrl(texts: unknown): string | undefined {
	if (!Array.isArray(texts) || typeof texts[0] !== 'string') return undefined;
	const [input, base, part, value] = texts as unknown[];
	const url = URL.parse(input as string, typeof base === 'string' ? base : undefined);
	if (!url) return undefined;
	if (isPart(part)) setPart(url, part, String(value));
	return JSON.stringify(Object.fromEntries(PARTS.map((name) => [name, url[name]])));
}

/** Sets a part; an invalid value leaves the URL unchanged, as in the URL Standard. */
function setPart(url: URL, part: Exclude<Part, 'origin'>, value: string): void {
	if (part === 'href' && !URL.canParse(value)) return;
	url[part] = value;
}

export function toBase64(text: string): string | undefined {
	try {
		return JSON.stringify(btoa(text));
	} catch {
		// The text has characters above U+00FF.
		return undefined;
	}
}

export function fromBase64(text: string): string | undefined {
	try {
		return JSON.stringify(atob(text));
	} catch {
		// The text is not base64.
		return undefined;
	}
}
