// Tests headers of tools that hold a secret by their name: sealed at rest, shown as ••••, unchanged for whoever sends that mask back, and
// sent in full to the upstream.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { guardedGateway } from '../helpers/gateway-auth.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { addMember } from '../helpers/members.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { type Account, type Answer, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';
import { tagOf } from '../helpers/versions.ts';

let service: TestService;
let account: Account;
let database: Endpoint;
let tools: string;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
	database = service.config.database ?? assert.fail();
	tools = `/organizations/${account.organization.id}/tools`;
});
after(() => service.stop());

const HEADERS = {
	Authorization: 'Bearer canary-authorization',
	'X-API-Key': 'canary-api-key',
	Cookie: 'theme=dark; session=canary-cookie',
	'x-Auth-Token': 'canary-token',
	'X-Client-Secret': 'canary-secret',
	'X-Password': 'canary-password',
	'X-Team': 'pets',
};
const SHOWN = Object.fromEntries(Object.keys(HEADERS).map((name) => [name, name === 'X-Team' ? 'pets' : '••••']));

type Headers = Record<string, string | string[] | undefined>;

/** Starts an upstream that returns the headers that it received, as debug endpoints do. */
async function echo(t: TestContext) {
	const seen: Headers[] = [];
	const { origin } = await httpUpstream(t, (request, response) => {
		seen.push(request.headers);
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: { echo: request.headers } }));
	});
	return { origin, seen };
}

const CONFIGS: Record<string, (origin: string) => object> = {
	http: (origin) => ({ method: 'GET', url: `${origin}/pets` }),
	graphql: (origin) => ({ endpoint: `${origin}/graphql`, query: '{ echo }' }),
};

const idOf = (answer: Answer): string => must(answer, 201).body.data.id;
const make = (type: string, executionConfig: object, more: object = {}): Promise<Answer> =>
	account.post(tools, { name: `${type}_tool`, type, executionConfig, ...more });
const stored = async (id: string): Promise<string> => {
	const [row] = await administer(database, `SELECT execution_config::text AS config FROM tools WHERE id = '${id}'`);
	return String(row?.['config']);
};
const run = (id: string, parameters: object = {}, query = ''): Promise<Answer> =>
	account.post(`${tools}/${id}/execute${query}`, { parameters });
const lowered = (headers: object): Headers =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function assertSent(seen: Headers | undefined, headers: object = HEADERS): void {
	for (const [name, value] of Object.entries(lowered(headers))) assert.equal(seen?.[name], value, name);
}

const hidesAll = (text: unknown): void => assert.ok(!JSON.stringify(text).includes('canary'), JSON.stringify(text));

