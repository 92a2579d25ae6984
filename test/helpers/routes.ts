// Makes a valid request for every route of the management API: its path filled in, its body made from its schema. A new route whose ids or
// body cannot be derived fails the tests until they are added here.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RequestRoute } from '@hapi/hapi';
import type Joi from 'joi';
import { until } from './clock.ts';
import { exampleOf } from './example.ts';
import { addMember } from './members.ts';
import { obtainTokens } from './oauth.ts';
import { administer } from './postgres.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	type TestService,
} from './service.ts';

export interface Tenant {
	account: Account;
	ids: Record<string, string>;
}

const EMPTY_DOCUMENT = { schemaContent: '{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{}}' };

/** Makes an organization with one record of each kind; `name` is part of every name. */
export async function makeTenant(service: SharedService, name: string): Promise<Tenant> {
	const account = await registerAccount(service.url, `${name} org`);
	const org = account.organization.id;
	const api = must(await account.post('/apis', { name: `${name} api`, type: 'openapi', baseUrl: 'https://example.com' }), 201);
	must(await account.post(`/apis/${api.body.data.id}/credentials`, { type: 'bearer_token', credentials: { token: 't' } }), 201);
	const imported = must(await account.post(`/apis/${api.body.data.id}/import-schema`, EMPTY_DOCUMENT), 200);
	const [job] = must(await account.get(`/apis/${api.body.data.id}/imports`), 200).body.data.imports;
	const tool = await createHttpTool(account, { name: `${name}_tool`, url: 'https://example.com/' });
	const gateway = await publishGateway(account, { endpoint: `/${name}`, toolIds: [tool] });
	must(await account.patch(`/gateways/${gateway.id}`, { description: `${name} description` }), 200);
	const skillBody = { name: `${name.replaceAll(/[^a-z0-9]+/g, '-')}-skill`, description: `${name} skill`, body: `${name} body` };
	const skill = must(await account.post('/skills', skillBody), 201).body.data.id;
	must(await account.post(`/gateways/${gateway.id}/skills`, { skillId: skill }), 201);
	const provider = { name: `${name} models`, provider: 'custom', apiKey: 'key', baseUrl: await modelOrigin(), model: 'm' };
	const llmProvider = must(await account.post('/llm-providers', provider), 201).body.data.id;
	must(await account.post(`/llm-providers/${llmProvider}/chat`, { message: 'x', sessionId: name }), 200);
	const alert = { name: `${name} alert`, kind: 'error_rate', bound: 0.5, url: 'https://example.com/hook' };
	const alertRule = must(await account.post('/alerts', alert), 201).body.data.id;
	const agents = await makeAgent(account, name);
	const assigned = must(await account.get(`/gateways/${gateway.id}/tools`), 200).body.data.tools[0];
	const [method] = must(await account.get(`/gateways/${gateway.id}/auth`), 200).body.data.authMethods;
	const [key] = must(await account.get(`/gateways/${gateway.id}/auth/api-keys`), 200).body.data.apiKeys;
	const invitation = must(await account.post(`/organizations/${org}/invitations`, { email: `${name}@invited.example` }), 201);
	const accessKey = must(await account.post('/access-keys', { name: `${name} key` }), 201);
	const member = await addMember(account, 'member');
	const oauth = await letClientIn(account, gateway);
	return {
		account,
		ids: {
			organization: org,
			api: api.body.data.id,
			import: job.id,
			...(await beginImport(service, account, name)),
			schema: imported.body.data.schema.id,
			credentialType: 'bearer_token',
			tool,
			skill,
			alertRule,
			loggedRequest: await logRequest(account, gateway),
			llmProvider,
			chatSession: name,
			gateway: gateway.id,
			gatewayTool: assigned.gatewayToolId,
			authMethod: method.id,
			apiKey: key.id,
			invitation: invitation.body.data.id,
			file: 'start.js',
			pageFile: 'page.js',
			...(await beginDeviceLogins(service)),
			accessKey: accessKey.body.data.id,
			member: must(await member.get('/auth/profile'), 200).body.data.id,
			...oauth,
			...agents,
		},
	};
}

/** Calls a tool through a gateway that keeps payloads. @returns the id of the request, whose lines are written */
export async function logRequest(account: Account, { id, url, key }: { id: string; url: string; key: string }): Promise<string> {
	const origin = await modelOrigin();
	const toolId = await createHttpTool(account, { name: 'logged', url: `${origin}/forecast` });
	const assigned = must(await account.post(`/gateways/${id}/tools`, { toolId }), 201).body.data.gatewayToolId;
	must(await account.patch(`/gateways/${id}`, { payloadLog: { arguments: true, results: true } }), 200);
	const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'logged', arguments: { city: 'Bern', apiKey: 'hidden' } } };
	const answer = await send(url, 'POST', { body, headers: { 'x-api-key': key } });
	const requestId = must(answer, 200).headers.get('x-request-id') ?? '';
	await until(async () => (await account.get(`/analytics/requests/${requestId}/payloads`)).status === 200, 'the request is logged');
	must(await account.del(`/gateways/${id}/tools/${assigned}`), 200);
	must(await account.del(`/tools/${toolId}`), 200);
	return requestId;
}

