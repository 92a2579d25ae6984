// Tests importing an API's description again: the report of changes, and the effects on tools, users' own texts and gateways.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Judge, readDocument } from '../helpers/document.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

let service: SharedService;
let account: Account;
let judge: Judge;
let tools: string;
let origin: string;
const called: string[] = [];
const upstream = createServer((request, response) => {
	called.push(`${request.method} ${request.url}`);
	response.setHeader('content-type', 'application/json').end('{"name":"Rex"}');
});

before(async () => {
	await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
	const address = upstream.address();
	assert.ok(address !== null && typeof address === 'object');
	origin = `http://127.0.0.1:${address.port}`;
	service = await sharedService();
	account = await registerAccount(service.url);
	judge = await readDocument(service.url);
	tools = `/organizations/${account.organization.id}/tools`;
});
after(async () => {
	upstream.close();
	await service.stop();
});

const query = (name: string, schema: object = { type: 'string' }, more: object = {}): object => ({ name, in: 'query', schema, ...more });
const operation = (operationId: string, more: object = {}): object => ({
	operationId,
	summary: `Does ${operationId}.`,
	responses: {},
	...more,
});
const documentOf = (paths: object, more: object = {}): string =>
	JSON.stringify({ openapi: '3.0.3', info: { title: 'Pets', version: '1' }, paths, ...more });