for (const [type, config] of Object.entries(CONFIGS))
	describe(`a tool of type ${type}`, () => {
		test('sends them, and shows them nowhere: neither to their owner nor to a viewer', async (t) => {
			const { origin, seen } = await echo(t);
			const created = must(await make(type, { ...config(origin), headers: HEADERS }), 201);
			const { id } = created.body.data;
			assert.deepEqual(created.body.data.executionConfig.headers, SHOWN);
			const viewer = await addMember(account, 'viewer');
			const here = { 'x-organization-id': account.organization.id };
			for (const who of [account, viewer]) {
				const one = must(await who.get(`/tools/${id}`, here), 200).body;
				assert.deepEqual(one.data.executionConfig.headers, SHOWN);
				hidesAll([one, must(await who.get(tools), 200).body]);
			}
			assert.ok(!(await stored(id)).includes('canary'));
			const answer = must(await run(id), 200).body;
			assertSent(seen[0]);
			assert.equal(answer.data.status, 'success');
			// An upstream that echoes the secrets does not reveal them to the caller.
			hidesAll(answer);
			assert.match(JSON.stringify(answer), /"x-team":"pets"/);
			const gateway = await guardedGateway(account, [{ type: 'none' }], [id]);
			hidesAll(await callTool(await mcpClient(gateway.url, {}, t), `${type}_tool`));
			assertSent(seen[1]);
			const dry = must(await run(id, {}, '?dryRun=true'), 200).body;
			hidesAll(dry);
			assert.equal(dry.data.request.headers['x-client-secret'], '••••');
		});

		test('keeps what comes back as it was shown, and takes what is new', async (t) => {
			const { origin, seen } = await echo(t);
			const id = idOf(await make(type, { ...config(origin), headers: HEADERS }));
			const shown = must(await account.get(`/tools/${id}`), 200).body.data.executionConfig;
			must(await account.patch(`/tools/${id}`, { executionConfig: shown }), 200);
			must(await run(id), 200);
			assertSent(seen[0]);
			const { Cookie: _gone, ...rest } = shown.headers;
			const headers = { ...rest, 'X-Password': 'canary-other', 'X-Team': 'owners' };
			const changed = must(await account.patch(`/tools/${id}`, { executionConfig: { ...shown, headers } }), 200);
			hidesAll(changed.body);
			must(await run(id), 200);
			const { Cookie: _former, ...kept } = HEADERS;
			assertSent(seen[1], { ...kept, 'X-Password': 'canary-other', 'X-Team': 'owners' });
			assert.equal(seen[1]?.['cookie'], undefined);
			assert.ok(!(await stored(id)).includes('canary'));
		});

		test('refuses •••• where nothing is stored, and where it would go to another origin', async (t) => {
			const [{ origin }, other] = [await echo(t), await echo(t)];
			const masked = { headers: { 'X-Password': '••••' } };
			const told = (answer: Answer): [string, string] => [answer.body.details[0].path, answer.body.message];
			const none = [
				'/executionConfig/headers/X-Password',
				'"headers.X-Password" is ••••, which stands for the stored value, and none is stored under this name: enter it.',
			];
			assert.deepEqual(told(must(await make(type, { ...config(origin), ...masked }), 400)), none);
			const id = idOf(await make(type, { ...config(origin), headers: { 'X-Token': 'canary-token' } }));
			assert.deepEqual(told(must(await account.patch(`/tools/${id}`, { executionConfig: { ...config(origin), ...masked } }), 400)), none);
			const moved = { ...config(other.origin), headers: { 'X-Token': '••••' } };
			assert.deepEqual(told(must(await account.patch(`/tools/${id}`, { executionConfig: moved }), 400)), [
				'/executionConfig/headers/X-Token',
				`"headers.X-Token" is ••••, which stands for the stored value, and that was entered for ${origin}: enter it again, if it belongs here too.`,
			]);
			must(await account.patch(`/tools/${id}`, { executionConfig: { ...moved, headers: { 'X-Token': 'canary-new' } } }), 200);
			must(await run(id), 200);
			assertSent(other.seen[0], { 'X-Token': 'canary-new' });
			// A header whose name marks no secret cannot hold the mask.
			must(await account.patch(`/tools/${id}`, { executionConfig: { ...moved, headers: { 'X-Team': '••••' } } }), 400);
		});

		test('of before is shown masked at once, sends what it sent, and is sealed when it is written', async (t) => {
			const { origin, seen } = await echo(t);
			const id = idOf(await make(type, config(origin)));
			const plain = JSON.stringify({ ...config(origin), headers: HEADERS, timeoutMs: 30_000 });
			await administer(database, `UPDATE tools SET execution_config = '${plain}' WHERE id = '${id}'`);
			const shown = must(await account.get(`/tools/${id}`), 200).body.data.executionConfig;
			assert.deepEqual(shown.headers, SHOWN);
			hidesAll(must(await run(id), 200).body);
			hidesAll(must(await run(id, {}, '?dryRun=true'), 200).body);
			must(await account.patch(`/tools/${id}`, { executionConfig: shown }), 200);
			assert.ok(!(await stored(id)).includes('canary'));
			must(await run(id), 200);
			assertSent(seen[0]);
			assertSent(seen[1]);
		});

		test('of before is sealed with any change of its tool, and no change is lost by that', async (t) => {
			const { origin, seen } = await echo(t);
			const id = idOf(await make(type, config(origin)));
			const plain = JSON.stringify({ ...config(origin), headers: HEADERS, timeoutMs: 30_000 });
			await administer(database, `UPDATE tools SET execution_config = '${plain}' WHERE id = '${id}'`);
			const etag = must(await account.get(`/tools/${id}`), 200).headers.get('etag') ?? '';
			const executionConfig = { ...config(origin), headers: { 'X-Team': 'new' } };
			const changes = Array.from({ length: 10 }, (_, n) => (n === 5 ? { executionConfig } : { name: `name ${n}` }));
			assert.equal((await account.patch(`/tools/${id}`, { name: 'late' }, { 'if-match': tagOf(0) })).status, 412);
			must(await account.patch(`/tools/${id}`, { name: 'first' }, { 'if-match': etag }), 200);
			assert.ok(!(await stored(id)).includes('canary'));
			must(await run(id), 200);
			assertSent(seen[0]);
			await administer(database, `UPDATE tools SET execution_config = '${plain}' WHERE id = '${id}'`);
			for (const answer of await Promise.all(changes.map((change) => account.patch(`/tools/${id}`, change)))) must(answer, 200);
			assert.deepEqual(must(await account.get(`/tools/${id}`), 200).body.data.executionConfig.headers, { 'X-Team': 'new' });
		});

		test('names one that cannot be read, and takes it anew', async (t) => {
			const { origin, seen } = await echo(t);
			const headers = { 'X-Token': 'canary-token', 'X-Password': 'canary-password' };
			const id = idOf(await make(type, { ...config(origin), headers }));
			const lost = createSecrets('cd'.repeat(32)).seal('canary', { organizationId: 'o', table: 'tools', row: id });
			const config2 = JSON.parse(await stored(id));
			config2.headers['X-Token'] = lost;
			await administer(database, `UPDATE tools SET execution_config = '${JSON.stringify(config2)}' WHERE id = '${id}'`);
			const message = `The secret "headers.X-Token" of the tool “${type}_tool” could not be read: enter it again.`;
			const ran = must(await run(id), 409).body;
			assert.deepEqual([ran.error, ran.message], ['SECRET_UNREADABLE', message]);
			const gateway = await guardedGateway(account, [{ type: 'none' }], [id]);
			const client = await mcpClient(gateway.url, {}, t);
			assert.deepEqual(await callTool(client, `${type}_tool`), [undefined, [message], true]);
			assert.equal((await client.listTools()).tools.length, 1);
			const shown = must(await account.get(`/tools/${id}`), 200).body.data.executionConfig;
			must(await account.get(tools), 200);
			must(await run(id, {}, '?dryRun=true'), 200);
			must(await account.patch(`/tools/${id}`, { name: 'renamed' }), 200);
			must(await account.patch(`/tools/${id}`, { executionConfig: shown }), 409);
			assert.equal(seen.length, 0);
			// The mask keeps the other header.
			const entered = { ...shown, headers: { ...shown.headers, 'X-Token': 'canary-again' } };
			must(await account.patch(`/tools/${id}`, { executionConfig: entered }), 200);
			must(await run(id), 200);
			assertSent(seen[0], { ...headers, 'X-Token': 'canary-again' });
		});
	});

