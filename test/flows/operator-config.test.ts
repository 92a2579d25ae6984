// A feature, an executor and an importer of another company, configured by the operator: configuration with secrets of the environment,
// permissions, limits, audited types and segments.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { addMember } from '../helpers/members.ts';
import { type Account, must, registerAccount, type SharedService, send, startTestService, type TestService } from '../helpers/service.ts';
import { FEATURES, writePackages } from '../helpers/written-packages.ts';

const CANARY = 'canary-of-the-operator';

const SOURCE = `
import Joi from 'joi';
import { operation } from '${FEATURES}';

const operator = Joi.object({ prefix: Joi.string().default('plain'), key: Joi.string().meta({ secret: true }), max: Joi.number() });
const none = Joi.object({});
const path = '/acme-hooks';
const answer = Joi.any();

const feature = {
	kind: 'feature', name: 'acme_hooks', summary: 'Hooks.',
	config: Joi.object({ key: Joi.string().required().meta({ secret: true }), burst: Joi.number().default(5) }),
	permissions: { 'hooks:read': 'viewer', 'hooks:write': 'admin' },
	audits: ['hook'],
	limits: { deliveries: { max: 3, seconds: 60 } },
	segments: ['acme-hooks'],
	register(server, config, core) {
		const told = { burst: config.burst, fits: config.key === '${CANARY}'.toUpperCase(), frozen: Object.isFrozen(config) };
		server.route([
			operation({ method: 'GET', path, id: 'readHooks', summary: 'Reads.', need: 'hooks:read', answer, handler: () => told }),
			operation({ method: 'POST', path, id: 'addHook', summary: 'Adds.', need: 'hooks:write', body: Joi.object({ type: Joi.string() }), answer,
				handler: async (request) => {
					const resourceId = '00000000-0000-4000-8000-000000000001';
					const changes = { url: { from: null, to: 'https://a.example' } };
					await core.recordAudit(request, { action: 'create', resourceType: request.payload.type, resourceId, resourceName: 'first', changes });
					return {};
				} }),
			operation({ method: 'GET', path: path + '/deliveries', id: 'readDeliveries', summary: 'Reads.', need: 'hooks:read', limit: 'deliveries', answer, handler: () => ({}) }),
		]);
	},
};
const shown = ({ prefix, key, max }) => ({ prefix, max, fits: key === '${CANARY}'.toUpperCase() });
const executor = {
	kind: 'executor', name: 'acme_peek', summary: 'Shows.', creatable: true, config: none, operator,
	async check(_config, context) { if (!shown(context.operator).fits) throw new Error('check has no configuration'); },
	async execute(_args, _config, call) { return { content: [{ type: 'text', text: JSON.stringify([shown(call.operator), Object.isFrozen(call.operator)]) }] }; },
};
const importer = {
	kind: 'importer', name: 'acme_format', summary: 'Reads.', config: none, operator,
	detect: (text) => (text.startsWith('acme') ? 1 : 0),
	async *parse(_source, _config, context) {
		const description = JSON.stringify([shown(context.operator), Object.isFrozen(context.operator)]);
		yield { key: 'a', operationId: null, name: 'a', description, method: 'GET', path: '/a', tags: [], deprecated: false,
			parameters: { type: 'object' }, outputSchema: null, definition: {}, outcome: 'converted', reasons: [] };
		return { format: 'acme', title: null, version: null, servers: [] };
	},
	tool: ({ name, description, parameters, outputSchema }) => ({ name, description, executor: 'acme_peek', parameters, outputSchema, annotations: {}, executionConfig: {} }),
};
export default [feature, executor, importer];
`;

const FILE = `
feature:acme_hooks: { key: "\${env:HOOKS_KEY}" }
executor:acme_peek: { key: "\${env:HOOKS_KEY}", prefix: peek, max: "\${env:HOOKS_MAX}" }
importer:acme_format: { key: "\${env:HOOKS_KEY}" }
`;

let packages: ReturnType<typeof writePackages>;
let plain: SharedService;
let service: TestService;
let owner: Account;
let taken: Account;
const lines: string[] = [];

const variables = (): Record<string, string> => ({
	GATEWAY_PLUGINS: 'acme-hooks',
	GATEWAY_PLUGINS_CONFIG: 'plugins.yaml',
	HOOKS_KEY: CANARY.toUpperCase(),
	HOOKS_MAX: '7',
});

before(async () => {
	packages = writePackages({ 'acme-hooks': SOURCE });
	writeFileSync(join(packages.folder, 'plugins.yaml'), FILE);
	plain = await startTestService();
	taken = await registerAccount(plain.url, 'Acme Hooks');
	service = await startTestService({ env: variables(), replicaOf: plain, onLog: (line) => lines.push(line) });
	owner = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	await plain.stop();
	packages[Symbol.dispose]();
});

test('a feature gets its configuration, with the defaults and the variables of the environment, frozen', async () => {
	assert.deepEqual(must(await owner.get('/acme-hooks'), 200).body.data, { burst: 5, fits: true, frozen: true });
});

