// Writes HTML without scripts, in the frame that every page has. Text of untrusted parties is escaped.

import { hash } from 'node:crypto';
import type { Reply } from '../../../../core/index.ts';
import { STYLE } from './style.ts';

/** Text that is HTML already and is not escaped. */
export class Html {
	readonly text: string;
	constructor(text: string) {
		this.text = text;
	}
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

type Part = string | Html | Html[];

/** Makes HTML of a template: every part is escaped, unless it is HTML already. */
export function html(texts: TemplateStringsArray, ...parts: Part[]): Html {
	const written = parts.map((part) =>
		Array.isArray(part) ? part.map(({ text }) => text).join('') : part instanceof Html ? part.text : escapeHtml(part),
	);
	return new Html(texts.map((text, at) => text + (written[at] ?? '')).join(''));
}

export const NOTHING = html``;

const STYLE_HASH = hash('sha256', STYLE, 'base64');

/** Makes the reply with a page. @param head elements added to the common ones */
export function reply({ status = 200, title, head = NOTHING }: { status?: number; title: string; head?: Html }, body: Html): Reply {
	const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${head.text}
<title>${escapeHtml(title)} – Gatehouse</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="brand">Gatehouse</p>${body.text}
</main>
</body>
</html>
`;
	return { status, headers: HEADERS, body: text };
}

const POLICY = [
	"default-src 'none'",
	`style-src 'sha256-${STYLE_HASH}'`,
	"form-action 'self'",
	"frame-ancestors 'none'",
	"base-uri 'none'",
];

/**
 * The headers of every page. There is no `Cross-Origin-Opener-Policy`: clients open these pages in a window of their own, and are notified
 * by their callback through its opener.
 */
const HEADERS: Readonly<Record<string, string>> = {
	'content-type': 'text/html; charset=utf-8',
	'content-security-policy': POLICY.join('; '),
	'x-frame-options': 'DENY',
	// With `no-referrer` a browser sends `Origin: null` for our own forms.
	'referrer-policy': 'same-origin',
	'cache-control': 'no-store',
};
