// Shared by the tests of clients that know nothing of MCP: the ways of client authentication, and messages that show what a token allows.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { METADATA } from '../helpers/oauth.ts';
import { type Answer, must, send } from '../helpers/service.ts';
import { ANSWER, TOOL } from './oauth-clients.ts';

export const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
export type Method = (typeof METHODS)[number];

const PAIR = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** The key of clients whose method is to sign. */
export const CLIENT_KEY = { key: PAIR.privateKey.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']), kid: 'of the tests' };
const { kty = '', crv = '', x = '', y = '' } = PAIR.publicKey.export({ format: 'jwk' });
const jwks = { keys: [{ kty, crv, x, y, kid: CLIENT_KEY.kid, use: 'sig', key_ops: ['verify'] }] };

/** Builds the metadata that a client registers. */
export const metadataFor = (method: Method) => ({
	...METADATA,
	client_name: 'Client of no protocol',
	token_endpoint_auth_method: method,
	...(method === 'private_key_jwt' && { jwks }),
});

/** Sends a message of MCP, which these clients do not send themselves. */
export const ask = (url: string, token: string, method: string, params: object = {}): Promise<Answer> =>
	send(url, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method, params },
		headers: { accept: 'application/json, text/event-stream', authorization: `Bearer ${token}` },
	});

/** Checks that a token may list and call tools. */
export async function assertGood(url: string, token: string): Promise<void> {
	assert.equal(must(await ask(url, token, 'tools/list'), 200).body.result.tools[0].name, TOOL);
	assert.match(JSON.stringify(must(await ask(url, token, 'tools/call', { name: TOOL, arguments: {} }), 200).body), ANSWER);
}
