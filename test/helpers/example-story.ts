// Acme, whose pets an agent looks after: the story behind the examples of the document, and the request of each operation in it.

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until } from './clock.ts';
import { beginDeviceLogin, makeTenant, type Tenant } from './routes.ts';
import { type Account, must, registerAccount, send, type TestService } from './service.ts';

export interface Story {
	tenant: Tenant;
	/** The URL of the API that its tools call. */
	petStore: string;
	/** Returns what to send instead of the page's example, where the request depends on existing records. */
	given(operation: string): Promise<Given>;
	end(): void;
}

export interface Given {
	query?: string;
	body?: object;
	headers?: Record<string, string>;
	/** The token of another user than the owner. */
	token?: string;
}

const PET = { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' }, kind: { type: 'string' } } };
const JSON_PET = { description: 'A pet.', content: { 'application/json': { schema: PET } } };

/** A small description, so that the examples stay short. */
const PET_STORE = {
	openapi: '3.1.1',
	info: { title: 'Pet store', version: '1.0.0' },
	paths: {
		'/pets': {
			post: {
				operationId: 'addPet',
				summary: 'Adds a pet.',
				tags: ['pets'],
				requestBody: { required: true, content: { 'application/json': { schema: PET } } },
				responses: { 201: JSON_PET },
			},
		},
		'/pets/{id}': {
			get: {
				operationId: 'getPet',
				summary: 'Reads one pet by its id.',
				tags: ['pets'],
				parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
				responses: { 200: JSON_PET },
			},
		},
	},
};

async function startPetStore() {
	const server = createServer((request, response) => {
		const answer = request.url === '/openapi.json' ? PET_STORE : { id: '7', name: 'Rex', kind: 'dog' };
		response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	// The server listens on TCP.
	return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

export async function tellStory(service: TestService): Promise<Story> {
	const petStore = await startPetStore();
	const tenant = await makeTenant(service, 'pets');
	await describe(tenant, petStore.origin);
	const { account, ids } = tenant;
	const another = async (): Promise<Given> => ({ token: (await registerAccount(service.url, 'Somebody')).token });
	const special: Record<string, () => Given | Promise<Given>> = {
		'GET /auth/check-organization-name': () => ({ query: '?name=Acme%20Labs' }),
		'POST /auth/login': () => ({ body: { email: account.email, password: account.password } }),
		'POST /auth/logout': another,
		'PATCH /auth/change-password': another,
		'POST /auth/reset-password': async () => ({ body: { token: await mailedToken(service), newPassword: 'Battery2Staple' } }),
		'POST /invitations/accept': () => invited(service, account),
		'POST /apis/{id}/import-schema': () => ({ body: { schemaUrl: `${petStore.origin}/openapi.json`, generateTools: true } }),
		'POST /device/authorize': () => ({ body: { client_id: 'gatehouse-proxy', device_name: 'laptop' } }),
		'POST /device/token': () => approvedDevice(service, account),
		'POST /device/revoke': () => ({ body: { token: 'ak_live_unknown' } }),
		'POST /agents/{id}/executions/{execId}/approve': () => ({ body: { answer: { approved: true, comment: 'Go ahead.' } } }),
		'POST /agents/{id}/executions/{execId}/retry': () => activated(tenant),
		'POST /webhooks/{webhookId}': () => signed(tenant),
		'POST /approvals/look': () => linked(service, account, {}),
		'POST /approvals/answer': () => linked(service, account, { answer: { approved: true } }),
		'POST /gateways/{id}/explain': () => ({ body: { keyId: ids['apiKey'], tool: ids['tool'], arguments: {} } }),
		'POST /gateways/{id}/tools': () => ({ body: { toolId: ids['spareTool'] } }),
		'POST /gateways/{id}/tools/bulk': () => ({ body: { toolIds: [ids['spareTool']] } }),
	};
	return {
		tenant,
		petStore: petStore.origin,
		given: async (operation) => (await special[operation]?.()) ?? {},
		end: petStore.close,
	};
}

/** Gives records readable names and texts, and imports a description with operations. */
async function describe({ account, ids }: Tenant, petStore: string): Promise<void> {
	const { organization, api, tool, skill, gateway } = ids;
	must(await account.patch(`/organizations/${organization}`, { name: 'Acme' }), 200);
	must(await account.patch('/auth/profile', { firstName: 'Ada', lastName: 'Lovelace' }), 200);
	must(await account.patch(`/apis/${api}`, { name: 'Pet store', baseUrl: petStore, description: 'Pets and their owners.' }), 200);
	// A credential is for one origin, and was removed with the previous one.
	must(await account.post(`/apis/${api}/credentials`, { type: 'bearer_token', credentials: { token: 'stored' } }), 201);
	must(await account.patch(`/agents/${ids['agent']}`, { name: 'Greeter', description: 'Greets when somebody agrees.' }), 200);
	must(await account.patch(`/agents/${ids['quickAgent']}`, { name: 'Quick greeter' }), 200);
	must(await account.patch(`/gateways/${gateway}`, { name: 'Pets', description: 'Finds pets for the front desk.' }), 200);
	const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
	const executionConfig = { method: 'GET', url: `${petStore}/pets/{id}` };
	const find = { name: 'find_pet', description: 'Finds one pet by its id.', parameters, executionConfig };
	must(await account.patch(`/tools/${tool}`, find), 200);
	const care = { name: 'care-for-pets', description: 'Cares for pets. Use when a pet is ill.', body: 'Find the pet with find_pet first.' };
	must(await account.patch(`/skills/${skill}`, { ...care, files: { 'references/vets.md': { text: 'Call 555 0100.' } } }), 200);
	const schemaContent = JSON.stringify(PET_STORE);
	const imported = must(await account.post(`/apis/${api}/import-schema`, { schemaContent, generateTools: true }), 200);
	ids['schema'] = imported.body.data.schema.id;
	ids['import'] = must(await account.get(`/apis/${api}/imports?sort=-createdAt`), 200).body.data.imports[0].id;
	const { tools } = must(await account.get(`/organizations/${organization}/tools?q=getPet`), 200).body.data;
	ids['spareTool'] = tools[0].id;
	// Lines of the request log are written in batches.
	const hasAgents = async () => must(await account.get('/analytics/overview'), 200).body.data.agent.calls > 0;
	await until(hasAgents, 'the line of a run of an agent');
}

/** Allows a program a login. */
async function approvedDevice(service: TestService, account: Account): Promise<Given> {
	const { device_code, user_code } = await beginDeviceLogin(service);
	const body = { permissions: ['tools:read', 'tools:execute'], organizationId: account.organization.id };
	must(await account.post(`/device/logins/${user_code}/approve`, body), 200);
	return { body: { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code } };
}

/** Names the organization of the account: by then it may be a member of others. */
const inOwn = ({ organization }: Account): Record<string, string> => ({ 'x-organization-id': organization.id });

/** Activates the agent again, which was deactivated for the example of that. */
async function activated({ account, ids }: Tenant): Promise<Given> {
	must(await account.post(`/agents/${ids['agent']}/activate`, undefined, inOwn(account)), 200);
	return {};
}

/** Signs the message of a webhook, as its sender does. */
async function signed(tenant: Tenant): Promise<Given> {
	await activated(tenant);
	const { account, ids } = tenant;
	const path = `/agents/${ids['agent']}/webhooks/${ids['webhook']}/secret`;
	const { secret } = must(await account.post(path, undefined, inOwn(account)), 200).body.data;
	const body = { name: 'Ada' };
	const [id, seconds] = ['msg_1', String(Math.floor(Date.now() / 1000))];
	const content = `${id}.${seconds}.${JSON.stringify(body)}`;
	const signature = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
		.update(content)
		.digest('base64');
	return { body, headers: { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` } };
}

/** Lets an agent ask the owner by mail. */
async function linked({ config }: TestService, account: Account, more: object): Promise<Given> {
	const nodes = [
		{ id: 'in', type: 'input', data: { schema: { type: 'object' } } },
		{ id: 'ask', type: 'approval', data: { message: 'Feed the cat?', approvers: { emails: [account.email] } } },
		{ id: 'out', type: 'output', data: { mapping: { answer: '{{nodes.ask.output}}' } } },
	];
	const edges = [
		{ id: 'e1', source: 'in', target: 'ask' },
		{ id: 'e2', source: 'ask', target: 'out' },
	];
	const agent = must(await account.post('/agents', { name: 'Feeder', pipeline: { nodes, edges } }, inOwn(account)), 201).body.data.id;
	const known = new Set(tokensIn(config.dataDir));
	must(await account.post(`/agents/${agent}/invoke?async=true`, { input: {} }, inOwn(account)), 202);
	let token: string | undefined;
	await until(() => {
		token = tokensIn(config.dataDir).find((one) => !known.has(one));
		return token !== undefined;
	}, 'the mail of a question');
	return { body: { token, ...more } };
}

/** Lists the tokens of questions in the mails. */
function tokensIn(dataDir: string): string[] {
	return mailsIn(dataDir).flatMap((mail) => /svc_apr_[\w-]+\.[\w-]{43}/.exec(mail)?.[0] ?? []);
}

/** Reads the mails that are whole. Their lines may end anywhere (RFC 2045 §6.7). */
function mailsIn(dataDir: string): string[] {
	const folder = join(dataDir, 'mail');
	const files = readdirSync(folder).filter((name) => name.endsWith('.eml'));
	return files.map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('=\r\n', '').replaceAll('=3D', '='));
}

/** Invites an existing account. */
async function invited({ url }: TestService, account: Account): Promise<Given> {
	const guest = await registerAccount(url, 'Guest');
	const path = `/organizations/${account.organization.id}/invitations`;
	const made = must(await account.post(path, { email: guest.email }), 201).body.data;
	return { token: guest.token, body: { token: new URL(made.url).hash.replace(/^#(token=)?/, '') } };
}

/** Requests a token for the forgotten password of another user, so that the users of the story stay logged in. */
async function mailedToken({ url, config }: TestService): Promise<string> {
	const { email } = await registerAccount(url, 'Forgetful');
	must(await send(`${url}/auth/forgot-password`, 'POST', { body: { email } }), 200);
	let token: string | undefined;
	await until(() => {
		token = mailsIn(config.dataDir)
			.filter((mail) => mail.includes(email))
			.map((mail) => /svc_rst_[\w-]{43}/.exec(mail)?.[0])[0];
		return token !== undefined;
	}, 'the mail of a forgotten password');
	return token ?? '';
}
