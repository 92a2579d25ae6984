// The whole service on a database and a Redis prefix of its own, in this process, and the REST client of a fresh account.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from '@hapi/hapi';
import { Redis } from 'ioredis';
import { type Config, loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import type { LimitTable, Window } from '../../core/limits/limits.ts';
import { startService } from '../../core/main.ts';
import { type Endpoint, testDatabase } from './postgres.ts';
import { type TestRedis, testRedis } from './redis.ts';

export interface TestService {
	url: string;
	server: Server;
	config: Config;
	/** Stops it; the first one on a database also drops that. */
	stop(): Promise<void>;
}

export interface TestServiceOptions {
	/** Variables beside those of the database, Redis and the secrets. */
	env?: Record<string, string>;
	/** The service whose replica this one is: same database, Redis and secrets. */
	replicaOf?: TestService;
	/** Instead of the Redis of the tests: one that may be ended. */
	redis?: TestRedis;
	/** Without it, limits that no test meets by chance. */
	limits?: LimitTable;
	/** Takes every line at every level. */
	onLog?: (line: string) => void;
}

const wide: Window = { max: 1_000_000, seconds: 60 };
const LOOSE: LimitTable = { global: wide, categories: { health: null }, invoke: wide, gateways: wide, routes: {} };

export const SECRETS = { JWT_SECRET: 'j'.repeat(64), ENCRYPTION_KEY: 'ab'.repeat(32) };

/** Upstreams on 127.0.0.1 are open to it, unless `env` says otherwise. */
export async function startTestService({
	env = {},
	replicaOf,
	redis: ownRedis,
	limits = LOOSE,
	onLog,
}: TestServiceOptions = {}): Promise<TestService> {
	const owned = replicaOf ? null : await testDatabase();
	const redis = ownRedis ?? (await testRedis());
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-service-'));
	const database = replicaOf?.config.database ?? owned?.database;
	if (!database) throw new Error('A replica needs a service on a database.');
	const port = await freePort();
	const given = { PORT: String(port), HOST: '127.0.0.1', EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'fatal', SVC_DATA_DIR: folder, ...env };
	const read = loadConfig({ ...databaseVariables(database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, ...given });
	const keyPrefix = replicaOf?.config.redis?.keyPrefix ?? `gatehouse-test-${randomBytes(6).toString('hex')}:`;
	const config: Config = { ...read, redis: { host: redis.host, port: redis.port, keyPrefix } };
	const service = await startService(config, onLog ? createLog('trace', { write: onLog }) : createLog(config.logLevel), { limits });
	return {
		url: service.url,
		server: service.server,
		config,
		async stop() {
			await service.stop();
			rmSync(folder, { recursive: true, force: true });
			if (owned) {
				await dropKeys(redis, keyPrefix);
				await owned.drop();
			}
			await redis.stop();
		},
	};
}

/** The environment that points a service at this database. */
export const databaseVariables = ({ host, port, username, password, name, ssl }: Endpoint): Record<string, string> => ({
	DATABASE_HOST: host,
	DATABASE_PORT: String(port),
	DATABASE_USERNAME: username,
	DATABASE_PASSWORD: password,
	DATABASE_NAME: name,
	DB_SSL: String(ssl),
});

async function dropKeys({ host, port }: { host: string; port: number }, prefix: string): Promise<void> {
	const client = new Redis({ host, port, retryStrategy: () => null, lazyConnect: true });
	client.on('error', () => undefined);
	const reached = await client.connect().then(
		() => true,
		() => false,
	);
	// It was ended, and its keys with it.
	if (!reached) return client.disconnect();
	const keys = await client.keys(`${prefix}*`);
	if (keys.length > 0) await client.del(...keys);
	client.disconnect();
}

export async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const address = server.address();
	await new Promise((resolve) => server.close(resolve));
	if (address === null || typeof address === 'string') throw new Error('no port');
	return address.port;
}

// ── the REST client ────────────────────────────────────────────────────────────────────────────────────────────────

export interface Answer {
	status: number;
	headers: Headers;
	/** Parsed JSON; null for an empty body. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
	body: any;
}

export type Send = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

export interface Account {
	/** Of the service. */
	url: string;
	token: string;
	email: string;
	password: string;
	organization: { id: string; name: string; slug: string };
	get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
	post: Send;
	patch: Send;
	del: Send;
}

/** One request as it is; a string or Buffer body is sent untouched. */
export async function send(
	url: string,
	method: string,
	{ body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
	const raw = typeof body === 'string' || Buffer.isBuffer(body);
	const init: RequestInit = { method, headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers } };
	if (body !== undefined) init.body = raw ? (body as string) : JSON.stringify(body);
	const response = await fetch(url, init);
	const text = await response.text();
	const isJson = response.headers.get('content-type')?.includes('json') ?? false;
	return { status: response.status, headers: response.headers, body: text === '' ? null : isJson ? JSON.parse(text) : text };
}

/** A new user with an organization, over POST /auth/register. */
export async function registerAccount(url: string, organizationName = `Org ${randomBytes(4).toString('hex')}`): Promise<Account> {
	const email = `${randomBytes(6).toString('hex')}@example.com`;
	const password = 'Correct1Horse';
	const made = await send(`${url}/auth/register`, 'POST', {
		body: { email, password, firstName: 'Ada', lastName: 'Byron', organizationName },
	});
	if (made.status !== 201) throw new Error(`registration answered ${made.status}: ${JSON.stringify(made.body)}`);
	const { token, organization } = made.body.data;
	const request =
		(method: string): Send =>
		(path, body, headers = {}) =>
			send(url + path, method, { body, headers: { authorization: `Bearer ${token}`, ...headers } });
	const [get, post, patch, del] = [request('GET'), request('POST'), request('PATCH'), request('DELETE')];
	return { url, token, email, password, organization, get: (path, headers) => get(path, undefined, headers), post, patch, del };
}

/** A gateway with one auth method; its `key` where the method is `api_key`. */
export async function publishGateway(
	account: Account,
	options: { type?: string; endpoint?: string; auth?: string; toolIds?: string[]; configuration?: object } = {},
): Promise<{ id: string; url: string; key: string }> {
	const { type = 'mcp', endpoint = `/gw-${randomBytes(4).toString('hex')}`, auth = 'api_key', toolIds = [], configuration = {} } = options;
	const created = must(await account.post('/gateways', { name: 'Gateway', type, endpoint, configuration }), 201);
	const { id, url } = created.body.data;
	if (toolIds.length > 0) must(await account.post(`/gateways/${id}/tools/bulk`, { toolIds }), 201);
	must(await account.post(`/gateways/${id}/auth`, { type: auth }), 201);
	const key = must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'test' }), 201).body.data.key;
	return { id, url, key };
}

/** An http tool that calls `url`. */
export async function createHttpTool(
	account: Account,
	tool: { name: string; url: string; method?: string; parameters?: object },
): Promise<string> {
	const { name, url, method = 'GET', parameters = { type: 'object', properties: {} } } = tool;
	const path = `/organizations/${account.organization.id}/tools`;
	const answer = await account.post(path, {
		name,
		description: `Calls ${name}`,
		type: 'http',
		parameters,
		executionConfig: { method, url },
	});
	return must(answer, 201).body.data.id;
}

/** @throws Error showing the answer when its status is another */
export function must(answer: Answer, status: number): Answer {
	if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
	return answer;
}