interface Connected {
	apiId: string;
	// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
	read(schemaContent: string, more?: object): Promise<any>;
	/** By the name that they were imported with. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
	tools(): Promise<Record<string, any>>;
}

async function connect(): Promise<Connected> {
	const { id } = must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: origin }), 201).body.data;
	return {
		apiId: id,
		async read(schemaContent, more = {}) {
			const answer = must(await account.post(`/apis/${id}/import-schema`, { schemaContent, ...more }), 200);
			assert.equal(judge.fault('POST /apis/{id}/import-schema', answer), null);
			return answer.body.data.changes;
		},
		async tools() {
			const { tools: found } = must(await account.get(`${tools}?apiId=${id}`), 200).body.data;
			return Object.fromEntries(found.map((tool: { imported: { name: string } }) => [tool.imported.name, tool]));
		},
	};
}

const NOTHING = { added: 0, removed: 0, restored: 0, changed: 0, unchanged: 0, breaking: 0, additive: 0, text: 0, toolsUpdated: 0 };

const FIRST = {
	'/same': { get: operation('same') },
	'/breaking': { get: operation('breaking', { parameters: [query('limit', { type: 'integer' })] }) },
	'/additive': { get: operation('additive', { parameters: [query('kind', { type: 'string', enum: ['dog'] }, { required: true })] }) },
	'/text': { get: operation('text') },
	'/gone': { get: operation('gone') },
};
const SECOND = {
	'/same': { get: operation('same') },
	'/breaking': { get: operation('breaking', { parameters: [query('limit', { type: 'integer', maximum: 9 }, { required: true })] }) },
	'/additive': {
		get: operation('additive', {
			parameters: [query('kind', { type: 'string', enum: ['cat', 'dog'] }), query('page', { type: 'integer' })],
		}),
	},
	'/text': { get: operation('text', { summary: 'Says it better.' }) },
	'/new': { get: operation('new') },
};

const change = (name: string, what: string, kind: string | null, ...reasons: string[]): object => ({
	key: `GET /${name}`,
	name,
	change: what,
	kind,
	reasons,
});

test('a re-import reports the change of each operation, the gravest first, and the schema keeps it', async () => {
	const api = await connect();
	assert.deepEqual(await api.read(documentOf(FIRST)), { ...NOTHING, added: 5, operations: [], unlisted: 0 });
	assert.deepEqual(await api.read(documentOf(FIRST)), { ...NOTHING, unchanged: 5, operations: [], unlisted: 0 });
	const changes = await api.read(documentOf(SECOND));
	const { operations, unlisted, ...counts } = changes;
	assert.deepEqual(counts, { ...NOTHING, added: 1, removed: 1, changed: 3, unchanged: 1, breaking: 2, additive: 1, text: 1 });
	assert.equal(unlisted, 0);
	const limit = ['The argument limit became required.', 'The argument limit changed its maximum from none to 9.'];
	const kind = [
		'The argument kind is no longer required.',
		'The optional argument page was added.',
		'The argument kind gained the value "cat".',
	];
	assert.deepEqual(operations, [
		change('gone', 'removed', 'breaking'),
		change('breaking', 'changed', 'breaking', ...limit),
		change('additive', 'changed', 'additive', ...kind),
		change('text', 'changed', 'text', 'The title changed.', 'The description changed.'),
		change('new', 'added', null),
	]);
	const answer = must(await account.get(`/apis/${api.apiId}/schemas`), 200);
	assert.equal(judge.fault('GET /apis/{id}/schemas', answer), null);
	const listed = answer.body.data.schemas;
	assert.equal(listed.length, 3);
	const { operations: _operations, ...numbers } = changes;
	assert.deepEqual(
		listed.map((schema: { changes: object }) => schema.changes).filter((one: { removed: number }) => one.removed === 1),
		[numbers],
	);
	assert.ok(listed.every(({ report }: { report: object }) => !('operations' in report) && 'counts' in report));
	const shown = await Promise.all(listed.map(({ id }: { id: string }) => account.get(`/apis/${api.apiId}/schemas/${id}`)));
	for (const each of shown) assert.equal(judge.fault('GET /apis/{id}/schemas/{schemaId}', must(each, 200)), null);
	const kept = shown.map(({ body }) => body.data.changes);
	assert.deepEqual(
		kept.filter((one: { removed: number }) => one.removed === 1),
		[changes],
	);
});

test('a tool follows its operation with every import, whether or not tools are to be made', async () => {
	const api = await connect();
	await api.read(documentOf({ '/old/{id}': { get: operation('read') }, '/other': { get: operation('other') } }), {
		generateTools: true,
		operationIds: ['read'],
	});
	const { read } = await api.tools();
	const run = async () => must(await account.post(`${tools}/${read.id}/execute`, { parameters: { id: '7' } }), 200).body.data.status;
	assert.equal(await run(), 'success');
	const moved = await api.read(
		documentOf({ '/new/{id}': { get: operation('fetch_it', { operationId: 'read' }) }, '/other': { get: operation('other') } }),
	);
	assert.equal(await run(), 'success');
	assert.deepEqual(called.splice(0), ['GET /old/7', 'GET /new/7']);
	assert.deepEqual([moved.changed, moved.breaking, moved.toolsUpdated, moved.added, moved.removed], [1, 1, 1, 0, 0]);
	assert.deepEqual(
		moved.operations.map(({ key, name, reasons }: Record<string, unknown>) => [key, name, reasons]),
		[['GET /new/{id}', 'read', ['The path changed.', 'The title changed.', 'The description changed.']]],
	);
	const now = await api.tools();
	assert.deepEqual(Object.keys(now), ['read'], 'no tool was made that nobody had asked for');
	assert.deepEqual([now['read'].id, now['read'].name], [read.id, 'read']);
});

test('what users wrote is left alone by imports, shown beside what was imported, and taken back by null', async () => {
	const api = await connect();
	await api.read(documentOf({ '/a': { get: operation('a') }, '/b': { get: operation('b') } }), { generateTools: true });
	const { a, b } = await api.tools();
	assert.deepEqual([a.name, a.description, a.imported], ['a', 'Does a.', { name: 'a', description: 'Does a.' }]);
	const patch = async (body: object) => {
		const answer = must(await account.patch(`/tools/${a.id}`, body), 200);
		assert.equal(judge.fault('PATCH /tools/{id}', answer), null);
		return answer.body.data;
	};
	const own = await patch({ name: 'mine', description: 'My words.', status: 'inactive' });
	assert.deepEqual([own.name, own.description, own.imported], ['mine', 'My words.', { name: 'a', description: 'Does a.' }]);

	const again = { '/a': { get: operation('a', { summary: 'Says it better.' }) }, '/b': { get: operation('b', { summary: 'Too.' }) } };
	const { text, toolsUpdated } = await api.read(documentOf(again));
	assert.deepEqual([text, toolsUpdated], [2, 2]);
	const now = await api.tools();
	assert.deepEqual([now['a'].name, now['a'].description, now['a'].status], ['mine', 'My words.', 'inactive']);
	assert.deepEqual(now['a'].imported, { name: 'a', description: 'Says it better.' });
	assert.deepEqual([now['b'].id, now['b'].description, now['b'].status], [b.id, 'Too.', 'active']);

	assert.deepEqual((({ name, description }) => [name, description])(await patch({ description: null })), ['mine', 'Says it better.']);
	assert.deepEqual((({ name, description }) => [name, description])(await patch({ name: null })), ['a', 'Says it better.']);
});

test('null is no name or description of a tool that was written by hand', async () => {
	const tool = { name: 'own', description: 'Mine.', type: 'http', executionConfig: { method: 'GET', url: `${origin}/x` } };
	const { id, imported } = must(await account.post(tools, tool), 201).body.data;
	assert.equal(imported, null);
	for (const field of ['name', 'description']) {
		const { status, body } = await account.patch(`/tools/${id}`, { [field]: null });
		assert.deepEqual([status, body.details[0].path], [400, `/${field}`]);
		assert.match(body.message, new RegExp(`^${field} must be a string`));
	}
	const { name, description } = must(await account.get(`/tools/${id}`), 200).body.data;
	assert.deepEqual([name, description], ['own', 'Mine.']);
});

test('a tool whose operation is gone leaves its gateways, says so when it is run, and comes back with the operation', async () => {
	const api = await connect();
	const both = { '/a': { get: operation('stays') }, '/b': { get: operation('leaves') } };
	await api.read(documentOf(both), { generateTools: true });
	const { stays, leaves } = await api.tools();
	const gateway = await publishGateway(account, { endpoint: '/reimport', toolIds: [stays.id, leaves.id] });
	const client = new Client({ name: 'test', version: '1' });
	const transport = new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: { headers: { 'x-api-key': gateway.key } } });
	// The transport declares `sessionId` without `undefined`, which the client's exact types refuse.
	await client.connect(transport as Parameters<Client['connect']>[0]);
	const listed = async () => (await client.listTools()).tools.map(({ name }) => name).sort();
	assert.deepEqual(await listed(), ['leaves', 'stays']);

	const gone = await api.read(documentOf({ '/a': { get: operation('stays') } }));
	assert.deepEqual([gone.removed, gone.unchanged], [1, 1]);
	assert.equal((await api.tools())['leaves'].status, 'removed');
	assert.deepEqual(await listedSoon(listed, ['stays']), ['stays']);
	const run = await account.post(`${tools}/${leaves.id}/execute`, {});
	assert.deepEqual([run.status, run.body.error], [409, 'CONFLICT']);
	assert.match(run.body.message, /no longer has the operation of this tool/);
	assert.equal(judge.fault('POST /organizations/{orgId}/tools/{id}/execute', run), null);
	await assert.rejects(client.callTool({ name: 'leaves' }), /leaves/);
	const { tools: assigned } = must(await account.get(`/gateways/${gateway.id}/tools`), 200).body.data;
	assert.equal(assigned.length, 2, 'its place is kept');
	assert.equal(must(await account.post(`/apis/${api.apiId}/generate-tools`, {}), 200).body.data.total, 1);

	const back = await api.read(documentOf({ ...both, '/b': { get: operation('leaves', { parameters: [query('x')] }) } }));
	assert.deepEqual([back.restored, back.changed, back.additive, back.unchanged, back.toolsUpdated], [1, 0, 1, 1, 1]);
	assert.deepEqual(back.operations, [
		{ key: 'GET /b', name: 'leaves', change: 'restored', kind: 'additive', reasons: ['The optional argument x was added.'] },
	]);
	assert.deepEqual(await listedSoon(listed, ['leaves', 'stays']), ['leaves', 'stays']);
	called.length = 0;
	await client.callTool({ name: 'leaves', arguments: { x: '1' } });
	assert.deepEqual(called, ['GET /b?x=1']);
	await client.close();
});

const ERROR_PAGE = JSON.stringify({ openapi: '3.0.3', info: { title: 'Error page', version: '1' }, paths: {} });

test('a description without operations takes nothing away, unless that is meant', async () => {
	const api = await connect();
	await api.read(ERROR_PAGE);
	const two = documentOf({ '/a': { get: operation('a') }, '/b': { get: operation('b') } });
	await api.read(two, { generateTools: true });
	const read = (schemaContent: string, more: object = {}) => account.post(`/apis/${api.apiId}/import-schema`, { schemaContent, ...more });
	const uncallable = documentOf({ '/a': { get: null } });
	for (const content of [ERROR_PAGE, JSON.stringify({ openapi: '3.0.3', info: { title: 'Error page', version: '1' } }), uncallable]) {
		const refused = must(await read(content, { generateTools: true }), 400).body;
		assert.deepEqual([refused.error, refused.details[0].path], ['SCHEMA_INVALID', '/allowEmpty']);
		assert.match(refused.message, /the API has 2: nothing was changed/);
	}
	assert.deepEqual(
		Object.values(await api.tools()).map(({ status }) => status),
		['active', 'active'],
	);
	assert.equal(must(await account.get(`/apis/${api.apiId}/schemas`), 200).body.data.schemas.length, 2);
	assert.equal(must(await read(two, { allowEmpty: 'yes' }), 400).body.details[0].path, '/allowEmpty');
	const { removed, breaking, operations } = await api.read(ERROR_PAGE, { allowEmpty: true });
	assert.deepEqual([removed, breaking], [2, 2]);
	assert.deepEqual(operations, [change('a', 'removed', 'breaking'), change('b', 'removed', 'breaking')]);
	assert.equal((await api.read(ERROR_PAGE)).removed, 0, 'what is empty may stay so');
	assert.equal((await api.read(two)).restored, 2);
});

test('an import that also makes tools counts those that it brought up to date once, in both places', async () => {
	const api = await connect();
	const first = { '/a': { get: operation('a') }, '/b': { get: operation('b') }, '/c': { get: operation('c') } };
	await api.read(documentOf(first), { generateTools: true });
	const second = {
		...first,
		'/a': { get: operation('a', { summary: 'New.' }) },
		'/b': { get: operation('b', { summary: 'New.' }) },
		'/d': { get: operation('d') },
	};
	const body = { schemaContent: documentOf(second), generateTools: true };
	const { changes, tools: made } = must(await account.post(`/apis/${api.apiId}/import-schema`, body), 200).body.data;
	assert.equal(changes.toolsUpdated, 2);
	assert.deepEqual(made, { created: 1, updated: 2, unchanged: 1, total: 4 });
	const again = must(await account.post(`/apis/${api.apiId}/import-schema`, body), 200).body.data;
	assert.deepEqual([again.changes.toolsUpdated, again.tools.updated, again.tools.unchanged], [0, 0, 4]);
});

/** Waits for the list, since replicas learn of a change within a second. */
async function listedSoon(list: () => Promise<string[]>, wanted: string[]): Promise<string[]> {
	let seen: string[] = [];
	await soon(async () => {
		seen = await list();
		return isDeepStrictEqual(seen, wanted);
	}, wanted.join());
	return seen;
}

test('making tools after an import touches only those that the filters name, and what it finds up to date it leaves', async () => {
	const api = await connect();
	await api.read(documentOf({ '/a': { get: operation('a') }, '/b': { get: operation('b') } }), { generateTools: true });
	const more = {
		'/a': { get: operation('a', { summary: 'New.' }) },
		'/b': { get: operation('b') },
		'/c': { get: operation('c') },
		'/d': { get: operation('d') },
	};
	await api.read(documentOf(more));
	const generated = must(await account.post(`/apis/${api.apiId}/generate-tools`, { operationIds: ['a', 'c'] }), 200).body.data;
	assert.deepEqual(generated, { created: 1, updated: 0, unchanged: 1, total: 2 });
	const now = await api.tools();
	assert.deepEqual(Object.keys(now).sort(), ['a', 'b', 'c']);
	assert.equal(now['a'].description, 'New.');
});

test('the same API in another format version or with its keys in another order is not a change', async () => {
	const parameter = { name: 'limit', in: 'query', description: 'How many.' };
	const pet = {
		type: 'object',
		properties: { name: { type: 'string' }, friend: { $ref: '#/components/schemas/Pet' } },
		required: ['name'],
	};
	const get = {
		operationId: 'list',
		summary: 'Lists.',
		parameters: [{ ...parameter, schema: { type: 'string', nullable: true, enum: ['a', 'b'] } }],
	};
	const answers = { 200: { description: 'ok', content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } } };
	const api = await connect();
	await api.read(documentOf({ '/pets': { get: { ...get, responses: answers } } }, { components: { schemas: { Pet: pet } } }), {
		generateTools: true,
	});
	const reordered = {
		required: ['name'],
		properties: { friend: { $ref: '#/components/schemas/Pet' }, name: { type: 'string' } },
		type: 'object',
	};
	const newer = {
		...get,
		parameters: [{ schema: { enum: ['b', 'a', null], type: ['null', 'string'] }, ...parameter }],
		responses: answers,
	};
	const changes = await api.read(
		documentOf({ '/pets': { get: newer } }, { openapi: '3.1.0', components: { schemas: { Pet: reordered } } }),
	);
	assert.deepEqual([changes.unchanged, changes.changed, changes.operations], [1, 0, []]);
});

