// Attacks on a gateway's authorization server. `row` is that of the catalog of threats; a test runs each case, and another counts the rows.

import type { Fields } from './oauth-differential.ts';

/** Changes to a request at the authorization endpoint; the client receives `error`. */
export const CHALLENGE_CASES: { row: number; id: string; change: Fields }[] = [
	{ row: 48, id: 'no challenge', change: { code_challenge: null } },
	{ row: 48, id: 'no challenge and no method', change: { code_challenge: null, code_challenge_method: null } },
	{ row: 48, id: 'no method, which means plain', change: { code_challenge_method: null } },
	{ row: 48, id: 'plain', change: { code_challenge_method: 'plain' } },
	{ row: 48, id: 'S256 in lower case', change: { code_challenge_method: 's256' } },
	{ row: 48, id: 'a challenge of 42 characters', change: { code_challenge: 'a'.repeat(42) } },
	{ row: 48, id: 'a challenge of 44 characters', change: { code_challenge: 'a'.repeat(44) } },
	{ row: 48, id: 'a challenge with a character that it may not have', change: { code_challenge: `${'a'.repeat(42)}+` } },
	{ row: 48, id: 'a challenge with padding', change: { code_challenge: `${'a'.repeat(43)}=` } },
	{ row: 48, id: 'a challenge with a line break', change: { code_challenge: `${'a'.repeat(43)}\n` } },
];

/** Verifiers redeemed with a code whose challenge belongs to `verifier`. `sent` is sent in its place; null sends none. */
export const VERIFIER_CASES: { row: number; id: string; verifier: string; sent?: string | null; isGood: boolean }[] = [
	{ row: 49, id: '43 characters', verifier: 'v'.repeat(43), isGood: true },
	{ row: 49, id: '128 characters', verifier: 'v'.repeat(128), isGood: true },
	{ row: 49, id: 'all characters that there are', verifier: `AZaz09-._~${'v'.repeat(40)}`, isGood: true },
	{ row: 49, id: '42 characters', verifier: 'v'.repeat(42), isGood: false },
	{ row: 49, id: '129 characters', verifier: 'v'.repeat(129), isGood: false },
	{ row: 49, id: 'a character that it may not have', verifier: `${'v'.repeat(43)}+`, isGood: false },
	{ row: 49, id: 'a line break', verifier: `${'v'.repeat(43)}\n`, isGood: false },
	{ row: 49, id: 'no verifier', verifier: 'v'.repeat(43), sent: null, isGood: false },
	{ row: 49, id: 'an empty verifier', verifier: 'v'.repeat(43), sent: '', isGood: false },
	{ row: 49, id: 'another verifier', verifier: 'v'.repeat(43), sent: 'w'.repeat(43), isGood: false },
	{ row: 49, id: 'a verifier that is longer', verifier: 'v'.repeat(43), sent: 'v'.repeat(44), isGood: false },
	{ row: 49, id: 'a verifier in capitals', verifier: 'v'.repeat(43), sent: 'V'.repeat(43), isGood: false },
];

export const WEB = 'https://app.example/callback';
export const QUERIED = 'https://app.example/callback?tenant=1';
export const LOOPBACK = 'http://127.0.0.1:7777/callback';
export const LOOPBACK_6 = 'http://[::1]:7777/callback';
export const LOCALHOST = 'http://localhost:7777/callback';

const not = (id: string, uri: string) => ({ row: 50, id, uri, isGood: false });
const good = (id: string, uri: string) => ({ row: 50, id, uri, isGood: true });

