// Credentials, rules and addresses as an attacker writes them. `row` groups what belongs to one threat; a test runs each case,
// and another counts the rows.

import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

export interface Claims {
	[claim: string]: unknown;
}

/** A token made of the claims of a good one, and the secret that signed that. */
export interface TokenCase {
	row: number;
	id: string;
	make(claims: Claims, secret: string): string;
	/** Of the answer, where the specification gives it. */
	message?: string;
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
		withHeader(`kid ${JSON.stringify(kid)}`, { kid }),
	),
	withHeader('alg as a list', { alg: ['HS256'] }),
	withHeader('alg missing', { alg: undefined }),
	withClaims('another issuer', { iss: 'other' }, 'jwt issuer invalid'),
	withClaims('issuer missing', { iss: undefined }, 'jwt issuer invalid'),
	withClaims('issuer as a list', { iss: ['svc'] }, 'jwt issuer invalid'),
	withClaims('issuer in capitals', { iss: 'SVC' }, 'jwt issuer invalid'),
	withClaims('issuer with a blank', { iss: 'svc ' }, 'jwt issuer invalid'),
	withClaims('another audience', { aud: 'svc' }),
	withClaims('audience missing', { aud: undefined }),
	withClaims('audience as a list', { aud: ['svc-api'] }),
	withClaims('audience among others', { aud: ['x', 'svc-api'] }),
	withClaims('expired', { exp: seconds() - 1 }),
	withClaims('expired long ago', { exp: 1 }),
	withClaims('expiry missing', { exp: undefined }),
	withClaims('expiry as a text', { exp: '9999999999' }),
	withClaims('expiry null', { exp: null }),
	withClaims('not before tomorrow', { nbf: seconds() + 86_400 }),
	withClaims('subject missing', { sub: undefined }),
	withClaims('subject as a number', { sub: 1 }),
	withClaims('subject as an object', { sub: { like: '%' } }),
	withClaims('subject as a list', { sub: [OTHER] }),
	withClaims('subject that is nobody', { sub: OTHER }),
	withClaims('subject that is no id', { sub: "' OR 1=1 --" }),
	withClaims('login missing', { sid: undefined }),
	withClaims('login as an object', { sid: {} }),
	withClaims('login that is none', { sid: OTHER }),
	withClaims('login that is no id', { sid: '%' }),
	withClaims('token id missing', { jti: undefined }),
	withClaims('login time missing', { auth_time: undefined }),
	withClaims('login time as a text', { auth_time: 'now' }),
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

/** A key made of a good one; none opens anything. */
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

/** From where a client comes, behind one trusted proxy, and whether the range lets it in. */
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

/** Addresses to invite and to reset that are none, or more than one. */
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

/** Rows of the identity part that other tests hold, where what they need is already set up. */
export const HELD_ELSEWHERE: Record<number, string> = {
	68: 'test/flows/credentials.test.ts',
	69: 'core/config.test.ts',
	72: 'core/passwords.test.ts',
	75: 'test/flows/secrets.test.ts',
	77: 'test/flows/access-matrix.test.ts',
	78: 'plugins/features/organizations/index.test.ts',
	79: 'test/flows/access-matrix.test.ts',
	80: 'test/flows/access-matrix.test.ts',
	88: 'test/flows/secrets.test.ts',
	89: 'core/key-check.test.ts',
};

/** What these rows guard does not exist yet: JWKS, rate limits, the sandbox. */
export const NOT_YET: readonly number[] = [70, 83, 84, 85, 86];