/** Begins the login of a program. */
export async function beginDeviceLogin({ url }: { url: string }): Promise<{ device_code: string; user_code: string }> {
	const body = { client_id: 'gatehouse-proxy', device_name: 'laptop' };
	return must(await send(`${url}/device/authorize`, 'POST', { body }), 200).body;
}

async function beginDeviceLogins(service: SharedService): Promise<Record<string, string>> {
	const names = ['userCode', 'approvedCode', 'deniedCode'];
	return Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await beginDeviceLogin(service)).user_code])));
}

const SCHEMA = { type: 'object', properties: { name: { type: 'string' } } };

/** Makes an agent with executions that wait for an approval, one that has failed, a webhook, a version and a schedule. */
async function makeAgent(account: Account, name: string): Promise<Record<string, string>> {
	const nodes = [
		{ id: 'in', type: 'input', data: { schema: SCHEMA } },
		{ id: 'ask', type: 'approval', data: { message: `${name} question` } },
		{ id: 'out', type: 'output', data: { mapping: { answer: '{{nodes.ask.output}}' } } },
	];
	const edges = [
		{ id: 'e1', source: 'in', target: 'ask' },
		{ id: 'e2', source: 'ask', target: 'out' },
	];
	const agent = must(await account.post('/agents', { name: `${name} agent`, pipeline: { nodes, edges } }), 201).body.data.id;
	const start = async () => must(await account.post(`/agents/${agent}/invoke?async=true`, { input: { name } }), 202).body.data.executionId;
	const [failed, asking, running] = [await start(), await start(), await start()];
	const asked = async () => must(await account.get(`/agents/${agent}/approvals`), 200).body.data.approvals.length === 3;
	await until(asked, 'the question of the agent');
	const webhook = must(await account.post(`/agents/${agent}/webhooks`, { name: `${name} webhook` }), 201).body.data.id;
	must(await account.post(`/agents/${agent}/versions`, { changelog: `${name} changelog` }), 201);
	must(await account.post(`/agents/${agent}/schedule`, { cron: '0 0 1 1 *' }), 200);
	must(await account.post(`/agents/${agent}/executions/${failed}/cancel`, undefined), 200);
	const quickAgent = must(await account.post('/agents', { name: `${name} quick agent`, pipeline: SIMPLE }), 201).body.data.id;
	return { agent, quickAgent, execution: failed, askingExecution: asking, runningExecution: running, webhook, agentVersion: '0' };
}

