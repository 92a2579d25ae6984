// The page for a person who opens the address in a browser, in place of the body of the refusal that they get anyway. It says what the address
// is for, and shows nothing that needs a credential.

import { hash } from 'node:crypto';
import { cleanText, type GatewayError, type Incoming, PAGE_LOOK, type Reply, type ServedAt } from '../../../core/index.ts';
import { prefersHtml } from './accept.ts';

const STYLE = `${PAGE_LOOK}main { max-width: 44rem; }
@media (min-width: 48rem) { main { margin: 8vh auto; padding: 2rem; min-height: 0; border-radius: .75rem; box-shadow: 0 1px 4px rgb(0 0 0 / .3); } }
h2 { margin: 1.5rem 0 .25rem; font-size: 1rem; }
p { margin: .5rem 0; }
pre { margin: .25rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem; font: .9rem/1.5 ui-monospace, monospace; white-space: pre-wrap; user-select: all; }
`;

const HEADERS: Readonly<Record<string, string>> = {
	'content-type': 'text/html; charset=utf-8',
	'content-security-policy': [
		"default-src 'none'",
		`style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
		"form-action 'none'",
		"frame-ancestors 'none'",
		"base-uri 'none'",
	].join('; '),
	vary: 'accept',
};
/** The refusals that a browser gets at the address of a server: without a credential, and with one. */
const STATUSES: ReadonlySet<number> = new Set([401, 405, 406]);
const MAX_NAME = 100;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** Returns the page for a refused request of a browser; null for any other. Core keeps the status, the challenge and its own headers. */
export function pageFor({ status }: Pick<GatewayError, 'status'>, request: Incoming, at: ServedAt): Reply | null {
	const isVisit = (request.method === 'GET' || request.method === 'HEAD') && request.path === '/' && STATUSES.has(status);
	return isVisit && prefersHtml(request.headers.accept) ? { status, headers: HEADERS, body: page(at) } : null;
}

function page({ url, name }: ServedAt): string {
	const shown = cleanText(name, MAX_NAME) || url;
	const server = serverName(url);
	const cursor = JSON.stringify({ mcpServers: { [server]: { url } } }, null, 2);
	const code = JSON.stringify({ name: server, type: 'http', url });
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escaped(shown)} – Gatehouse</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="brand">Gatehouse</p>
<h1><bdi>${escaped(shown)}</bdi> is an MCP server</h1>
<p>This address gives tools to AI programs. A browser cannot use it: add it to a program that speaks the Model Context Protocol.</p>
<pre>${escaped(url)}</pre>
<h2>Claude Code</h2>
<pre>${escaped(`claude mcp add --transport http ${server} ${url}`)}</pre>
<h2>Cursor</h2>
<p class="note">In <code>.cursor/mcp.json</code> of a project, or in your home folder:</p>
<pre>${escaped(cursor)}</pre>
<h2>VS Code</h2>
<pre>${escaped(`code --add-mcp '${code}'`)}</pre>
<p class="note">If a login is needed, the program opens it by itself. If it asks for a key instead, the owner of this server can give you one.</p>
</main>
</body>
</html>
`;
}

/** Returns the name under which programs list the server, from its address: `acme-main`; of a short one, with the host. */
function serverName(url: string): string {
	const { pathname, hostname } = new URL(url);
	const parts = pathname.split('/').filter(Boolean);
	const named = parts.length > 1 ? parts : [hostname, ...parts];
	return named.join('-').replace(/[^\w-]+/g, '-');
}