test('two imports of one API at once each compare with the result of the other', async () => {
	const api = await connect();
	await api.read(documentOf({ '/a': { get: operation('a') } }));
	const texts = ['/b', '/c'].map((path) => documentOf({ '/a': { get: operation('a') }, [path]: { get: operation(path.slice(1)) } }));
	const [one, other] = await Promise.all(texts.map((text) => api.read(text)));
	assert.deepEqual([one.added, other.added], [1, 1]);
	assert.equal(one.removed + other.removed, 1, 'the second removed what the first had added');
	const first = one.removed === 0 ? one : other;
	assert.deepEqual(
		first.operations.map((entry: { change: string }) => entry.change),
		['added'],
	);
});

test('long lists of changes are cut off with a count, and breaking changes are not cut off', async () => {
	const paths = (summary: string, count: number): object =>
		Object.fromEntries(Array.from({ length: count }, (_, index) => [`/p${index}`, { get: operation(`op${index}`, { summary }) }]));
	const api = await connect();
	assert.deepEqual(await api.read(documentOf(paths('Old.', 2_100))), { ...NOTHING, added: 2_100, operations: [], unlisted: 0 });
	const last = {
		'/p2098': { get: operation('op2098', { summary: 'Old.', parameters: [query('x', { type: 'string' }, { required: true })] }) },
	};
	const { operations, ...counts } = await api.read(documentOf({ ...paths('New.', 2_099), ...last, '/q': { get: operation('q') } }));
	const expected = { ...NOTHING, added: 1, removed: 1, changed: 2_099, breaking: 2, text: 2_098 };
	assert.deepEqual(counts, { ...expected, unlisted: 101 });
	assert.equal(operations.length, 2_000);
	assert.deepEqual(
		operations.slice(0, 3).map(({ name, change: what, kind }: Record<string, string>) => [name, what, kind]),
		[
			['op2099', 'removed', 'breaking'],
			['op2098', 'changed', 'breaking'],
			['op0', 'changed', 'text'],
		],
	);
});
