// Tests of skills over the management API: their rules and bounds, edits at once, tenancy, the audit log, and what a gateway sees of them.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
} from '../../../test/helpers/service.ts';
import { soon } from '../../../test/helpers/soon.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

let made = 0;
const skill = (more: object = {}) => ({ name: `skill-${made++}`, description: 'Does it.', body: '# Do it\n', ...more });
const create = async (more: object = {}) => must(await account.post('/skills', skill(more)), 201).body.data;
const fileOf = async (id: string, path?: string) =>
	account.get(`/skills/${id}/files${path === undefined ? '' : `?path=${encodeURIComponent(path)}`}`);

test('a skill is created, shown, changed and removed; SKILL.md is written from its fields', async () => {
	const files = { 'references/a.md': { text: 'ä' }, 'assets/dot.png': { base64: 'iVBORw==' } };
	const given = skill({ frontmatter: { license: 'MIT', metadata: { team: 'a: b' } }, arguments: [{ name: 'who', required: true }], files });
	const row = must(await account.post('/skills', given), 201).body.data;
	assert.deepEqual(row.arguments, [{ name: 'who', description: '', required: true, values: [] }]);
	assert.deepEqual(
		row.files.map(({ path, mimeType, size }: { path: string; mimeType: string; size: number }) => [path, mimeType, size]).slice(1),
		[
			['assets/dot.png', 'image/png', 4],
			['references/a.md', 'text/markdown', 2],
		],
	);
	const document = must(await fileOf(row.id), 200).body.data;
	const head = `---\nname: ${given.name}\ndescription: "Does it."\nlicense: "MIT"\nmetadata: {"team":"a: b"}\n---\n\n`;
	assert.equal(document.text, `${head}# Do it\n`);
	assert.equal(document.digest, `sha256:${createHash('sha256').update(document.text).digest('hex')}`);
	assert.equal(must(await fileOf(row.id, 'assets/dot.png'), 200).body.data.base64, 'iVBORw==');
	assert.deepEqual(must(await account.get(`/skills/${row.id}`), 200).body.data, row);

	const change = { description: 'Does more.', files: { 'references/a.md': null, 'scripts/x.sh': { text: 'ls' } } };
	const changed = must(await account.patch(`/skills/${row.id}`, change), 200).body.data;
	assert.equal(changed.body, '# Do it\n');
	assert.deepEqual(
		changed.files.map(({ path }: { path: string }) => path),
		['SKILL.md', 'assets/dot.png', 'scripts/x.sh'],
	);
	assert.match(must(await fileOf(row.id), 200).body.data.text, /^description: "Does more."$/m);
	assert.equal((await fileOf(row.id, 'references/a.md')).status, 404);
	assert.deepEqual(
		must(await account.get('/skills?q=does%20more'), 200).body.data.skills.map(({ id }: { id: string }) => id),
		[row.id],
	);
	assert.deepEqual(must(await account.del(`/skills/${row.id}`), 200).body.data, { id: row.id, removed: { assignments: 0 } });
	assert.equal((await account.del(`/skills/${row.id}`)).status, 404);
	assert.equal((await fileOf(row.id)).status, 404);
});

const FILE = { text: '' };
const BAD: [more: object, path: string][] = [
	[{ name: 'A' }, '/name'],
	[{ name: 'a--b' }, '/name'],
	[{ name: '-a' }, '/name'],
	[{ name: 'a_b' }, '/name'],
	[{ name: 'x'.repeat(65) }, '/name'],
	[{ description: '' }, '/description'],
	[{ description: 'x'.repeat(1025) }, '/description'],
	[{ description: 'a\u0000' }, '/description'],
	[{ body: '\ud800' }, '/body'],
	[{ body: 'x'.repeat(100_001) }, '/body'],
	[{ frontmatter: { name: 'x' } }, '/frontmatter/name'],
	[{ frontmatter: { metadata: { a: 1 } } }, '/frontmatter/metadata/a'],
	[{ arguments: [{ name: 'a b' }] }, '/arguments/0/name'],
	[{ files: { 'skill.MD': FILE } }, '/files/skill.MD'],
	[{ files: { 'skill.MD/a': FILE } }, '/files/skill.MD~1a'],
	[{ files: { 'references/con.md': FILE } }, '/files/references~1con.md'],
	[{ files: { 'COM1/a': FILE } }, '/files/COM1~1a'],
	[{ files: { 'a./b': FILE } }, '/files/a.~1b'],
	[{ files: { '../a': FILE } }, '/files/..~1a'],
	[{ files: { '/a': FILE } }, '/files/~1a'],
	[{ files: { 'a//b': FILE } }, '/files/a~1~1b'],
	[{ files: { 'a\\b': FILE } }, '/files/a\\b'],
	[{ files: { 'a.md': FILE, 'A.md': FILE } }, '/files/A.md'],
	[{ files: { a: FILE, 'A/b': FILE } }, '/files/A~1b'],
	[{ files: { a: { text: '', base64: '' } } }, '/files/a'],
	[{ files: { a: { base64: 'not base64' } } }, '/files/a/base64'],
	[{ files: { a: { text: '\ud800' } } }, '/files/a/text'],
	[{ files: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`f${at}`, FILE])) }, '/files'],
];
test('what is no skill is a 400 that names the field', async () => {
	for (const [more, path] of BAD) {
		const { status, body } = await account.post('/skills', skill(more));
		assert.deepEqual([status, body.details?.[0]?.path], [400, path], JSON.stringify(more).slice(0, 60));
	}
});