/** Redirect URIs requested by a client that has registered the five above. */
export const REDIRECT_CASES: { row: number; id: string; uri: string; isGood: boolean }[] = [
	good('the very one', WEB),
	good('the very one with its query', QUERIED),
	good('another port of a loopback address', 'http://127.0.0.1:40123/callback'),
	good('no port of a loopback address', 'http://127.0.0.1/callback'),
	good('another port of the other loopback address', 'http://[::1]:40123/callback'),
	good('another port of localhost', 'http://localhost:40123/callback'),
	not('a host in capitals', 'https://APP.example/callback'),
	not('a path in capitals', 'https://app.example/Callback'),
	not('a scheme in capitals', 'HTTPS://app.example/callback'),
	not('a trailing slash', 'https://app.example/callback/'),
	not('a longer path', 'https://app.example/callback/more'),
	not('a shorter path', 'https://app.example/'),
	not('an extra query', 'https://app.example/callback?a=b'),
	not('an extra parameter', 'https://app.example/callback?tenant=1&a=b'),
	not('another query', 'https://app.example/callback?tenant=2'),
	not('an empty query', 'https://app.example/callback?'),
	not('a fragment', 'https://app.example/callback#a'),
	not('an empty fragment', 'https://app.example/callback#'),
	not('an encoded dot in the host', 'https://app%2eexample/callback'),
	not('an encoded dot in the path', 'https://app.example/%2e/callback'),
	not('an encoded letter', 'https://app.example/%63allback'),
	not('a way around', 'https://app.example/callback/../callback'),
	not('a host that begins with it', 'https://app.example.evil.example/callback'),
	not('a host that ends with it', 'https://evilapp.example/callback'),
	not('a host below it', 'https://sub.app.example/callback'),
	not('a host with a dot at its end', 'https://app.example./callback'),
	not('a user name', 'https://evil@app.example/callback'),
	not('a user name that looks like it', 'https://app.example@evil.example/callback'),
	not('an empty user name', 'https://@app.example/callback'),
	not('a backslash', 'https://app.example\\@evil.example/callback'),
	not('a backslash in the path', 'https://app.example\\callback'),
	not('a port over https', 'https://app.example:8443/callback'),
	not('the usual port over https', 'https://app.example:443/callback'),
	not('http instead of https', 'http://app.example/callback'),
	not('no scheme', '//app.example/callback'),
	not('a tab', 'https://app.example/call\tback'),
	not('a blank before it', ' https://app.example/callback'),
	not('a letter that looks like another', 'https://аpp.example/callback'),
	not('a null character', 'https://app.example/callback\u0000'),
	not('another path of a loopback address', 'http://127.0.0.1:7777/other'),
	not('a query of a loopback address', 'http://127.0.0.1:7777/callback?a=b'),
	not('another spelling of a loopback address', 'http://127.1:7777/callback'),
	not('a number for a loopback address', 'http://2130706433:7777/callback'),
	not('another loopback address', 'http://127.0.0.2:7777/callback'),
	not('a loopback address over https', 'https://127.0.0.1:7777/callback'),
	not('a loopback address with a user name', 'http://evil@127.0.0.1:7777/callback'),
	not('a loopback address that is no whole host', 'http://127.0.0.1.evil.example:7777/callback'),
	not('a port that is none', 'http://127.0.0.1:99999/callback'),
	not('a port and a host', 'http://127.0.0.1:7777@evil.example/callback'),
	not('a script', 'javascript:alert(1)'),
	not('two of them', `${WEB} ${LOOPBACK}`),
];

const refused = (id: string, uri: unknown) => ({ row: 51, id, uri, isGood: false });
const accepted = (id: string, uri: string) => ({ row: 51, id, uri, isGood: true });

/** Addresses of programs that the owners of a gateway want to accept (`allowedRedirectUris`). */
export const ALLOWED_CASES: { row: number; id: string; uri: unknown; isGood: boolean }[] = [
	accepted('an extension of an editor', 'vscode://saoudrizwan.claude-dev/callback'),
	accepted('a name of a domain, turned around (RFC 8252 §7.1)', 'com.example.app:/oauth2redirect/provider'),
	accepted('a scheme with a digit and a dash', 'app-2+x://callback'),
	refused('a script', 'javascript:alert(1)'),
	refused('a script with an authority', 'javascript://a.example/%0aalert(1)'),
	refused('a script with a path', 'javascript:/alert(1)/'),
	refused('a script in capitals', 'JavaScript://alert(1)'),
	refused('a script after a blank', ' javascript://alert(1)'),
	refused('a script with a tab in it', 'java\tscript://alert(1)'),
	refused('VBScript', 'vbscript:/msgbox'),
	refused('data', 'data:text/html,a'),
	refused('data with a path', 'data:/text/html,a'),
	refused('a file', 'file:///etc/passwd'),
	refused('a file system', 'filesystem:/a'),
	refused('nothing', 'about:blank'),
	refused('about, with a path', 'about://blank'),
	refused('a blob', 'blob:https://app.example/1'),
	refused('a blob with a path', 'blob:/1'),
	refused('the source of a page', 'view-source://a'),
	refused('ftp', 'ftp://app.example/callback'),
	refused('a socket', 'ws://app.example/callback'),
	refused('an intent', 'intent://app.example/'),
	refused('a page of the browser', 'chrome://settings'),
	refused('http elsewhere', 'http://app.example/callback'),
	refused('http to a private address', 'http://10.0.0.1/callback'),
	refused('https, which is accepted anyway', 'https://app.example/callback'),
	refused('http here, which is accepted anyway', 'http://127.0.0.1/callback'),
	refused('mail', 'mailto:a@app.example'),
	refused('a scheme in capitals', 'MyApp://callback'),
	refused('a fragment', 'myapp://callback#a'),
	refused('an empty fragment', 'myapp://callback#'),
	refused('a user name', 'myapp://a@callback/'),
	refused('2,001 characters', 'myapp://'.padEnd(2001, 'x')),
	refused('a quotation mark', 'myapp://callback"onload=alert(1)'),
	refused('a line break', 'myapp://callback\r\nset-cookie: a=b'),
	refused('a scheme alone', 'myapp:'),
	refused('a scheme and slashes', 'myapp:/'),
	refused('no URI', 'callback'),
	refused('an empty text', ''),
	refused('a number', 7),
	refused('null', null),
];