test('an executor gets it in check and in each call; an importer in its thread', async () => {
	const path = `/organizations/${owner.organization.id}/tools`;
	const tool = must(await owner.post(path, { name: 'peek', description: 'Peeks.', type: 'acme_peek', executionConfig: {} }), 201).body.data;
	const run = must(await owner.post(`${path}/${tool.id}/execute`, { parameters: {} }), 200).body.data;
	assert.ok(
		JSON.stringify(run).includes(JSON.stringify(JSON.stringify([{ prefix: 'peek', max: 7, fits: true }, true])).slice(1, -1)),
		JSON.stringify(run),
	);

	const api = must(await owner.post('/apis', { name: 'Acme', type: 'acme_format', baseUrl: 'https://acme.example' }), 201).body.data;
	must(await owner.post(`/apis/${api.id}/import-schema`, { schemaContent: 'acme' }), 200);
	const [operation] = must(await owner.get(`/apis/${api.id}/operations`), 200).body.data.operations;
	assert.equal(operation.description, JSON.stringify([{ prefix: 'plain', fits: true }, true]));
});

test('its permissions belong to the least role and those above it, and limit access keys', async () => {
	const [viewer, admin] = [await addMember(owner, 'viewer'), await addMember(owner, 'admin')];
	const as = { 'x-organization-id': owner.organization.id };
	assert.equal((await viewer.get('/acme-hooks', as)).status, 200);
	const refused = await viewer.post('/acme-hooks', { type: 'hook' }, as);
	assert.deepEqual([refused.status, refused.body.message], [403, 'Your role does not have the permission hooks:write.']);
	assert.equal((await admin.post('/acme-hooks', { type: 'hook' }, as)).status, 200);

	const made = must(await owner.post('/access-keys', { name: 'k', permissions: ['hooks:read'] }), 201).body.data;
	assert.deepEqual(made.permissions, ['hooks:read']);
	const headers = { authorization: `Bearer ${made.key}` };
	assert.equal((await send(`${service.url}/acme-hooks`, 'GET', { headers })).status, 200);
	assert.equal((await send(`${service.url}/acme-hooks`, 'POST', { headers, body: { type: 'hook' } })).body.error, 'INSUFFICIENT_SCOPE');
	assert.equal((await owner.post('/access-keys', { name: 'k', permissions: ['hooks:burn'] })).status, 400);
});

test('its entries stand in the audit log under its own type, and no others', async () => {
	must(await owner.post('/acme-hooks', { type: 'hook' }), 200);
	const [entry] = must(await owner.get('/audit-log?resourceType=hook'), 200).body.data.entries;
	assert.deepEqual([entry.action, entry.resourceName, entry.actor.email], ['create', 'first', owner.email]);
	assert.deepEqual(entry.changes, { url: { from: null, to: 'https://a.example' } });
	assert.equal((await owner.post('/acme-hooks', { type: 'gateway' })).status, 500);
	assert.equal(must(await owner.get('/audit-log?resourceType=gateway'), 200).body.data.entries.length, 0);
});

test('its limit class counts each caller by itself, with the headers of any limit', async () => {
	const other = await registerAccount(service.url);
	const statuses: number[] = [];
	for (let count = 0; count < 4; count++) statuses.push((await owner.get('/acme-hooks/deliveries')).status);
	assert.deepEqual(statuses, [200, 200, 200, 429]);
	const shown = await other.get('/acme-hooks/deliveries');
	assert.deepEqual([shown.status, shown.headers.get('x-ratelimit-limit'), shown.headers.get('x-ratelimit-remaining')], [200, '3', '2']);
});

test('its segment is reserved: no new organization takes it, and an older one is told in the log', async () => {
	assert.equal((await registerAccount(service.url, 'Acme Hooks')).organization.slug, 'acme-hooks-2');
	assert.equal(taken.organization.slug, 'acme-hooks');
	const answer = await send(`${service.url}/acme-hooks/main`, 'GET');
	assert.match(answer.body.message, /There is nothing at GET \/acme-hooks\/main/);
	const told = lines.find((line) => line.includes('which is also the slug of an organization')) ?? assert.fail('nothing was logged');
	assert.match(told, /feature:acme_hooks has the segment \\"acme-hooks\\".* its routes win/);
});

test('schemas are shown in GET /plugins and in the document, values nowhere', async () => {
	const { text: plugins, body } = await read('/plugins');
	const peek = body.data.plugins.find(({ name }: { name: string }) => name === 'acme_peek');
	assert.deepEqual(Object.keys(peek.operator.properties), ['prefix', 'key', 'max']);
	const { text: document } = await read('/openapi.json');
	assert.ok(document.includes('hooks:write'));
	for (const text of [plugins, document, ...lines]) assert.ok(!text.toLowerCase().includes(CANARY));
});

async function read(path: string) {
	const { body } = must(await owner.get(path), 200);
	return { text: JSON.stringify(body), body };
}

test('a variable that is not set stops the start with the file, the plugin and the field', async () => {
	const env = { ...variables(), HOOKS_KEY: '' };
	await assert.rejects(startTestService({ env, replicaOf: plain }), (error: Error) => {
		assert.match(
			error.message,
			/plugins\.yaml is invalid:\n {2}- feature:acme_hooks: \/key: the environment variable HOOKS_KEY is not set\./,
		);
		return true;
	});
});
