// Records over HTTP: those of a feature, by `core.recordsOf`, and those of an authentication method with sealed fields, from an npm package.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { FEATURES, writePackages } from '../helpers/written-packages.ts';

const CANARY = 'canary-9d41';

const SOURCE = `
import Joi from 'joi';
import { body, operation, organizationOf, storeOf } from '${FEATURES}';

const answer = Joi.any();
const path = '/ledgers/{key}';
const key = Joi.object({ key: Joi.string().required() });

const feature = {
	kind: 'feature', name: 'ledger', summary: 'Ledgers.', config: Joi.object({}), segments: ['ledgers'],
	permissions: { 'ledgers:read': 'viewer' },
	register(server, _config, core) {
		const recordsOf = (request) => {
			const { gatewayId } = request.query;
			const place = gatewayId === undefined ? {} : { gatewayId };
			return core.recordsOf({ organizationId: organizationOf(request).id, store: storeOf(request, core), hidesSealed: true, ...place });
		};
		const at = { path, params: key, need: 'ledgers:read', query: Joi.object({ gatewayId: Joi.string() }), answer };
		const show = (record) => record && { value: record.value, revision: record.revision, tags: record.tags };
		server.route([
			operation({ ...at, method: 'PUT', id: 'putLedger', summary: 'Puts.', body: body({ entry: Joi.string().required(), pin: Joi.string().required() }),
				async handler(request) {
					const records = recordsOf(request);
					const { key } = request.params;
					const known = await records.get(key);
					const options = { tags: ['ledger'], sealed: ['/pin'], audited: { type: 'ledger', name: key } };
					if (!known) await records.add(key, request.payload, options);
					else await records.update(key, known.revision, request.payload);
					return show(await records.get(key));
				} }),
			operation({ ...at, method: 'GET', id: 'getLedger', summary: 'Gets.', handler: async (request) => ({ record: show(await recordsOf(request).get(request.params.key)) }) }),
			operation({ ...at, method: 'DELETE', id: 'dropLedger', summary: 'Removes.', handler: async (request) => ({ removed: await recordsOf(request).remove(request.params.key) }) }),
		]);
	},
	audits: ['ledger'],
};

const fields = { user: Joi.string().required(), pin: Joi.string().required(), note: Joi.string().default('-') };
const method = {
	kind: 'auth', name: 'vault', summary: 'Pins.', config: Joi.object({}),
	async authenticate({ headers }, _config, { records }) {
		const user = headers['x-user'];
		if (user === undefined) return null;
		const record = await records.recall(user);
		if (record?.value.pin !== headers['x-pin']) throw Object.assign(new Error('Wrong.'), { code: 'unauthorized' });
		return { method: 'vault', subject: 'vault:' + user, scopes: ['tools:read'] };
	},
	management: [
		{ method: 'POST', path: '/pins', id: 'addPin', summary: 'Adds.', body: Joi.object(fields), answer,
			async handler({ body }, { records }) {
				await records.put(body.user, body, { watched: true, sealed: ['/pin'], tags: ['pin'] });
				return (await records.get(body.user)).value;
			} },
		{ method: 'GET', path: '/pins', id: 'listPins', summary: 'Lists.', list: 'pins', answer,
			async handler({ page }, { records }) {
				const { records: found, nextCursor } = await records.find('pin', page);
				return { items: found.map(({ value }) => value), nextCursor };
			} },
		{ method: 'PUT', path: '/pins/{user}', id: 'changePin', summary: 'Changes.', body: Joi.object(fields), answer,
			async handler({ params, body }, { records }) {
				const record = await records.get(params.user);
				if (!record) throw Object.assign(new Error('Pin not found.'), { code: 'not_found' });
				if (!(await records.update(params.user, record.revision, body))) throw Object.assign(new Error('It has changed.'), { code: 'conflict' });
				return (await records.get(params.user)).value;
			} },
	],
};
export default [feature, method];
`;

let packages: ReturnType<typeof writePackages>;
let plain: SharedService;
let service: TestService;
let owner: Account;
let stranger: Account;
let gateway: { id: string; url: string };
const lines: string[] = [];

