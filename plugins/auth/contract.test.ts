import { createHmac } from 'node:crypto';
import type { Caller } from '../../core/index.ts';
import { authContract } from '../../testing/index.ts';
import apiKey from './api-key/index.ts';
import basicAuth from './basic-auth/index.ts';
import bearerToken from './bearer-token/index.ts';
import jwt from './jwt/index.ts';
import none from './none/index.ts';
import oauth2 from './oauth2/index.ts';

const KEY = 'gh_key_0123456789abcdef';
const MEMBER: Caller = { method: 'api_key', subject: 'user:7', scopes: ['tools:read', 'tools:execute'], userId: '7' };
const identity = {
	credential: async (secret: string) => (secret === KEY ? MEMBER : null),
	password: async (email: string, password: string) => (email === 'ada@example.com' && password === 'Correct1Horse' ? MEMBER : null),
};
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const basic = (text: string) => ({ headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` } });

authContract(none, {
	...{ config: {}, admitted: [{}], refused: [], isOpen: true },
	bad: [
		{ config: { key: 1 }, says: /"key" is not allowed/ },
		{ config: { token: 'x' }, says: /"token" is not allowed/ },
	],
});

authContract(apiKey, {
	...{ config: { keyHeader: 'X-Acme-Key' }, identity },
	bad: [
		{ config: { keyHeader: 'a b' }, says: /"keyHeader"/ },
		{ config: { keyHeader: 1 }, says: /"keyHeader" must be a string/ },
	],
	admitted: [bearer(KEY), { headers: { 'x-acme-key': KEY } }, { query: new URLSearchParams({ api_key: KEY }) }],
	refused: [bearer(`${KEY}x`), { headers: { 'x-acme-key': 'gh_key' } }],
});

authContract(bearerToken, {
	...{ config: { token: 'our-own-token-of-all' }, identity },
	bad: [
		{ config: { token: 'short' }, says: /"token" length/ },
		{ config: { token: 'with a blank in it' }, says: /visible ASCII/ },
	],
	admitted: [bearer('our-own-token-of-all'), bearer(KEY)],
	refused: [bearer('our-own-token-of-al'), bearer(`${KEY}x`)],
});

authContract(basicAuth, {
	...{ config: {}, identity },
	bad: [
		{ config: { realm: 'x' }, says: /"realm" is not allowed/ },
		{ config: { users: {} }, says: /"users" is not allowed/ },
	],
	admitted: [basic('ada@example.com:Correct1Horse')],
	refused: [basic('ada@example.com:wrong'), basic('ada@example.com')],
});

const SECRET = 's'.repeat(32);
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const hs256 = (claims: object, secret = SECRET): string => {
	const signed = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded(claims)}`;
	return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
};

authContract(jwt, {
	config: { secret: SECRET },
	bad: [
		{ config: { secret: 'short' }, says: /at least 32 bytes/ },
		{ config: { issuer: 'x' }, says: /secret or jwksUrl/ },
	],
	admitted: [bearer(hs256({ sub: 'ada' }))],
	refused: [
		bearer(hs256({ sub: 'ada' }, 'x'.repeat(32))),
		bearer(hs256({ sub: 'ada', exp: 1 })),
		bearer(`${encoded({ alg: 'none' })}.${encoded({ sub: 'ada' })}.`),
	],
});

// Whom it admits is shown where the whole flow runs: oauth2/flow.test.ts.
authContract(oauth2, {
	...{ config: {}, admitted: [] },
	bad: [
		{ config: { dynamicRegistration: 'yes' }, says: /"dynamicRegistration" must be a boolean/ },
		{ config: { refreshGraceSeconds: 301 }, says: /"refreshGraceSeconds" must be less than or equal to 300/ },
	],
	refused: [bearer('gho_no-such-token'), bearer('x')],
});
