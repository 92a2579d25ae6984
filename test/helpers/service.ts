// The service that tests use, shared or their own, and the REST client of a fresh account.

import { randomBytes } from 'node:crypto';
import type { Server } from '@hapi/hapi';
import type { Config } from '../../core/config/config.ts';
import type { LimitTable } from '../../core/limits/table.ts';
import type { StoreOptions } from '../../db/index.ts';
import type { Endpoint } from './postgres.ts';
import type { TestRedis } from './redis.ts';
import './leftovers.ts';

/** Names the variable in which a run of many files passes the address from which the shared service is obtained. */
export const SHARED_SERVICE = 'GATEHOUSE_TEST_SERVICE';

export interface SharedService {
	url: string;
	config: Config;
	/** Stops the service, unless others use it too; the first one on a database also drops the database. */
	stop(): Promise<void>;
}

export interface TestService extends SharedService {
	server: Server;
}

export interface TestServiceOptions {
	/** Variables in addition to those of the database, Redis and the secrets. */
	env?: Record<string, string>;
	/** The service whose replica this one is: same database, Redis and secrets. */
	replicaOf?: SharedService;
	/** Replaces the tests' Redis by one that may be ended. */
	redis?: TestRedis;
	/** The limits; by default ones that no test reaches by accident. */
	limits?: LimitTable;
	/** The cost of passwords; by default the least that bcrypt allows. */
	passwordCost?: number;
	/** The waits for the database; long by default, `{}` for those of the product. */
	databaseWaits?: StoreOptions['waits'];
	/** The interval at which rules of alerts are looked at, and watched documents read. */
	alertPace?: { everyMs: number; watchMs: number };
	/** Receives every log line at every level. */
	onLog?: (line: string) => void;
}

export const SECRETS = { JWT_SECRET: 'j'.repeat(64), ENCRYPTION_KEY: 'ab'.repeat(32) };

/**
 * Returns the service of all files of a run, in a process of its own: a test keeps to organizations that it made. A file that runs alone
 * has one to itself.
 */
export async function sharedService(): Promise<SharedService> {
	const askFor = process.env[SHARED_SERVICE];
	if (!askFor) return startTestService();
	const { status, body } = await send(askFor, 'GET');
	if (status !== 200) throw new Error(`The shared service did not start: ${body}`);
	return { ...body, stop: () => Promise.resolve() };
}

/**
 * Starts a service in this process, on a database and a prefix of Redis of its own. It may call upstreams on 127.0.0.1 unless `env` says
 * otherwise. Its code is imported on demand, since loading costs half a second of CPU time.
 */
export const startTestService = async (options: TestServiceOptions = {}): Promise<TestService> =>
	(await import('./own-service.ts')).startOwnService(options);

/** Returns the environment that points a service at this database. */
export const databaseVariables = ({ host, port, username, password, name, ssl }: Endpoint): Record<string, string> => ({
	DATABASE_HOST: host,
	DATABASE_PORT: String(port),
	DATABASE_USERNAME: username,
	DATABASE_PASSWORD: password,
	DATABASE_NAME: name,
	DB_SSL: String(ssl),
});

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
	/** The service's URL. */
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

/** Sends one request; a string or Buffer body is sent unchanged. */
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

/** Registers a new user with an organization, over POST /auth/register. */
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

/** Makes a gateway with one auth method, and its `key` if the method is `api_key`. */
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

/** Makes an http tool that calls `url`. */
export async function createHttpTool(
	account: Account,
	tool: { name: string; url: string; method?: string; parameters?: object; timeoutMs?: number },
): Promise<string> {
	const { name, url, method = 'GET', parameters = { type: 'object', properties: {} }, timeoutMs } = tool;
	const path = `/organizations/${account.organization.id}/tools`;
	const answer = await account.post(path, {
		name,
		description: `Calls ${name}`,
		type: 'http',
		parameters,
		executionConfig: { method, url, ...(timeoutMs !== undefined && { timeoutMs }) },
	});
	return must(answer, 201).body.data.id;
}

/** Returns the response. @throws Error that shows it when its status is another */
export function must(answer: Answer, status: number): Answer {
	if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
	return answer;
}