before(async () => {
	packages = writePackages({ 'records-plugin': SOURCE });
	plain = await startTestService();
	service = await startTestService({ env: { GATEWAY_PLUGINS: 'records-plugin' }, replicaOf: plain, onLog: (line) => lines.push(line) });
	[owner, stranger] = [await registerAccount(service.url), await registerAccount(service.url)];
	gateway = await publishGateway(owner, { auth: 'vault' });
});
after(async () => {
	await service.stop();
	await plain.stop();
	packages[Symbol.dispose]();
});

const put = (path: string, body: unknown, by = owner): Promise<Answer> =>
	send(service.url + path, 'PUT', { body, headers: { authorization: `Bearer ${by.token}` } });
const remove = (path: string, by = owner): Promise<Answer> =>
	send(service.url + path, 'DELETE', { headers: { authorization: `Bearer ${by.token}` } });

/** Reads all rows of records, as the database has them. */
const stored = async (): Promise<string> =>
	JSON.stringify(await administer(service.config.database ?? assert.fail(), 'SELECT records::text AS row FROM records'));

test('a feature stores for an organization and for a gateway of it, beside each other and hidden from another organization', async () => {
	const own = { entry: 'a', pin: CANARY };
	const hidden = { value: { entry: 'a', pin: '••••' }, revision: 1, tags: ['ledger'] };
	assert.deepEqual(must(await put('/ledgers/x', own), 200).body.data, hidden);
	const atGateway = `/ledgers/x?gatewayId=${gateway.id}`;
	assert.deepEqual(must(await owner.get(atGateway), 200).body.data, { record: null });
	must(await put(atGateway, { ...own, entry: 'b' }), 200);
	assert.deepEqual(must(await owner.get('/ledgers/x'), 200).body.data, { record: hidden });
	assert.deepEqual(must(await put('/ledgers/x', { entry: 'c', pin: '••••' }), 200).body.data.value, { entry: 'c', pin: '••••' });
	assert.doesNotMatch(await stored(), new RegExp(CANARY));

	for (const path of ['/ledgers/x', atGateway]) {
		assert.deepEqual(must(await stranger.get(path), 200).body.data, { record: null });
		assert.deepEqual(must(await remove(path, stranger), 200).body.data, { removed: false });
	}
	const { entries } = must(await owner.get('/audit-log?resourceType=ledger'), 200).body.data;
	assert.deepEqual(
		entries.map((entry: { action: string; actor: { email: string } }) => [entry.action, entry.actor.email]),
		[1, 2].map(() => ['create', owner.email]),
	);
	assert.deepEqual(must(await remove('/ledgers/x'), 200).body.data, { removed: true });
	assert.equal(must(await owner.get(atGateway), 200).body.data.record.value.entry, 'b');
	must(await put('/ledgers/of-the-gateway?gatewayId=00000000-0000-4000-8000-000000000001', own), 404);
});

test('sealed fields of a method’s records are hidden in its management routes, kept by an update, and opened for its authentication', async () => {
	const at = `/gateways/${gateway.id}/pins`;
	const shown = { user: 'ada', pin: '••••', note: '-' };
	const enter = (pin: string): Promise<Answer> =>
		send(gateway.url, 'POST', {
			body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
			headers: { 'x-user': 'ada', 'x-pin': pin, accept: 'application/json, text/event-stream' },
		});
	assert.deepEqual(must(await owner.post(at, { user: 'ada', pin: CANARY }), 201).body.data, shown);
	assert.deepEqual(must(await owner.get(at), 200).body.data.pins, [shown]);
	must(await enter(CANARY), 200);
	must(await enter('another'), 401);
	assert.deepEqual(must(await put(`${at}/ada`, { ...shown, note: 'kept' }), 200).body.data, { ...shown, note: 'kept' });
	must(await enter(CANARY), 200);
	must(await put(`${at}/ada`, { ...shown, pin: `${CANARY}-2` }), 200);
	// A change is seen within a second.
	await until(async () => (await enter(`${CANARY}-2`)).status === 200, 'the new pin');
	must(await enter(CANARY), 401);
	must(await put(`${at}/ada`, shown, stranger), 404);
	assert.doesNotMatch(await stored(), new RegExp(CANARY));
	assert.doesNotMatch(lines.join('\n'), new RegExp(CANARY));
});