test('a name is taken once in an organization, and edits at once lose nothing', async () => {
	const { id, name } = await create();
	assert.equal((await account.post('/skills', skill({ name }))).status, 409);
	const other = await registerAccount(service.url);
	must(await other.post('/skills', skill({ name })), 201);
	const changes = ['a', 'b', 'c', 'd'].map((file) => account.patch(`/skills/${id}`, { files: { [file]: { text: file } } }));
	for (const answer of await Promise.all([...changes, account.patch(`/skills/${id}`, { body: 'new' })])) must(answer, 200);
	const { files, body } = must(await account.get(`/skills/${id}`), 200).body.data;
	assert.deepEqual([files.length, body], [5, 'new']);
});

test('files that changes add count together', async () => {
	const { id } = await create();
	const base64 = Buffer.alloc(700_000).toString('base64');
	for (const path of ['a', 'b', 'c', 'd', 'e']) must(await account.patch(`/skills/${id}`, { files: { [path]: { base64 } } }), 200);
	const { status, body } = await account.patch(`/skills/${id}`, { files: { f: { base64 } } });
	assert.deepEqual([status, body.error, body.message], [409, 'CONFLICT', 'A skill may have 4194304 bytes.']);
	must(await account.patch(`/skills/${id}`, { files: { a: null, f: { base64 } } }), 200);
});

test('a skill is assigned once to a gateway, listed, and leaves with either of them', async () => {
	const gateway = await publishGateway(account);
	const row = await create();
	const path = `/gateways/${gateway.id}/skills`;
	const [first, again] = await Promise.all([account.post(path, { skillId: row.id }), account.post(path, { skillId: row.id })]);
	assert.deepEqual(must(first, 201).body.data, must(again, 201).body.data);
	const { data } = must(await account.get(path), 200).body;
	assert.deepEqual(data.skills, [first.body.data]);
	assert.equal((await account.del(`/skills/${row.id}?ifUnused=true`)).status, 409);
	const { gatewaySkillId, ...shown } = first.body.data;
	assert.deepEqual(must(await account.del(`${path}/${gatewaySkillId}`), 200).body.data, { id: gatewaySkillId, gatewaySkillId, ...shown });
	assert.equal((await account.del(`${path}/${row.id}`)).status, 404);
	must(await account.post(path, { skillId: row.id }), 201);
	assert.deepEqual(must(await account.del(`/skills/${row.id}`), 200).body.data.removed, { assignments: 1 });
	assert.deepEqual(must(await account.get(path), 200).body.data.skills, []);
	const entries = must(await account.get('/audit-log?resourceType=gateway_skill'), 200).body.data;
	assert.deepEqual(entries.entries.map(({ action }: { action: string }) => action).slice(0, 2), ['delete', 'create']);
});

test('another organization’s skills and gateways do not exist', async () => {
	const [gateway, row, stranger] = [await publishGateway(account), await create(), await registerAccount(service.url)];
	const own = await publishGateway(stranger);
	for (const answer of [
		await stranger.get(`/skills/${row.id}`),
		await stranger.get(`/skills/${row.id}/files`),
		await stranger.patch(`/skills/${row.id}`, { body: '' }),
		await stranger.del(`/skills/${row.id}`),
		await stranger.post(`/gateways/${own.id}/skills`, { skillId: row.id }),
		await stranger.post(`/gateways/${gateway.id}/skills`, { skillId: row.id }),
		await stranger.get(`/gateways/${gateway.id}/skills`),
	])
		assert.equal(answer.status, 404);
});

test('the audit log names the files that a change touched', async () => {
	const { id } = await create({ files: { a: { text: '1' }, b: { text: '1' } } });
	must(await account.patch(`/skills/${id}`, { files: { a: { text: '2' } } }), 200);
	const { entries } = must(await account.get(`/audit-log?resourceType=skill&resourceId=${id}`), 200).body.data;
	assert.deepEqual(entries[0].changes, { files: { keys: ['a'] } });
});

test('a gateway shows a skill, and a change of it, within a second', async () => {
	const gateway = await publishGateway(account);
	const { id, name } = await create({ files: { 'a.md': { text: 'one' } } });
	const rpc = async (method: string, params: object) => {
		const body = { jsonrpc: '2.0', id: 1, method, params };
		const headers = { authorization: `Bearer ${gateway.key}`, accept: 'application/json, text/event-stream' };
		return (await send(gateway.url, 'POST', { body, headers })).body;
	};
	const names = async () => (await rpc('prompts/list', {})).result.prompts.map((prompt: { name: string }) => prompt.name);
	assert.deepEqual(await names(), []);
	must(await account.post(`/gateways/${gateway.id}/skills`, { skillId: id }), 201);
	await soon(async () => (await names())[0] === name, 'the prompt');
	const read = async () => (await rpc('resources/read', { uri: `skill://${name}/a.md` })).result?.contents[0].text;
	assert.equal(await read(), 'one');
	must(await account.patch(`/skills/${id}`, { files: { 'a.md': { text: 'two' } } }), 200);
	await soon(async () => (await read()) === 'two', 'the new content');
	must(await account.del(`/gateways/${gateway.id}/skills/${id}`), 200);
	await soon(async () => (await names()).length === 0 && (await read()) === undefined, 'the removal');
});

test('what lists show of a skill is small, also after a change', async () => {
	const values = Array.from({ length: 200 }, (_, at) => String(at).padEnd(100, 'x'));
	const metadata = Object.fromEntries(values.slice(0, 50).map((name) => [name.slice(0, 50), 'x'.repeat(1024)]));
	const row = await create();
	for (const [field, value] of Object.entries({ arguments: [{ name: 'who', values }], frontmatter: { metadata } })) {
		for (const { status, body } of [
			await account.post('/skills', skill({ [field]: value })),
			await account.patch(`/skills/${row.id}`, { [field]: value }),
		])
			assert.deepEqual([status, body.details[0].path], [400, `/${field}`]);
	}
});
