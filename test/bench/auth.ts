// Measures the cost of each authentication method on the hot path, compared with an open gateway. `node test/bench/auth.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { findPort } from '../../demo/ports.ts';
import { obtainTokens } from '../helpers/oauth.ts';
import { ACCOUNT, type Path, prepareAuthenticated } from './paths.ts';
import { FINE, type Measured, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

const SECRET = 'a secret of the benchmark, 32 bytes or more';
const TOKEN = 'a-fixed-token-of-the-benchmark';

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		print(await measureAll(dataDir));
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

async function measureAll(dataDir: string): Promise<Measured[]> {
	await using upstream = await startSubject('./upstream.ts', {});
	await using issuer = await startIssuer();
	const port = String(await findPort('127.0.0.1', 0));
	const env = { PORT: port, SVC_DATA_DIR: dataDir, EGRESS_ALLOW: `${upstream.url},${issuer.url}`, LOG_LEVEL: 'warn' };
	await using service = await startSubject('./service.ts', env);
	const paths = await preparePaths({ upstream: upstream.url, service: service.url }, issuer);
	return await runRounds(paths, () => service.cpuMicros(), FINE);
}

/** Starts an issuer that signs tokens and publishes the key that verifies them. */
async function startIssuer() {
	const { privateKey, publicKey } = await generateKeyPair('RS256');
	const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'bench', alg: 'RS256' }] });
	const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(keys));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// The server listens on TCP.
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		token: await new SignJWT({ sub: 'bench' }).setProtectedHeader({ alg: 'RS256', kid: 'bench' }).setExpirationTime('1h').sign(privateKey),
		[Symbol.asyncDispose]: async () => void server.close(),
	};
}

async function preparePaths(urls: { upstream: string; service: string }, issuer: { url: string; token: string }): Promise<Path[]> {
	const signed = await new SignJWT({ sub: 'bench' }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(Buffer.from(SECRET));
	const basic = Buffer.from(`${ACCOUNT.email}:${ACCOUNT.password}`).toString('base64');
	const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
	return prepareAuthenticated(urls, [
		{ name: 'none', type: 'none', configuration: {}, credential: async () => ({}) },
		{ name: 'api_key', type: 'api_key', configuration: {}, credential: async ({ key }) => ({ 'x-api-key': key }) },
		{ name: 'bearer_token, a key', type: 'bearer_token', configuration: {}, credential: async ({ key }) => bearer(key) },
		{ name: 'bearer_token, fixed', type: 'bearer_token', configuration: { token: TOKEN }, credential: async () => bearer(TOKEN) },
		{ name: 'basic_auth', type: 'basic_auth', configuration: {}, credential: async () => ({ authorization: `Basic ${basic}` }) },
		{ name: 'jwt, HS256', type: 'jwt', configuration: { secret: SECRET }, credential: async () => bearer(signed) },
		{
			name: 'jwt, RS256 by JWKS',
			type: 'jwt',
			configuration: { jwksUrl: `${issuer.url}/jwks` },
			credential: async () => bearer(issuer.token),
		},
		{ name: 'oauth2', type: 'oauth2', configuration: {}, credential: async ({ url }) => bearer((await obtainTokens(url, ACCOUNT)).access) },
	]);
}

await main();
