// Tests that a watched document is read again as it was imported: with the options of its importer, which nobody is shown.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../testing/waiting.ts';
import { administer } from '../helpers/postgres.ts';
import { type Account, type Answer, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';
import { writePackages } from '../helpers/written-packages.ts';

/** The operations of its documents are elsewhere, behind a token; options choose some of them. */
const CHOOSING = `
import Joi from 'joi';

export default {
	kind: 'importer',
	api: 1,
	name: 'choosing',
	summary: 'Makes operations of names.',
	config: Joi.object({ token: Joi.string().meta({ secret: true }), only: Joi.array().items(Joi.string()) }),
	detect: () => 0,
	async *parse({ url }, { token = '', only }, { request }) {
		const { status, body } = await request({ method: 'GET', url: new URL('/names', url).href, headers: { 'x-document-token': token } });
		if (status !== 200) throw Object.assign(new Error('The names cannot be read: ' + status), { code: 'schema_invalid' });
		for (const name of JSON.parse(body.toString()).filter((each) => !only || only.includes(each)))
			yield {
				...{ key: 'GET /' + name, operationId: name, name, description: name, method: 'GET', path: '/' + name, tags: [], deprecated: false },
				...{ parameters: { type: 'object' }, outputSchema: null, definition: {}, outcome: 'converted', reasons: [] },
			};
		return { format: 'choosing 1', title: null, version: null, servers: [] };
	},
	tool: ({ name, description }) => ({
		...{ name, description, parameters: { type: 'object' }, outputSchema: null, annotations: {} },
		...{ executor: 'http', executionConfig: { method: 'GET', url: 'https://choosing.example/' } },
	}),
};
`;
const TOKEN = 'canary-token-5d1';

let packages: Disposable;
let service: TestService;
let account: Account;
const lines: string[] = [];
const answers: Answer[] = [];
const ends: (() => unknown)[] = [];
/** The server of the documents: the names that it has, and how often it has told them. */
const document = { origin: '', names: ['a', 'b'], told: 0 };
const receiver = {
	origin: '',
	messages: [] as { type: string; data: { rule: { name: string }; changes: { added: number; removed: number } } }[],
};

before(async () => {
	// A server of tests needs no more of its test than when it ends.
	const ending = { after: (end: () => unknown) => void ends.push(end) } as unknown as Parameters<typeof httpUpstream>[0];
	const upstream = await httpUpstream(ending, (request, response) => {
		if (request.url !== '/names') return void response.end('names');
		if (request.headers['x-document-token'] !== TOKEN) return void response.writeHead(401).end();
		document.told++;
		response.end(JSON.stringify(document.names));
	});
	document.origin = upstream.origin;
	const hook = await httpUpstream(ending, async (request, response) => {
		let text = '';
		for await (const part of request) text += String(part);
		receiver.messages.push(JSON.parse(text));
		response.end();
	});
	receiver.origin = hook.origin;
	packages = writePackages({ 'choosing-plugin': CHOOSING });
	service = await startTestService({
		env: { GATEWAY_PLUGINS: 'choosing-plugin', LOG_LEVEL: 'debug' },
		alertPace: { everyMs: 100, watchMs: 3_600_000 },
		onLog: (line) => void lines.push(line),
	});
	account = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
	for (const end of ends) end();
});

const types = (): string[] => receiver.messages.map(({ type }) => type);
const rows = (sql: string) => administer(service.config.database ?? assert.fail(), sql);
const importWith = async (id: string, options: object): Promise<Answer> => {
	const answer = must(await account.post(`/apis/${id}/import-schema`, { schemaUrl: `${document.origin}/index`, options }), 200);
	answers.push(answer);
	return answer;
};
const shown = async (id: string) => {
	const answer = must(await account.get(`/apis/${id}`), 200);
	answers.push(answer);
	return answer.body.data;
};

/** Has the document looked at, and waits until it was read. */
async function read(id: string): Promise<void> {
	const before = document.told;
	await rows(`DELETE FROM api_watches WHERE api_id = '${id}'`);
	await until(
		() => document.told > before,
		() => `a read of the document: ${lines.filter((line) => line.includes('watched')).at(-1)}`,
	);
}

test('a document is watched with the options of its import: only a change that an import would make is told', async () => {
	const { id } = must(await account.post('/apis', { name: 'Names', type: 'choosing', baseUrl: document.origin }), 201).body.data;
	assert.equal((await shown(id)).watchable, false);
	await importWith(id, { token: TOKEN, only: ['a', 'c'] });
	assert.equal((await shown(id)).watchable, true);
	must(await account.post('/alerts', { name: 'rule', kind: 'document', apiId: id, url: `${receiver.origin}/` }), 201);
	must(await account.patch(`/apis/${id}`, { watch: 'daily' }), 200);
	await read(id);
	document.names = ['a', 'b', 'left out'];
	await read(id);
	document.names = ['a', 'c'];
	await read(id);
	await until(() => receiver.messages.length > 0, 'an alert');
	const [{ type, data } = assert.fail()] = receiver.messages;
	assert.deepEqual([type, data.changes.added, data.changes.removed], ['alert.opened', 1, 0]);

	await importWith(id, { token: TOKEN, only: ['a'] });
	await read(id);
	await until(() => receiver.messages.length > 1, 'its end');
	document.names = ['a', 'b'];
	await read(id);
	document.names = [];
	await read(id);
	await until(() => receiver.messages.length > 2, 'another alert');
	assert.deepEqual(types(), ['alert.opened', 'alert.recovered', 'alert.opened']);
	assert.equal(receiver.messages[2]?.data.changes.removed, 1);
});

test('what an import was given is sealed, shown nowhere, and gone with its API', async () => {
	const [{ api_id: id = '' } = {}] = await rows('SELECT api_id FROM api_sources');
	await shown(String(id));
	answers.push(await account.get(`/apis/${id}/schemas`), await account.get('/apis'), await account.get('/audit-log?limit=100'));
	assert.doesNotMatch(JSON.stringify([await rows('SELECT s::text FROM api_sources s'), answers.map(({ body }) => body), lines]), /canary/);
	must(await account.del(`/apis/${id}`, undefined), 200);
	assert.deepEqual(await rows('SELECT 1 FROM api_sources'), []);
});

test('a document whose import left nothing of its options is not read, which its API and the log tell, until it is imported again', async () => {
	document.names = ['a'];
	const { id } = must(await account.post('/apis', { name: 'Old', type: 'choosing', baseUrl: document.origin, watch: 'daily' }), 201).body
		.data;
	await importWith(id, { token: TOKEN });
	await rows(`DELETE FROM api_sources WHERE api_id = '${id}'`);
	const etag = (await account.get(`/apis/${id}`)).headers.get('etag') ?? '';
	assert.equal((await shown(id)).watchable, false);
	must(await account.post('/alerts', { name: 'other', kind: 'document', apiId: id, url: `${receiver.origin}/` }), 201);
	const before = document.told;
	await rows(`DELETE FROM api_watches WHERE api_id = '${id}'`);
	await until(() => lines.some((line) => line.includes('a watched document') && line.includes('import it again')), 'the log');
	assert.equal(document.told, before);
	await importWith(id, { token: TOKEN });
	assert.equal((await account.get(`/apis/${id}`, { 'if-none-match': etag })).body.data.watchable, true);
	await read(id);
	document.names = ['a', 'b'];
	await read(id);
	const own = () => receiver.messages.filter(({ data }) => data.rule.name === 'other');
	await until(() => own().length > 0, 'an alert');
	assert.deepEqual([own().length, own()[0]?.data.changes.added], [1, 1]);
});
