// What the sandbox has Node do for the web's names: URLs and base64. JSON texts in, JSON text out, nothing when it cannot be.

const PARTS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'] as const;
type Part = (typeof PARTS)[number];

const isPart = (name: unknown): name is Exclude<Part, 'origin'> => name !== 'origin' && (PARTS as readonly unknown[]).includes(name);

/** @param texts `[url, base, part, value]`: parsed, and then with one part changed where it is named */
export function changedUrl(texts: unknown): string | undefined {
	if (!Array.isArray(texts) || typeof texts[0] !== 'string') return undefined;
	const [input, base, part, value] = texts as unknown[];
	const url = URL.parse(input as string, typeof base === 'string' ? base : undefined);
	if (!url) return undefined;
	if (isPart(part)) setPart(url, part, String(value));
	return JSON.stringify(Object.fromEntries(PARTS.map((name) => [name, url[name]])));
}

/** As the URL Standard has it, what cannot be set stays as it was. */
function setPart(url: URL, part: Exclude<Part, 'origin'>, value: string): void {
	if (part === 'href' && !URL.canParse(value)) return;
	url[part] = value;
}

export function toBase64(text: string): string | undefined {
	try {
		return JSON.stringify(btoa(text));
	} catch {
		// It has characters that are no bytes.
		return undefined;
	}
}

export function fromBase64(text: string): string | undefined {
	try {
		return JSON.stringify(atob(text));
	} catch {
		// It is no base64.
		return undefined;
	}
}