test('a header that is made of placeholders is text that people edit, and is shown', async (t) => {
	const { origin, seen } = await echo(t);
	const headers = { Authorization: 'Bearer {token}', Cookie: 'session={token}', 'X-Token': 'canary-0-{token}' };
	const string = { type: 'string' };
	const parameters = { type: 'object', properties: { token: string } };
	const created = must(await make('http', { method: 'GET', url: origin, headers }, { parameters }), 201).body.data;
	assert.deepEqual(created.executionConfig.headers, { ...headers, 'X-Token': '••••' });
	must(await run(created.id, { token: 'abcdefgh' }), 200);
	assertSent(seen[0], { Authorization: 'Bearer abcdefgh', Cookie: 'session=abcdefgh', 'X-Token': 'canary-0-abcdefgh' });
});

test('headers of a part of a body are sealed alike', async (t) => {
	const { origin } = await echo(t);
	const parts = { file: { headers: { 'X-Part-Token': 'canary-part', 'X-Kind': 'photo' } } };
	const requestBody = { arg: 'body', contentType: 'multipart/form-data', parts };
	const created = must(await make('http', { method: 'POST', url: origin, requestBody }), 201).body.data;
	assert.deepEqual(created.executionConfig.requestBody.parts.file.headers, { 'X-Part-Token': '••••', 'X-Kind': 'photo' });
	assert.ok(!(await stored(created.id)).includes('canary'));
	must(await account.patch(`/tools/${created.id}`, { executionConfig: created.executionConfig }), 200);
});

test('neither the audit log nor a line of the log holds one', async () => {
	const entries: object[] = must(await account.get('/audit-log'), 200).body.data.entries;
	assert.ok(entries.length > 10);
	hidesAll(entries);
	assert.deepEqual(
		lines.filter((line) => line.includes('canary')),
		[],
	);
});
