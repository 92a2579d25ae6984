// Makes gateways with the auth methods that a test wants, sends requests to them, and runs an issuer of JSON Web Tokens.

import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { type Account, type Answer, must, send } from './service.ts';
import { httpUpstream } from './upstream.ts';

export interface MethodBody {
	type: string;
	configuration?: object;
	isRequired?: boolean;
	validationRules?: object;
}

export interface GuardedGateway {
	id: string;
	url: string;
	/** The ids of the methods, in their order. */
	authIds: string[];
}

export async function guardedGateway(
	account: Account,
	methods: MethodBody[],
	toolIds: string[] = [],
	type = 'mcp',
): Promise<GuardedGateway> {
	const endpoint = `/g${Math.random().toString(36).slice(2)}`;
	const { id, url } = must(await account.post('/gateways', { name: 'Guarded', type, endpoint }), 201).body.data;
	if (toolIds.length > 0) must(await account.post(`/gateways/${id}/tools/bulk`, { toolIds }), 201);
	const authIds: string[] = [];
	for (const method of methods) authIds.push(must(await account.post(`/gateways/${id}/auth`, method), 201).body.data.id);
	return { id, url, authIds };
}

export const MCP = { accept: 'application/json, text/event-stream' };
export const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
export const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nothing', arguments: {} } };

/** Sends `tools/list`, unless another message is given. */
export const ask = (url: string, headers: Record<string, string> = {}, body: object = LIST): Promise<Answer> =>
	send(url, 'POST', { body, headers: { ...MCP, ...headers } });

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
export const basic = (email: string, password: string): Record<string, string> => ({
	authorization: `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`,
});

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Makes a JWT of exactly this header and these claims, valid or not. */
export function jwt(header: object, claims: object, signer: (data: Buffer) => Buffer): string {
	const signed = `${part(header)}.${part(claims)}`;
	return `${signed}.${signer(Buffer.from(signed)).toString('base64url')}`;
}

export const hs256 = (claims: object, secret: string | Buffer, header: object = {}): string =>
	jwt({ alg: 'HS256', typ: 'JWT', ...header }, claims, (data) => createHmac('sha256', secret).update(data).digest());

const SIGNERS: Record<string, (data: Buffer, key: KeyObject) => Buffer> = {
	RS256: (data, key) => sign('sha256', data, key),
	PS256: (data, key) => sign('sha256', data, { key, padding: 6, saltLength: 32 }),
	ES256: (data, key) => sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
	EdDSA: (data, key) => sign(null, data, key),
};

export interface IssuerKey {
	kid: string;
	publicKey: KeyObject;
	/** Signs a token that expires in an hour unless the claims have another `exp`; undefined leaves the claim out. */
	token(claims: object, header?: object): string;
	jwk: object;
}

/** Makes a key of an issuer. @param bits the length of an RSA key */
export function issuerKey(alg: 'RS256' | 'PS256' | 'ES256' | 'EdDSA', kid: string, bits = 2048): IssuerKey {
	const pair =
		alg === 'ES256'
			? generateKeyPairSync('ec', { namedCurve: 'P-256' })
			: alg === 'EdDSA'
				? generateKeyPairSync('ed25519')
				: generateKeyPairSync('rsa', { modulusLength: bits });
	const { publicKey, privateKey } = pair;
	return {
		kid,
		publicKey,
		token: (claims, header = {}) =>
			jwt(
				{ alg, kid, ...header },
				{ exp: Math.floor(Date.now() / 1000) + 3600, ...claims },
				(data) => SIGNERS[alg]?.(data, privateKey) ?? Buffer.alloc(0),
			),
		jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' },
	};
}

export interface Issuer {
	/** The URL of its JWKS. */
	url: string;
	/** Returns how often the JWKS was requested. */
	requests(): number;
	/** Replaces the published keys. */
	publish(keys: object[]): void;
	/** Replaces the way in which it responds. */
	answer(how: (response: ServerResponse) => void): void;
}

/** Starts an issuer that publishes keys on a port of its own. */
export async function startIssuer(t: TestContext, keys: object[] = []): Promise<Issuer> {
	let count = 0;
	const published =
		(list: object[]) =>
		(response: ServerResponse): void =>
			void response.setHeader('content-type', 'application/jwk-set+json').end(JSON.stringify({ keys: list }));
	let answer = published(keys);
	const { origin } = await httpUpstream(t, (_request, response) => {
		count += 1;
		answer(response);
	});
	return {
		// Keys are remembered by their URL, and another test's server may get the same port.
		url: `${origin}/${randomUUID()}/jwks.json`,
		requests: () => count,
		publish(list) {
			answer = published(list);
		},
		answer(how) {
			answer = how;
		},
	};
}