/** Starts a server with one model, which answers everything with one word until the process ends. */
async function modelOrigin(): Promise<string> {
	const choice = { index: 0, delta: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' };
	const event = `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [choice] })}\n\ndata: [DONE]\n\n`;
	const server = createServer((request, response) => {
		request.resume();
		if (request.method === 'GET') response.end('{"data":[{"id":"m"}]}');
		else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event);
	}).unref();
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Inserts an import that seems to run, with a run that waits for ever: it can be cancelled, and delays no other. */
async function beginImport({ config }: SharedService, account: Account, name: string): Promise<Record<string, string>> {
	const api = must(await account.post('/apis', { name: `${name} importing`, type: 'openapi', baseUrl: 'https://example.com' }), 201);
	const { id } = api.body.data;
	const [job] = await administer(
		config.database ?? assert.fail(),
		`WITH job AS (
			INSERT INTO import_jobs (organization_id, api_id, actor, status, phase, body_bytes)
			SELECT organization_id, id, '{"userId":"00000000-0000-4000-8000-000000000000"}', 'running', 'fetching', 0
			FROM apis WHERE id = '${id}' RETURNING id, organization_id
		), run AS (
			INSERT INTO runs (id, organization_id, account_id, kind, status, awaited, trigger, definition, input)
			SELECT id, organization_id, organization_id, 'import', 'waiting', '{never}', 'manual', 'null', 'null' FROM job
		)
		SELECT id FROM job`,
	);
	return { importingApi: id, runningImport: String(job?.['id']) };
}

/** Stores the records that OAuth servers keep of an authorized client: the gateway's, and that of the universal endpoint. */
async function letClientIn(account: Account, gateway: { id: string; url: string }): Promise<Record<string, string>> {
	must(await account.post(`/gateways/${gateway.id}/auth`, { type: 'oauth2', isRequired: false }), 201);
	const { client, grantId, tokenId, consentId } = await letIn(account, gateway.url, `/gateways/${gateway.id}`);
	const everywhere = await letIn(account, `${account.url}/mcp`, `/organizations/${account.organization.id}`);
	return {
		...{ oauthClient: client, oauthGrant: grantId, oauthToken: tokenId, oauthConsent: consentId },
		...{ universalClient: everywhere.client, universalGrant: everywhere.grantId },
		...{ universalToken: everywhere.tokenId, universalConsent: everywhere.consentId },
	};
}

/** Lets a client in at this URL. @param path under which the management API shows what is kept of it */
async function letIn(account: Account, url: string, path: string) {
	const { client } = await obtainTokens(url, account);
	const [grant] = must(await account.get(`${path}/oauth/grants`), 200).body.data.grants;
	const [consent] = must(await account.get(`${path}/oauth/consents`), 200).body.data.consents;
	return { client: client.id, grantId: grant.grantId, tokenId: grant.accessTokens[0].id, consentId: consent.consentId };
}

/** The meaning of each path parameter, by the path's beginning where that decides. */
const MEANINGS: [prefix: string, parameter: string, id: string][] = [
	['/organizations/{orgId}/tools/', 'id', 'tool'],
	['/apis/{id}/imports/{importId}/cancel', 'id', 'importingApi'],
	['/apis/{id}/imports/{importId}/cancel', 'importId', 'runningImport'],
	['/apis/', 'id', 'api'],
	['/apis/', 'importId', 'import'],
	['/apis/', 'schemaId', 'schema'],
	['/apis/', 'type', 'credentialType'],
	['/tools/', 'id', 'tool'],
	['/skills/', 'id', 'skill'],
	['/llm-providers/', 'id', 'llmProvider'],
	['/llm-providers/', 'sessionId', 'chatSession'],
	['/agents/{id}/invoke', 'id', 'quickAgent'],
	['/agents/{id}/v1/chat/completions', 'id', 'quickAgent'],
	['/agents/', 'id', 'agent'],
	['/agents/{id}/executions/{execId}/approve', 'execId', 'askingExecution'],
	['/agents/{id}/executions/{execId}/cancel', 'execId', 'runningExecution'],
	['/agents/{id}/v1/models/{model}', 'model', 'agent'],
	['/agents/', 'execId', 'execution'],
	['/agents/', 'idx', 'agentVersion'],
	['/', 'webhookId', 'webhook'],
	['/alerts/', 'alertId', 'alertRule'],
	['/analytics/', 'requestId', 'loggedRequest'],
	['/analytics/', 'id', 'gateway'],
	['/', 'skillId', 'skill'],
	['/gateways/', 'id', 'gateway'],
	['/access-keys/', 'keyId', 'accessKey'],
	['/gateways/', 'keyId', 'apiKey'],
	['/', 'orgId', 'organization'],
	['/', 'toolId', 'tool'],
	['/', 'authId', 'authMethod'],
	['/', 'userId', 'member'],
	['/', 'invitationId', 'invitation'],
	['/docs/', 'file', 'file'],
	['/device/', 'pageFile', 'pageFile'],
	['/device/logins/{userCode}/deny', 'userCode', 'deniedCode'],
	['/device/logins/{userCode}/approve', 'userCode', 'approvedCode'],
	['/device/', 'userCode', 'userCode'],
	['/gateways/', 'clientId', 'oauthClient'],
	['/gateways/', 'grantId', 'oauthGrant'],
	['/gateways/', 'tokenId', 'oauthToken'],
	['/gateways/', 'consentId', 'oauthConsent'],
	['/organizations/', 'clientId', 'universalClient'],
	['/organizations/', 'grantId', 'universalGrant'],
	['/organizations/', 'tokenId', 'universalToken'],
	['/organizations/', 'consentId', 'universalConsent'],
];

export function fill(path: string, idOf: (meaning: string) => string): string {
	return path.replace(/\{(\w+)[*?]?\}/g, (_text, parameter: string) => {
		const found = MEANINGS.find(([prefix, name]) => name === parameter && path.startsWith(prefix));
		assert.ok(found, `${path}: MEANINGS does not say what {${parameter}} is`);
		return idOf(found[2]);
	});
}

export const ids = (tenant: Tenant) => (meaning: string) => tenant.ids[meaning] ?? assert.fail(`no ${meaning}`);

/** Fields of bodies that hold the id of a record. */
export const BODY_IDS: Record<string, string> = { toolId: 'tool', toolIds: 'tool', skillId: 'skill' };
/** Values of fields whose schema is a pattern. */
const FIELDS: Record<string, unknown> = {
	endpoint: '/example',
	password: 'Correct1Horse',
	newPassword: 'Correct2Horse',
	currentPassword: 'Correct1Horse',
	type: 'api_key',
};
const SIMPLE = {
	nodes: [
		{ id: 'in', type: 'input', data: { schema: SCHEMA } },
		{ id: 'out', type: 'output', data: { mapping: { greeting: 'Hello, {{input.name}}.' } } },
	],
	edges: [{ id: 'e', source: 'in', target: 'out' }],
};
/** Bodies that depend on more than their schema says. */
const BODIES: Record<string, unknown> = {
	'POST /apis': { name: 'a', type: 'openapi', baseUrl: 'https://example.com' },
	'POST /gateways': { name: 'a', type: 'mcp', endpoint: '/example' },
	'POST /organizations/{orgId}/tools': { name: 'a', type: 'http', executionConfig: { method: 'GET', url: 'https://example.com/' } },
	'POST /apis/{id}/import-schema': EMPTY_DOCUMENT,
	'POST /apis/{id}/credentials': { type: 'bearer_token', credentials: { token: 't' } },
	'POST /apis/{id}/credentials/test': { type: 'bearer_token' },
	'POST /gateways/{id}/explain': {},
	'PATCH /gateways/{id}/tools/{toolId}': { rateLimit: 5 },
	'POST /llm-providers': { name: 'a', provider: 'custom', apiKey: 'k', baseUrl: 'https://example.com/v1' },
	'PATCH /llm-providers/{id}': { name: 'changed' },
	'POST /alerts': { name: 'a', kind: 'error_rate', bound: 0.5, url: 'https://example.com/hook' },
	'PATCH /alerts/{alertId}': { name: 'changed' },
	'POST /agents': { name: 'a', pipeline: SIMPLE },
	'PATCH /agents/{id}': { name: 'changed' },
	'POST /agents/{id}/invoke': { input: { name: 'Ada' } },
	'POST /agents/{id}/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'x' }] },
	'POST /agents/{id}/versions': { changelog: 'a' },
	'POST /agents/{id}/versions/{idx}/rollback': {},
	'POST /agents/{id}/schedule': { cron: '0 0 1 1 *' },
	'POST /agents/{id}/test': { cases: [{ input: {} }] },
	'POST /agents/import': { format: 'gatehouse.agent/1', name: 'a', pipeline: SIMPLE },
	'POST /agents/{id}/executions/{execId}/approve': { answer: { approved: true } },
	'POST /agents/{id}/webhooks': { name: 'a' },
	'POST /webhooks/{webhookId}': { name: 'Ada' },
	'POST /agents/{id}/webhooks/{webhookId}/secret': {},
	'PATCH /skills/{id}': { description: 'changed' },
	'PATCH /auth/profile': { firstName: 'Eve' },
	'POST /device/authorize': { client_id: 'program' },
	'POST /device/token': { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'unknown' },
	'POST /device/revoke': { token: 'ak_live_unknown' },
};

/** Orders removals last, children before parents; of equals, the one removed along with another is later in the alphabet. */
export const byRemoval = (a: RequestRoute, b: RequestRoute): number => rank(a) - rank(b) || b.path.localeCompare(a.path);
const rank = ({ method, path }: RequestRoute): number => (method === 'delete' ? 100 - path.split('/').length : 0);

export const nameOf = ({ method, path }: RequestRoute): string => `${method.toUpperCase()} ${path}`;

export const schemaOf = (route: RequestRoute): Joi.ObjectSchema | null =>
	(route.settings.plugins?.operation?.bodyIs === 'unread' ? null : route.settings.plugins?.operation?.body) ?? null;

export function bodyOf(route: RequestRoute, idOf: (meaning: string) => string): unknown {
	const fixed = BODIES[nameOf(route)];
	if (fixed !== undefined) return fixed;
	const schema = schemaOf(route);
	if (!schema) return undefined;
	return exampleOf(schema, (field) => {
		const meaning = BODY_IDS[field];
		if (meaning === undefined) return FIELDS[field];
		return field.endsWith('s') ? [idOf(meaning)] : idOf(meaning);
	});
}

/** Routes that only say where something else is. */
export const NOTHING_THERE = ['POST /agents/{id}/v1/responses'];

/** Returns the routes of the management API itself, without the gateways' catch-all and the redirect to its page. */
export const managementRoutes = ({ server }: TestService): RequestRoute[] =>
	server
		.table()
		.filter(({ path, method }) => method !== '*' && !path.startsWith('/{org}') && !path.startsWith('/.well-known/') && path !== '/');
