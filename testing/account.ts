// A client of the management API: a user with an organization of their own.

import { randomBytes } from 'node:crypto';
import type { JsonObject, JsonSchema } from '../core/contract/nouns.ts';

/** An answer of the service. */
export interface Answer {
	status: number;
	headers: Headers;
	/** Parsed JSON, or the text; null without a body. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
	body: any;
}

export interface NewTool {
	name: string;
	/** The name of the executor. */
	type: string;
	/** The executor's config. */
	executionConfig: JsonObject;
	description?: string;
	/** Default: no arguments. */
	parameters?: JsonSchema;
}

export interface NewGateway {
	/** The name of the transport. Default `mcp`. */
	type?: string;
	/** The transport's config. */
	configuration?: JsonObject;
	/** The path segment, such as `/main`. Default: one of its own. */
	endpoint?: string;
	/** The authentication method; null for none, so that it admits nobody. Default `api_key`. */
	auth?: { type: string; configuration?: JsonObject } | null;
	/** The ids of its tools. */
	tools?: readonly string[];
}

export interface MadeGateway {
	id: string;
	url: string;
	/** A key of the gateway, if its method is `api_key`; null otherwise. */
	key: string | null;
}

export interface Account {
	token: string;
	email: string;
	password: string;
	organization: { id: string; name: string; slug: string };
	/** Sends a request to the management API as this user. @param body JSON */
	send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
	/** Makes a tool. @returns its id @throws Error showing the answer when it is refused */
	tool(tool: NewTool): Promise<string>;
	/** Makes a gateway with its method and its tools. @throws Error showing the answer when it is refused */
	gateway(gateway?: NewGateway): Promise<MadeGateway>;
	/** Runs a tool over the management API, as its owner. @throws Error showing the answer when it is refused */
	execute(toolId: string, args: JsonObject): Promise<Answer>;
	/** Registers a new user who joins this account's organization; their requests are for that one. @throws Error showing the answer when it is refused */
	member(role: 'owner' | 'admin' | 'member' | 'viewer'): Promise<Account>;
}

const PASSWORD = 'Correct1Horse';
const unique = (): string => randomBytes(6).toString('hex');

/** Sends one request; texts and bytes are sent as they are, anything else as JSON. */
export async function send(url: string, method: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
	const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
	const type = body === undefined ? {} : { 'content-type': 'application/json' };
	const init: RequestInit = { method, headers: { ...type, ...headers } };
	if (body !== undefined) init.body = isRaw ? (body as string) : JSON.stringify(body);
	const response = await fetch(url, init);
	const text = await response.text();
	const isJson = response.headers.get('content-type')?.includes('json') ?? false;
	return { status: response.status, headers: response.headers, body: text === '' ? null : isJson ? JSON.parse(text) : text };
}

export async function registerAccount(url: string, organizationName = `Org ${unique()}`): Promise<Account> {
	const email = `${unique()}@example.com`;
	const form = { email, password: PASSWORD, firstName: 'Ada', lastName: 'Byron', organizationName };
	const { token, organization } = must(await send(`${url}/auth/register`, 'POST', form)).data;
	return accountOf(url, { token, email, organization }, {});
}

type Identified = Pick<Account, 'token' | 'email' | 'organization'>;

/** @param always headers of every request */
function accountOf(url: string, { token, email, organization }: Identified, always: Record<string, string>): Account {
	const ask: Account['send'] = (method, path, body, headers = {}) =>
		send(url + path, method, body, { authorization: `Bearer ${token}`, ...always, ...headers });
	const post = async (path: string, body: unknown) => must(await ask('POST', path, body)).data;
	return {
		...{ token, email, password: PASSWORD, organization, send: ask },
		async tool({ description = 'A tool of a test.', parameters = { type: 'object', properties: {} }, ...tool }) {
			return (await post(`/organizations/${organization.id}/tools`, { description, parameters, ...tool })).id;
		},
		async gateway({ type = 'mcp', configuration = {}, endpoint = `/gw-${unique()}`, auth = { type: 'api_key' }, tools = [] } = {}) {
			const made = await post('/gateways', { name: 'Gateway', type, endpoint, configuration });
			if (tools.length > 0) await post(`/gateways/${made.id}/tools/bulk`, { toolIds: tools });
			if (auth) await post(`/gateways/${made.id}/auth`, auth);
			const key = auth?.type === 'api_key' ? (await post(`/gateways/${made.id}/auth/api-keys`, { name: 'test' })).key : null;
			return { id: made.id, url: made.url, key };
		},
		async member(role) {
			const joining = await registerAccount(url);
			const invited = await post(`/organizations/${organization.id}/invitations`, { email: joining.email, role });
			must(await joining.send('POST', '/invitations/accept', { token: invited.token }));
			return accountOf(url, { ...joining, organization }, { 'x-organization-id': organization.id });
		},
		execute: (toolId, args) => ask('POST', `/organizations/${organization.id}/tools/${toolId}/execute`, { parameters: args }),
	};
}

/** @returns the body @throws Error that shows the answer unless it is a success */
function must({ status, body }: Answer): Answer['body'] {
	if (status >= 300) throw new Error(`The service answered ${status}: ${JSON.stringify(body)}`);
	return body;
}
