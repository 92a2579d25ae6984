// Credentials, rules and addresses as attackers write them. `row` groups the cases of one threat; a test runs each case, and another counts
// the rows.

import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface Claims {
	[claim: string]: unknown;
}

/** A token derived from the claims of a valid one and the secret that signed it. */
export interface TokenCase {
	row: number;
	id: string;
	make(claims: Claims, secret: string): string;
	/** The expected message, where the specification gives it. */
	message?: string;
	/** The token is wrong only if Gatehouse issued it: a token signed with an external secret may be like this. */
	isOurs?: true;
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function hmac(header: object, claims: Claims, secret: string, digest = 'sha256'): string {
	const signed = `${part(header)}.${part(claims)}`;
	return `${signed}.${createHmac(digest, secret).update(signed).digest('base64url')}`;
}

const HS256 = { alg: 'HS256', typ: 'JWT' };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

const withHeader = (id: string, more: object): TokenCase => ({
	row: 67,
	id,
	make: (claims, secret) => hmac({ ...HS256, ...more }, claims, secret),
});
const withClaims = (id: string, more: Claims, message?: string): TokenCase => ({
	row: 67,
	id,
	make: (claims, secret) => hmac(HS256, { ...claims, ...more }, secret),
	...(message && { message }),
});
const ours = (one: TokenCase): TokenCase => ({ ...one, isOurs: true });
const damaged = (id: string, change: (token: string) => string): TokenCase => ({
	row: 67,
	id,
	make: (claims, secret) => change(hmac(HS256, claims, secret)),
});

const seconds = (): number => Math.floor(Date.now() / 1000);
const OTHER = '00000000-0000-4000-8000-000000000000';

export const TOKEN_CASES: TokenCase[] = [
	{ row: 67, id: 'alg none without a signature', make: (claims) => `${part({ alg: 'none' })}.${part(claims)}.` },
	{ row: 67, id: 'alg none with a signature', make: (claims, secret) => hmac({ alg: 'none' }, claims, secret) },
	withHeader('a JWK set of its sender', { jku: 'https://evil.example/jwks.json' }),
	withHeader('a key of its sender', { jwk: rsa.publicKey.export({ format: 'jwk' }) }),
	withHeader('a certificate of its sender', { x5c: ['MIIBIjANBgkq'] }),
	withHeader('an address of its sender’s certificates', { x5u: 'https://evil.example/cert.pem' }),
	...['None', 'NONE', 'nOnE', ''].map((alg) => withHeader(`alg ${JSON.stringify(alg)}`, { alg })),
	{ row: 67, id: 'alg hs256 in lower case', make: (claims, secret) => hmac({ alg: 'hs256' }, claims, secret) },
	{ row: 67, id: 'HS384', make: (claims, secret) => hmac({ alg: 'HS384' }, claims, secret, 'sha384') },
	{ row: 67, id: 'HS512', make: (claims, secret) => hmac({ alg: 'HS512' }, claims, secret, 'sha512') },
	{ row: 67, id: 'HS512 said, HS256 done', make: (claims, secret) => hmac({ alg: 'HS512' }, claims, secret) },
	{
		row: 67,
		id: 'RS256 by a key of one’s own',
		make(claims) {
			const signed = `${part({ alg: 'RS256' })}.${part(claims)}`;
			return `${signed}.${sign('sha256', Buffer.from(signed), rsa.privateKey).toString('base64url')}`;
		},
	},
	{
		row: 67,
		id: 'HS256 with a public key as its secret',
		make: (claims) => hmac(HS256, claims, rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
	},
	...['', 'null', 'undefined', 'secret', '0'.repeat(64)].map(
		(secret): TokenCase => ({
			row: 67,
			id: `signed with ${JSON.stringify(secret.slice(0, 10))}`,
			make: (claims) => hmac(HS256, claims, secret || ' '),
		}),
	),
	withHeader('crit that nobody knows', { crit: ['exp'] }),
	withHeader('crit empty', { crit: [] }),
	...['/dev/null', '../../../../dev/null', "x' UNION SELECT 'k", 'main', ''].map((kid) =>
		ours(withHeader(`kid ${JSON.stringify(kid)}`, { kid })),
	),
	withHeader('alg as a list', { alg: ['HS256'] }),
	withHeader('alg missing', { alg: undefined }),
	ours(withClaims('another issuer', { iss: 'other' }, 'jwt issuer invalid')),
	ours(withClaims('issuer missing', { iss: undefined }, 'jwt issuer invalid')),
	ours(withClaims('issuer as a list', { iss: ['svc'] }, 'jwt issuer invalid')),
	ours(withClaims('issuer in capitals', { iss: 'SVC' }, 'jwt issuer invalid')),
	ours(withClaims('issuer with a blank', { iss: 'svc ' }, 'jwt issuer invalid')),
	ours(withClaims('another audience', { aud: 'svc' })),
	ours(withClaims('audience missing', { aud: undefined })),
	ours(withClaims('audience as a list', { aud: ['svc-api'] })),
	ours(withClaims('audience among others', { aud: ['x', 'svc-api'] })),
	withClaims('expired', { exp: seconds() - 1 }),
	withClaims('expired long ago', { exp: 1 }),
	ours(withClaims('expiry missing', { exp: undefined })),
	withClaims('expiry as a text', { exp: '9999999999' }),
	withClaims('expiry null', { exp: null }),
	withClaims('not before tomorrow', { nbf: seconds() + 86_400 }),
	withClaims('subject missing', { sub: undefined }),
	withClaims('subject as a number', { sub: 1 }),
	withClaims('subject as an object', { sub: { like: '%' } }),
	withClaims('subject as a list', { sub: [OTHER] }),
	ours(withClaims('subject that is nobody', { sub: OTHER })),
	ours(withClaims('subject that is no id', { sub: "' OR 1=1 --" })),
	ours(withClaims('login missing', { sid: undefined })),
	ours(withClaims('login as an object', { sid: {} })),
	ours(withClaims('login that is none', { sid: OTHER })),
	ours(withClaims('login that is no id', { sid: '%' })),
	ours(withClaims('token id missing', { jti: undefined })),
	ours(withClaims('login time missing', { auth_time: undefined })),
	ours(withClaims('login time as a text', { auth_time: 'now' })),
	damaged('without its signature', (token) => token.replace(/[^.]*$/, '')),
	damaged('without its last part', (token) => token.replace(/\.[^.]*$/, '')),
	damaged('with a part more', (token) => `${token}.x`),
	damaged('a byte of the signature changed', (token) =>
		token.replace(/.(.)$/, (_all, last) => `${last === 'A' ? 'B' : 'A'}${last}`).replace(/.{3}$/, 'AAA'),
	),
	damaged('a claim changed under the signature', (token) => {
		const [head, , tail] = token.split('.');
		return `${head}.${part({ sub: OTHER, iss: 'svc', aud: 'svc-api', exp: 9_999_999_999 })}.${tail}`;
	}),
	damaged('in base64 with padding', (token) => `${token}==`),
	damaged('cut short', (token) => token.slice(0, 40)),
	damaged('a megabyte', (token) => token + 'a'.repeat(10_000)),
	damaged('claims that are no JSON', (token) => token.replace(/\.[^.]*\./, '.bm90IGpzb24.')),
	damaged('claims that are a list', (token) => token.replace(/\.[^.]*\./, `.${part([])}.`)),
	damaged('claims that are null', (token) => token.replace(/\.[^.]*\./, `.${part(null)}.`)),
	{ row: 67, id: 'dots only', make: () => '..' },
	{ row: 67, id: 'no token at all', make: () => 'undefined' },
];

/** A key derived from a valid one; none grants access. */
export interface KeyCase {
	row: number;
	id: string;
	make(key: string): string;
}

export const KEY_CASES: KeyCase[] = [
	{ row: 73, id: 'prefix in capitals', make: (key) => key.replace(/^[a-z_]+/, (prefix) => prefix.toUpperCase()) },
	{ row: 73, id: 'all in lower case', make: (key) => `${key}A`.toLowerCase() },
	{ row: 73, id: 'without its prefix', make: (key) => key.replace(/^(svc_gw_|ak_live_)/, '') },
	{
		row: 73,
		id: 'with the other prefix',
		make: (key) => (key.startsWith('svc_') ? key.replace('svc_gw_', 'ak_live_') : key.replace('ak_live_', 'svc_gw_')),
	},
	{ row: 73, id: 'with the prefix twice', make: (key) => key.replace(/^(svc_gw_|ak_live_)/, '$1$1') },
	{ row: 73, id: 'cut by a character', make: (key) => key.slice(0, -1) },
	{ row: 73, id: 'longer by a character', make: (key) => `${key}A` },
	{ row: 73, id: 'longer by a percent sign', make: (key) => `${key}%` },
	{ row: 73, id: 'its prefix only', make: (key) => key.replace(/^(svc_gw_|ak_live_).*/, '$1') },
	{ row: 73, id: 'its first characters, as lists show them', make: (key) => key.slice(0, 12) },
	{ row: 73, id: '12 KB', make: (key) => key + 'a'.repeat(12_000) },
	{ row: 73, id: 'a SQL wildcard', make: (key) => `${key.slice(0, 9)}%` },
];

/** Rules of an auth method that are refused when they are saved. */
export const RULE_CASES: { row: number; id: string; rules: unknown }[] = [
	...[
		'10.0.0.0/33',
		'10.0.0.0/-1',
		'10.0.0/8',
		'300.1.1.1',
		'2130706433',
		'0x7f.1',
		'::/129',
		'10.0.0.1-10.0.0.9',
		'localhost',
		'',
		'*',
		'10.0.0.0/8/8',
	].map((range) => ({ row: 81, id: `range ${JSON.stringify(range)}`, rules: { allowedIpRanges: [range] } })),
	{ row: 81, id: 'no range at all', rules: { allowedIpRanges: [] } },
	{ row: 81, id: 'a range that is no list', rules: { allowedIpRanges: '10.0.0.0/8' } },
	{ row: 81, id: 'a range that is a number', rules: { allowedIpRanges: [10] } },
	{ row: 81, id: 'a rule that there is not', rules: { allowedIps: ['10.0.0.1'] } },
	...['', 'x y', 'x:', 'x\r\ny', 'ä'].map((name) => ({
		row: 82,
		id: `header ${JSON.stringify(name)}`,
		rules: { requiredHeaders: [name] },
	})),
	{ row: 82, id: 'no header at all', rules: { requiredHeaders: [] } },
	{ row: 82, id: 'a header that is an object', rules: { requiredHeaders: [{ name: 'x' }] } },
];

/** A client's address behind one trusted proxy, and whether the range admits it. */
export const ADDRESS_CASES: { row: number; id: string; ranges: string[]; forwardedFor: string | null; isIn: boolean }[] = [
	{ row: 81, id: 'the address itself', ranges: ['203.0.113.7'], forwardedFor: '203.0.113.7', isIn: true },
	{ row: 81, id: 'a neighbour', ranges: ['203.0.113.7'], forwardedFor: '203.0.113.8', isIn: false },
	{ row: 81, id: 'inside a range', ranges: ['203.0.113.0/24'], forwardedFor: '203.0.113.200', isIn: true },
	{ row: 81, id: 'outside a range', ranges: ['203.0.113.0/24'], forwardedFor: '203.0.114.1', isIn: false },
	{ row: 81, id: 'IPv4 written as IPv6', ranges: ['203.0.113.0/24'], forwardedFor: '::ffff:203.0.113.7', isIn: true },
	{ row: 81, id: 'a range written as mapped IPv6', ranges: ['::ffff:203.0.113.0/120'], forwardedFor: '203.0.113.7', isIn: true },
	{ row: 81, id: '0.0.0.0/0 is all of IPv4', ranges: ['0.0.0.0/0'], forwardedFor: '8.8.8.8', isIn: true },
	{ row: 81, id: '0.0.0.0/0 is nothing of IPv6', ranges: ['0.0.0.0/0'], forwardedFor: '2001:db8::1', isIn: false },
	{ row: 81, id: '::/0 is nothing of IPv4', ranges: ['::/0'], forwardedFor: '203.0.113.7', isIn: false },
	{ row: 81, id: 'IPv6 in its short form', ranges: ['2001:db8::/32'], forwardedFor: '2001:0db8:0:0::1', isIn: true },
	{ row: 81, id: 'a forged hop before the true one', ranges: ['203.0.113.7'], forwardedFor: '203.0.113.7, 198.51.100.9', isIn: false },
	{
		row: 81,
		id: 'a forged hop that looks like the proxy',
		ranges: ['203.0.113.7'],
		forwardedFor: '203.0.113.7, 198.51.100.9, 127.0.0.1',
		isIn: false,
	},
	{ row: 81, id: 'a hop that is no address', ranges: ['203.0.113.7'], forwardedFor: '203.0.113.7, nonsense', isIn: false },
	{ row: 81, id: 'no hop: the proxy itself', ranges: ['203.0.113.7'], forwardedFor: null, isIn: false },
	{ row: 81, id: 'the proxy allowed, a client behind it not', ranges: ['127.0.0.1'], forwardedFor: '203.0.113.7', isIn: false },
];

/** Values in place of an e-mail address for invitations and resets: none is a single valid address. */
export const MAIL_CASES: { row: number; id: string; email: unknown }[] = [
	'a@x.example\r\nBcc: evil@x.example',
	'a@x.example\nBcc: evil@x.example',
	'a@x.example\rBcc: evil@x.example',
	'a@x.example%0d%0aBcc:evil@x.example\r',
	'a@x.example, evil@x.example',
	'a@x.example;evil@x.example',
	'a@x.example evil@x.example',
	'Ada <a@x.example>',
	'"Ada" <a@x.example>',
	'<a@x.example>',
	'a@x.example (comment)\u2028x',
	'a@x.example\0',
	'a@@x.example',
	'@x.example',
	'a@',
	'a',
	'',
	' ',
	`${'a'.repeat(300)}@x.example`,
	['a@x.example', 'evil@x.example'],
	{ address: 'a@x.example' },
	7,
	null,
	true,
].map((email) => ({ row: 87, id: JSON.stringify(email).slice(0, 60), email }));

/** Passwords that are refused when they are set. */
export const PASSWORD_CASES: { row: number; id: string; password: unknown }[] = [
	{ row: 71, id: 'seven characters', password: 'Abcde1f' },
	{ row: 71, id: 'no upper case', password: 'abcdefg1' },
	{ row: 71, id: 'no lower case', password: 'ABCDEFG1' },
	{ row: 71, id: 'no digit', password: 'Abcdefgh' },
	{ row: 71, id: '73 bytes', password: `Aa1${'x'.repeat(70)}` },
	{ row: 71, id: '73 bytes in 25 characters', password: `Aa1${'€'.repeat(23)}x` },
	{ row: 71, id: 'a NUL', password: 'Abcdef1\0gh' },
	{ row: 71, id: 'half a surrogate pair', password: 'Abcdef1\ud800' },
	{ row: 71, id: 'a number', password: 12_345_678 },
	{ row: 71, id: 'a list', password: ['Abcdefg1'] },
	{ row: 71, id: 'nothing', password: '' },
	{ row: 71, id: 'null', password: null },
];

/** A token made with nothing but what an issuer publishes, for a gateway that takes its RS256. */
export interface ConfusionCase {
	row: number;
	id: string;
	make(published: { kid: string; key: KeyObject }, claims: Claims): string;
}

const forged = (header: object, claims: Claims): string => {
	const signed = `${part({ alg: 'RS256', ...header })}.${part(claims)}`;
	return `${signed}.${sign('sha256', Buffer.from(signed), rsa.privateKey).toString('base64url')}`;
};
const spki = (key: KeyObject, format: 'pem' | 'der'): string => key.export({ type: 'spki', format: format as 'pem' }).toString('latin1');

export const CONFUSION_CASES: ConfusionCase[] = [
	...[{}, { alg: 'HS384' }, { alg: 'HS512' }].map(
		(more): ConfusionCase => ({
			row: 70,
			id: `the public key as a secret ${JSON.stringify(more)}`,
			make: ({ kid, key }, claims) => hmac({ ...HS256, ...more, kid }, claims, spki(key, 'pem')),
		}),
	),
	{ row: 70, id: 'the public key in DER as a secret', make: ({ kid, key }, claims) => hmac({ ...HS256, kid }, claims, spki(key, 'der')) },
	{ row: 70, id: 'HS256 said to be RS256', make: ({ kid, key }, claims) => hmac({ alg: 'RS256', kid }, claims, spki(key, 'pem')) },
	{ row: 70, id: 'alg none under a known kid', make: ({ kid }, claims) => `${part({ alg: 'none', kid })}.${part(claims)}.` },
	{ row: 70, id: 'another key under a known kid', make: ({ kid }, claims) => forged({ kid }, claims) },
	{ row: 70, id: 'another key without a kid', make: (_published, claims) => forged({}, claims) },
	{
		row: 70,
		id: 'a key that the token brings along',
		make: ({ kid }, claims) => forged({ kid, jwk: rsa.publicKey.export({ format: 'jwk' }) }, claims),
	},
	...['jku', 'x5u'].map(
		(name): ConfusionCase => ({
			row: 70,
			id: `a ${name} of its sender`,
			make: ({ kid }, claims) => forged({ kid, [name]: 'https://evil.example/' }, claims),
		}),
	),
	...['', '../k', "k' OR '1'='1", '__proto__', 'constructor'].map(
		(kid): ConfusionCase => ({ row: 70, id: `kid ${JSON.stringify(kid)}`, make: (_published, claims) => forged({ kid }, claims) }),
	),
	...[null, 5, ['k'], {}].map(
		(kid): ConfusionCase => ({ row: 70, id: `kid ${JSON.stringify(kid)}`, make: (_published, claims) => forged({ kid }, claims) }),
	),
];

/** URLs from which no keys are read, refused when they are saved. Only 127.0.0.1 is open. */
export const JWKS_URL_CASES: { row: number; id: string }[] = [
	'http://10.0.0.1/jwks',
	'https://10.0.0.1/jwks',
	'https://192.168.1.1/jwks',
	'https://169.254.169.254/latest/meta-data',
	'https://[::1]/jwks',
	'https://[::ffff:10.0.0.1]/jwks',
	'https://0x0a000001/jwks',
	'https://167772161/jwks',
	'http://id.example/jwks',
	'http://8.8.8.8/jwks',
	'https://user:secret@id.example/jwks',
	'https://id.example:22/jwks',
	'file:///etc/passwd',
	'data:application/json,{}',
	'//id.example/jwks',
	'',
].map((id) => ({ row: 70, id }));

const encoded = (text: string): string => Buffer.from(text).toString('base64');

/** Values of `Authorization` derived from a valid address and its password; none grants access. */
export const BASIC_CASES: { row: number; id: string; make(email: string, password: string): string }[] = [
	{ row: 72, id: 'another password', make: (email, password) => `Basic ${encoded(`${email}:${password}x`)}` },
	{ row: 72, id: 'the password in capitals', make: (email, password) => `Basic ${encoded(`${email}:${password.toUpperCase()}`)}` },
	{ row: 72, id: 'a password of 73 bytes', make: (email, password) => `Basic ${encoded(`${email}:${password.padEnd(73, 'x')}`)}` },
	{ row: 72, id: 'another address', make: (email, password) => `Basic ${encoded(`x${email}:${password}`)}` },
	{ row: 72, id: 'a wildcard for an address', make: (_email, password) => `Basic ${encoded(`%:${password}`)}` },
	{ row: 72, id: 'no address', make: (_email, password) => `Basic ${encoded(`:${password}`)}` },
	{ row: 72, id: 'no password', make: (email) => `Basic ${encoded(`${email}:`)}` },
	{ row: 72, id: 'no colon', make: (email, password) => `Basic ${encoded(email + password)}` },
	{ row: 72, id: 'the parts exchanged', make: (email, password) => `Basic ${encoded(`${password}:${email}`)}` },
	{ row: 72, id: 'a NUL after the password', make: (email, password) => `Basic ${encoded(`${email}:${password}\0`)}` },
	{ row: 72, id: 'a line after the address', make: (email, password) => `Basic ${encoded(`${email}\n:${password}`)}` },
	{ row: 72, id: 'no base64', make: (email, password) => `Basic ${email}:${password}` },
	{ row: 72, id: 'base64 of base64', make: (email, password) => `Basic ${encoded(encoded(`${email}:${password}`))}` },
	{ row: 72, id: 'padding too much', make: (email, password) => `Basic ${encoded(`${email}:${password}`)}====` },
	{ row: 72, id: '10 KB', make: (email, password) => `Basic ${encoded(`${email}:${password.padEnd(7000, 'x')}`)}` },
	{ row: 72, id: 'bytes that are no UTF-8', make: () => `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}` },
	{ row: 72, id: 'another scheme', make: (email, password) => `Digest ${encoded(`${email}:${password}`)}` },
	{ row: 72, id: 'the scheme alone', make: () => 'Basic' },
];

/** The operations that each combination of scopes allows a gateway key. */
export const SCOPE_CASES: { row: number; scopes: string[]; lists: boolean; calls: boolean }[] = [
	{ row: 74, scopes: ['tools:read'], lists: true, calls: false },
	{ row: 74, scopes: ['tools:execute'], lists: false, calls: true },
	{ row: 74, scopes: ['gateway:read'], lists: false, calls: false },
	{ row: 74, scopes: ['tools:read', 'gateway:read'], lists: true, calls: false },
	{ row: 74, scopes: ['tools:read', 'tools:execute'], lists: true, calls: true },
];

/** The places where a client may send a credential, and what it may send there. */
export type Presented = Partial<Record<'x-api-key' | 'bearer' | 'basic' | 'query', 'good' | 'bad'>>;

/**
 * Combinations of credentials and methods (decisions, 22). A method is required unless marked with `?`; with `!` its rule rejects the
 * client.
 */
export const PIPELINE_CASES: { row: number; methods: string[]; presented: Presented; status: 200 | 401 | 403 }[] = [
	{ row: 76, methods: [], presented: {}, status: 401 },
	{ row: 76, methods: [], presented: { bearer: 'good' }, status: 401 },
	{ row: 76, methods: ['none'], presented: {}, status: 200 },
	{ row: 76, methods: ['none'], presented: { bearer: 'bad', basic: 'bad' }, status: 200 },
	{ row: 76, methods: ['api_key'], presented: { 'x-api-key': 'bad', bearer: 'good' }, status: 401 },
	{ row: 76, methods: ['api_key'], presented: { query: 'bad', bearer: 'good' }, status: 401 },
	{ row: 76, methods: ['api_key'], presented: { 'x-api-key': 'good', query: 'bad' }, status: 200 },
	{ row: 76, methods: ['bearer_token'], presented: { query: 'good', bearer: 'bad' }, status: 200 },
	{ row: 76, methods: ['basic_auth'], presented: { query: 'good' }, status: 401 },
	{ row: 76, methods: ['jwt'], presented: { query: 'good' }, status: 401 },
	{ row: 76, methods: ['api_key', 'none?'], presented: {}, status: 401 },
	{ row: 76, methods: ['none?', 'api_key'], presented: { 'x-api-key': 'bad' }, status: 401 },
	{ row: 76, methods: ['none?', 'api_key'], presented: { 'x-api-key': 'good' }, status: 200 },
	{ row: 76, methods: ['api_key?', 'none?'], presented: {}, status: 200 },
	{ row: 76, methods: ['api_key?', 'none?'], presented: { 'x-api-key': 'bad' }, status: 200 },
	{ row: 76, methods: ['api_key?'], presented: {}, status: 401 },
	{ row: 76, methods: ['api_key?'], presented: { 'x-api-key': 'good' }, status: 200 },
	{ row: 76, methods: ['api_key', 'basic_auth'], presented: { basic: 'good' }, status: 200 },
	{ row: 76, methods: ['api_key', 'basic_auth'], presented: { 'x-api-key': 'good' }, status: 200 },
	{ row: 76, methods: ['api_key', 'basic_auth'], presented: { 'x-api-key': 'bad', basic: 'good' }, status: 200 },
	{ row: 76, methods: ['basic_auth', 'api_key'], presented: { 'x-api-key': 'good', basic: 'bad' }, status: 200 },
	{ row: 76, methods: ['api_key', 'basic_auth'], presented: { 'x-api-key': 'bad', basic: 'bad' }, status: 401 },
	{ row: 76, methods: ['api_key', 'basic_auth?'], presented: { basic: 'good' }, status: 401 },
	{ row: 76, methods: ['api_key?', 'basic_auth?'], presented: { basic: 'good' }, status: 200 },
	{ row: 76, methods: ['none!', 'api_key'], presented: {}, status: 401 },
	{ row: 76, methods: ['api_key', 'none!'], presented: {}, status: 403 },
	{ row: 76, methods: ['none!', 'api_key'], presented: { 'x-api-key': 'good' }, status: 200 },
	{ row: 76, methods: ['api_key!', 'basic_auth'], presented: { 'x-api-key': 'good' }, status: 401 },
	{ row: 76, methods: ['api_key!'], presented: { 'x-api-key': 'good' }, status: 403 },
];

/** Requests with and without the header lines that a rule requires. */
export const HEADER_CASES: { row: number; id: string; required: string[]; sent: [name: string, value: string][]; isIn: boolean }[] = [
	{ row: 82, id: 'as it is written', required: ['X-Tenant'], sent: [['X-Tenant', 'a']], isIn: true },
	{ row: 82, id: 'in lower case', required: ['X-Tenant'], sent: [['x-tenant', 'a']], isIn: true },
	{ row: 82, id: 'in capitals', required: ['x-tenant'], sent: [['X-TENANT', 'a']], isIn: true },
	{
		row: 82,
		id: 'twice',
		required: ['X-Tenant'],
		sent: [
			['X-Tenant', 'a'],
			['X-Tenant', 'b'],
		],
		isIn: true,
	},
	{
		row: 82,
		id: 'once with a value and once without',
		required: ['X-Tenant'],
		sent: [
			['X-Tenant', ''],
			['X-Tenant', 'a'],
		],
		isIn: true,
	},
	{ row: 82, id: 'required twice', required: ['X-Tenant', 'x-tenant'], sent: [['X-Tenant', 'a']], isIn: true },
	{ row: 82, id: 'not at all', required: ['X-Tenant'], sent: [], isIn: false },
	{ row: 82, id: 'another', required: ['X-Tenant'], sent: [['X-Tenants', 'a']], isIn: false },
	{ row: 82, id: 'empty', required: ['X-Tenant'], sent: [['X-Tenant', '']], isIn: false },
	{ row: 82, id: 'blank', required: ['X-Tenant'], sent: [['X-Tenant', '  \t ']], isIn: false },
	{
		row: 82,
		id: 'empty twice',
		required: ['X-Tenant'],
		sent: [
			['X-Tenant', ''],
			['X-Tenant', ''],
		],
		isIn: false,
	},
	{ row: 82, id: 'one of two', required: ['X-Tenant', 'X-Team'], sent: [['X-Tenant', 'a']], isIn: false },
	{
		row: 82,
		id: 'both of two',
		required: ['X-Tenant', 'X-Team'],
		sent: [
			['X-Tenant', 'a'],
			['X-Team', 'b'],
		],
		isIn: true,
	},
	{ row: 82, id: 'that every object has', required: ['constructor'], sent: [], isIn: false },
];

/** Rows of the identity part that other tests cover, where their set-up already exists. */
export const HELD_ELSEWHERE: Record<number, string> = {
	68: 'test/flows/credentials.test.ts',
	69: 'core/config/config.test.ts',
	70: 'test/flows/gateway-auth-catalog.test.ts',
	72: 'core/secrets/passwords.test.ts',
	75: 'test/flows/secrets.test.ts',
	77: 'test/flows/access-matrix.test.ts',
	78: 'plugins/features/organizations/index.test.ts',
	79: 'test/flows/access-matrix.test.ts',
	80: 'test/flows/access-matrix.test.ts',
	88: 'test/flows/secrets.test.ts',
	89: 'core/key-check.test.ts',
};

/** Rows about features that do not exist yet: rate limits, the sandbox. */
export const NOT_YET: readonly number[] = [83, 84, 85, 86];
