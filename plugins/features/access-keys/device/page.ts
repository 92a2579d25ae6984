// GET /device: the page on which a user allows a program, with its script and style. It loads nothing from other hosts, and sends requests to this
// one only: the operations of the management API, with the login of the browser.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { notFound, operation } from '../../../../core/features.ts';
import { SCRIPT } from './page-script.ts';
import { STYLE } from './page-style.ts';

const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: Readonly<Record<string, string>> = {
	'content-security-policy': POLICY,
	'x-frame-options': 'DENY',
	'referrer-policy': 'same-origin',
	'cache-control': 'no-store',
	'cross-origin-opener-policy': 'same-origin',
};

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Log in a program – Gatehouse</title>
<link rel="stylesheet" href="/device/page.css">
</head>
<body>
<main>
<p class="brand">Gatehouse</p>
<noscript><p class="alert">This page needs JavaScript.</p></noscript>
<p class="alert" role="alert" id="alert" hidden></p>

<form id="code" hidden>
<h1>Log in a program</h1>
<p>A program on one of your machines shows a code. Enter it here only if you started that program yourself.</p>
<label for="user-code">Code</label>
<input id="user-code" name="code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20" placeholder="XXXX-XXXX">
<button>Continue</button>
</form>

<form id="login" hidden>
<h1>Log in</h1>
<p>Log in to see which program waits for you.</p>
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Log in</button>
</form>

<form id="consent" hidden>
<h1>Give <bdi id="program"></bdi> an access key?</h1>
<dl>
<dt>The program shows the code</dt>
<dd class="host" id="shown-code"></dd>
<dt>You are logged in as</dt>
<dd><bdi id="who"></bdi></dd>
</dl>
<p class="note">Anyone can give a program any name. Allow it only if you started it just now, and it shows this code.</p>
<fieldset id="organizations"><legend>In which organization does it work?</legend></fieldset>
<fieldset>
<legend>What may it reach?</legend>
<label class="choice"><input type="radio" name="reach" value="account" checked> Everything that you can access</label>
<label class="choice"><input type="radio" name="reach" value="gateway"> One gateway</label>
<label class="choice" id="agent-choice" hidden><input type="radio" name="reach" value="agent"> One agent</label>
<div id="one" hidden><label for="target">Which one?</label><select id="target" name="target"></select></div>
</fieldset>
<fieldset>
<legend>What may it do there?</legend>
<label class="choice"><input type="radio" name="may" value="tools" checked> List and call tools</label>
<label class="choice"><input type="radio" name="may" value="all"> Everything that you may do</label>
<label class="choice"><input type="radio" name="may" value="some"> Only what you choose</label>
<div id="some" hidden></div>
</fieldset>
<button name="decision" value="approve">Allow</button>
<button name="decision" value="deny" class="plain" formnovalidate>Deny</button>
<p class="below note">The key is valid until you revoke it; <code>gatehouse-proxy logout</code> does.</p>
</form>

<section id="done" hidden>
<h1 id="done-title"></h1>
<p id="done-text"></p>
</section>
</main>
<script src="/device/page.js"></script>
</body>
</html>
`;

const FILES: Readonly<Record<string, { type: string; content: string }>> = {
	'page.js': { type: 'text/javascript', content: SCRIPT },
	'page.css': { type: 'text/css', content: STYLE },
};

export const pageRoutes = (): ServerRoute[] => [
	operation({
		method: 'GET',
		path: '/device',
		id: 'openDevicePage',
		summary: 'Shows the page on which a user allows a program.',
		need: 'public',
		query: Joi.object({ user_code: Joi.string().allow('').max(100).description('The code that the program shows.') }),
		bare: true,
		produces: 'text/html',
		answer: Joi.string(),
		handler: (request) => withHeaders(request.generateResponse(HTML).type('text/html')),
	}),
	operation({
		method: 'GET',
		path: '/device/{pageFile}',
		id: 'readDevicePageFile',
		summary: 'Serves the script or the style of that page.',
		need: 'public',
		bare: true,
		produces: '*/*',
		answer: Joi.string(),
		handler: (request) => {
			const name = String(request.params['pageFile']);
			const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
			if (!file) throw notFound('File');
			return withHeaders(request.generateResponse(file.content).type(file.type));
		},
	}),
];

function withHeaders<T extends { header(name: string, value: string): unknown }>(response: T): T {
	for (const [name, value] of Object.entries(HEADERS)) response.header(name, value);
	return response;
}