interface RegistrationCase {
	row: number;
	id: string;
	metadata: Record<string, unknown>;
	error: 'invalid_redirect_uri' | 'invalid_client_metadata' | null;
}

const uris = (id: string, ...redirect_uris: unknown[]): RegistrationCase => ({
	row: 51,
	id,
	metadata: { redirect_uris },
	error: 'invalid_redirect_uri',
});

export const REGISTRATION_CASES: RegistrationCase[] = [
	uris('a script', 'javascript:alert(1)'),
	uris('a script with an authority', 'javascript://app.example/%0aalert(1)'),
	uris('a script in capitals', 'JavaScript:alert(1)'),
	uris('a script after a blank', ' javascript:alert(1)'),
	uris('data', 'data:text/html,<script>alert(1)</script>'),
	uris('a blob', 'blob:https://app.example/1'),
	uris('a file', 'file:///etc/passwd'),
	uris('ftp', 'ftp://app.example/callback'),
	uris('VBScript', 'vbscript:msgbox(1)'),
	uris('http to another host', 'http://app.example/callback'),
	uris('http to a private address', 'http://10.0.0.1/callback'),
	uris('http to all addresses', 'http://0.0.0.0:7777/callback'),
	uris('http to a name below localhost', 'http://evil.localhost/callback'),
	uris('http to a name that begins like a loopback address', 'http://127.0.0.1.evil.example/callback'),
	uris('a scheme of its own', 'myapp:/callback'),
	uris('a scheme of its own, with an authority', 'com.example.app://callback'),
	uris('another place of a scheme that is accepted', 'cursor://anysphere.cursor-mcp/oauth/other'),
	uris('a scheme that is accepted, in capitals', 'CURSOR://anysphere.cursor-mcp/oauth/callback'),
	uris('a scheme that is accepted, with a user name', 'cursor://a@anysphere.cursor-mcp/oauth/callback'),
	uris('nothing', 'about:blank'),
	uris('the source of a page', 'view-source:https://app.example/callback'),
	uris('a socket', 'wss://app.example/callback'),
	uris('an intent', 'intent://app.example/#Intent;end'),
	uris('one of a program’s own beside a good one', WEB, 'vscode://some.extension/callback'),
	uris('a fragment', 'https://app.example/callback#a'),
	uris('a user name', 'https://a@app.example/callback'),
	uris('a wildcard', 'https://*.app.example/callback'),
	uris('a quotation mark', 'https://app.example/callback"onload=alert(1)'),
	uris('a line break', 'https://app.example/callback\r\nset-cookie: a=b'),
	uris('no URI', 'callback'),
	uris('one bad of two', WEB, 'http://app.example/callback'),
	uris('one that is no text', WEB, { href: WEB }),
	uris('one that is too long', `https://app.example/${'a'.repeat(2000)}`),
	{ ...uris('none'), row: 51 },
	{ ...uris('1,000', ...Array.from({ length: 1000 }, (_none, at) => `https://app.example/${at}`)), row: 52 },
	{ row: 52, id: 'a name of 1 MB', metadata: { client_name: 'n'.repeat(900_000) }, error: 'invalid_client_metadata' },
	{ row: 52, id: 'a name of 201 characters', metadata: { client_name: 'n'.repeat(201) }, error: 'invalid_client_metadata' },
	{ row: 52, id: 'a name of 200 characters', metadata: { client_name: 'n'.repeat(200) }, error: null },
	{ row: 52, id: 'a name that is a list', metadata: { client_name: ['a'] }, error: 'invalid_client_metadata' },
	{ row: 52, id: 'keys', metadata: { token_endpoint_auth_method: 'private_key_jwt' }, error: 'invalid_client_metadata' },
	{ row: 52, id: 'no code', metadata: { grant_types: ['client_credentials'] }, error: 'invalid_client_metadata' },
	{
		row: 52,
		id: 'a thousand grant types',
		metadata: { grant_types: Array(1000).fill('authorization_code') },
		error: 'invalid_client_metadata',
	},
];

/** Rows that other tests cover, where their set-up already exists. */
export const HELD_ELSEWHERE: Record<number, string> = {
	45: 'test/flows/oauth-races.test.ts',
	46: 'test/flows/oauth-races.test.ts',
	47: 'test/flows/oauth-races.test.ts',
	53: 'test/flows/oauth-pages-hostile.test.ts',
	57: 'test/flows/oauth-resource.test.ts',
	61: 'test/flows/oauth-pages-hostile.test.ts',
	62: 'test/flows/oauth-pages-hostile.test.ts',
	64: 'test/flows/oauth-lifetimes.test.ts',
	65: 'test/flows/oauth-lifetimes.test.ts',
	66: 'test/flows/oauth-lifetimes.test.ts',
};
