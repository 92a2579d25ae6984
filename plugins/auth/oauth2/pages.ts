// The pages on which a member logs in and lets a client in. Plain HTML without scripts: what they show is text of strangers.

import { hash } from 'node:crypto';
import type { Reply, Scope } from '../../../core/index.ts';
import { type Client, isDocumentId } from './clients.ts';
import { MEANINGS } from './scopes.ts';
import { STYLE } from './style.ts';

/** What a page is about. */
export interface Page {
	/** Where its forms go. */
	action: string;
	client: Client;
	redirectUri: string;
	gatewayName: string;
}

/** Text that is HTML already. */
class Html {
	readonly text: string;
	constructor(text: string) {
		this.text = text;
	}
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

type Part = string | Html | Html[];

/** What is put in is escaped, unless it is HTML already. */
function html(texts: TemplateStringsArray, ...parts: Part[]): Html {
	const written = parts.map((part) =>
		Array.isArray(part) ? part.map(({ text }) => text).join('') : part instanceof Html ? part.text : escapeHtml(part),
	);
	return new Html(texts.map((text, at) => text + (written[at] ?? '')).join(''));
}

const NOTHING = html``;

export function loginPage(page: Page, given: { email?: string; fault?: string } = {}): Reply {
	const { email = '', fault } = given;
	const isWrong = fault !== undefined;
	const alert = isWrong ? html`<p class="alert" role="alert" id="fault">${fault}</p>` : NOTHING;
	// After a fault all is known but the password.
	const again = isWrong ? html` aria-invalid="true" aria-describedby="fault"` : NOTHING;
	const body = html`
<h1>Log in to continue</h1>
<p>A program wants to use the gateway <strong><bdi>${page.gatewayName}</bdi></strong>. Members of its organization can let it in.</p>
${program(page)}
${alert}
<form method="post" action="${page.action}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${again}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${again}${isWrong ? html` autofocus` : NOTHING}>
<button name="action" value="login">Log in</button>
</form>
<p class="note">The program does not see your password, and gets nothing before you agree.</p>`;
	return reply({ status: isWrong ? 400 : 200, title: isWrong ? 'Not logged in' : 'Log in' }, body);
}

export function consentPage(page: Page, { email, scopes, slip }: { email: string; scopes: Scope[]; slip: string }): Reply {
	const body = html`
<h1>Let this program in?</h1>
${program(page)}
<p>It wants to use the gateway <strong><bdi>${page.gatewayName}</bdi></strong> and be able to:</p>
<ul>${scopes.map((scope) => html`<li>${MEANINGS[scope]}</li>`)}</ul>
<p class="note">Anyone can give a program any name. Allow it only if you started this just now and know where you will be sent.</p>
<form method="post" action="${page.action}">
<input type="hidden" name="slip" value="${slip}">
<button name="action" value="allow">Allow</button>
<button name="action" value="deny" class="plain">Deny</button>
</form>
${switchForm(page, email)}`;
	return reply({ status: 200, title: 'Let a program in' }, body);
}

/** For who is logged in, but belongs to other organizations. */
export function strangerPage(page: Page, email: string): Reply {
	const body = html`
<h1>This account cannot decide</h1>
<p>It is not a member of the organization that the gateway <strong><bdi>${page.gatewayName}</bdi></strong> belongs to. Use one that is, or ask the organization to invite you.</p>
${switchForm(page, email, 'plain')}`;
	return reply({ status: 403, title: 'This account cannot decide' }, body);
}

/** The program cannot be told, since it is not known who or where it is. */
export function faultPage(description: string): Reply {
	const body = html`
<h1>This link does not work</h1>
<p>The program that sent you here asked for access in a way that cannot be answered:</p>
<p class="alert" role="alert">${description}.</p>
<p>It has been given nothing. Close this page, go back to the program and connect it again.</p>
<p class="note">If that does not help, tell its maker what is said above.</p>`;
	return reply({ status: 400, title: 'This link does not work' }, body);
}

/** What a redirect would do, but as a step of its own: it is no part of the form that led to it. */
export function leavingPage({ headers: { location = '', ...headers } = {} }: Reply): Reply {
	const body = html`
<h1>One moment</h1>
<p>You are being sent on. <a href="${location}">Continue</a> if nothing happens.</p>`;
	const refresh = html`<meta http-equiv="refresh" content="0;url=${location}">`;
	const page = reply({ status: 200, title: 'One moment', head: refresh }, body);
	return { ...page, headers: { ...page.headers, ...headers } };
}

const switchForm = (page: Page, email: string, look: 'link' | 'plain' = 'link'): Html => html`
<form method="post" action="${page.action}" class="account">
<p>Logged in as <strong><bdi>${email}</bdi></strong></p>
<button name="action" value="switch" class="${look}">Use another account</button>
</form>`;

/** Where it is comes first: that is known, and the name is only said. */
function program({ client, redirectUri }: Page): Html {
	const { host, hostname } = new URL(redirectUri);
	const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
	const described = isDocumentId(client.id) ? html`\n<dt>Described at</dt>\n<dd>${new URL(client.id).host}</dd>` : NOTHING;
	const name =
		client.name === ''
			? html`<dd>nothing: it gives no name</dd>`
			: html`<dd><q><bdi>${client.name}</bdi></q> <span class="note">(not checked)</span></dd>`;
	return html`<dl>
<dt>You will be sent to</dt>
<dd class="host">${host}</dd>${isHere ? html`\n<dd>a program on this computer</dd>` : NOTHING}
<dt>The program calls itself</dt>
${name}${described}
</dl>`;
}

const STYLE_HASH = hash('sha256', STYLE, 'base64');

/** @param head beside what each page has there */
function reply({ status, title, head = NOTHING }: { status: number; title: string; head?: Html }, body: Html): Reply {
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

/** No `Cross-Origin-Opener-Policy`: clients open these pages in a window of their own, and hear from their callback through its opener. */
const HEADERS: Readonly<Record<string, string>> = {
	'content-type': 'text/html; charset=utf-8',
	'content-security-policy': POLICY.join('; '),
	'x-frame-options': 'DENY',
	// With `no-referrer` a browser says `Origin: null` for our own forms.
	'referrer-policy': 'same-origin',
	'cache-control': 'no-store',
};
