// Tests skills as people get them: by the real installer into the folders of three coding agents, the script run from there, the digests on two
// replicas and after a restart, and who is shown what.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const CLI = join(import.meta.dirname, '../../node_modules/skills/bin/cli.mjs');
const QUIET = { DISABLE_TELEMETRY: '1', DO_NOT_TRACK: '1', CI: '1', NO_COLOR: '1' };
/** One address for both replicas, as behind a proxy: it is in the documents. */
const PUBLIC_URL = 'https://tools.example';

let replicas: [TestService, TestService];
let own: TestService;
before(async () => {
	const first = await startTestService({ env: { PUBLIC_URL } });
	replicas = [first, await startTestService({ env: { PUBLIC_URL }, replicaOf: first })];
	own = await startTestService({ replicaOf: first });
});
after(async () => {
	await own.stop();
	await replicas[1].stop();
	await replicas[0].stop();
});

interface Ran {
	code: number;
	stdout: string;
	stderr: string;
}

const run = (file: string, args: string[], cwd: string, env: Record<string, string>): Promise<Ran> =>
	new Promise((resolve) => {
		const path = process.env['PATH'] ?? '';
		execFile(file, args, { cwd, env: { PATH: path, HOME: cwd, ...env }, timeout: 60_000 }, (error, stdout, stderr) =>
			resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
		);
	});

const install = async (home: string, ...args: string[]): Promise<string> => {
	const { code, stdout, stderr } = await run(process.execPath, [CLI, ...args], home, QUIET);
	assert.equal(code, 0, stdout + stderr);
	return stdout + stderr;
};

function folder(t: TestContext): string {
	const path = mkdtempSync(join(tmpdir(), 'skills-'));
	t.after(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

interface Shop {
	account: Account;
	id: string;
	url: string;
	key: string;
	toolIds: Record<string, string>;
	name: string;
}

/** Makes a gateway of skills at the service that has no other address, with two tools and a skill of the organization. */
async function shop(t: TestContext, configuration = {}, names = ['get_pet', 'delete_pet']): Promise<Shop> {
	const { origin } = await httpUpstream(t, (request, response) => {
		if (request.url?.includes('petId=404')) response.statusCode = 404;
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ asked: request.url, method: request.method }));
	});
	const account = await registerAccount(own.url);
	const parameters = { type: 'object', properties: { petId: { type: 'integer' } }, required: ['petId'] };
	const toolIds: Record<string, string> = {};
	for (const name of names) {
		const method = name.startsWith('delete') ? 'DELETE' : 'GET';
		toolIds[name] = await createHttpTool(account, { name, url: `${origin}/pets`, method, parameters });
	}
	const made = await publishGateway(account, { type: 'skills', endpoint: '/tools', toolIds: Object.values(toolIds), configuration });
	const { slug } = account.organization;
	return { account, ...made, toolIds, name: `${slug}-tools` };
}

async function addSkill({ account, id }: Shop, name = 'house-rules'): Promise<string> {
	const body = {
		name,
		description: 'Rules of the house. Use always.',
		body: 'Be kind.',
		files: { 'references/long.md': { text: 'Very kind.' } },
	};
	const skill = must(await account.post('/skills', body), 201).body.data.id;
	must(await account.post(`/gateways/${id}/skills`, { skillId: skill }), 201);
	return skill;
}

const AT = '/.well-known/agent-skills';
const bytesOf = async (url: string): Promise<Buffer> => Buffer.from(await (await fetch(url)).arrayBuffer());

test('the installer puts skills into the folders of three agents, finds changes, and the script calls from there', async (t) => {
	const its = await shop(t);
	const { account, url, name, key } = its;
	await addSkill(its);
	const home = folder(t);
	await install(home, 'add', url, '-y', '-a', 'claude-code', '-a', 'codex', '-a', 'goose');
	for (const agent of ['.agents', '.claude', '.goose'])
		for (const file of [`${name}/SKILL.md`, `${name}/references/get_pet.md`, `${name}/assets/tools.json`, 'house-rules/references/long.md'])
			assert.ok(existsSync(join(home, agent, 'skills', file)), `${agent} ${file}`);
	const prefix = name.toUpperCase().replaceAll('-', '_');
	const { tools } = must(await account.get(`/gateways/${its.id}/tools`), 200).body.data;
	const { gatewayToolId } = tools.find((one: { name: string }) => one.name === 'delete_pet');
	must(await account.patch(`/gateways/${its.id}/tools/${gatewayToolId}`, { confirm: 'always' }), 200);
	const skill = join(home, '.claude/skills', name);
	const script = (args: string[], env = {}): Promise<Ran> => run(process.execPath, ['scripts/call.mjs', ...args], skill, env);
	const called = await script(['get_pet', '{"petId":1}'], { [`${prefix}_API_KEY`]: key });
	assert.deepEqual(JSON.parse(called.stdout), { asked: '/pets?petId=1', method: 'GET' }, called.stderr);
	const listed = (await script(['--list'])).stdout;
	assert.match(listed, /^get_pet {2}Calls get_pet$/m);
	assert.match(listed, /^delete_pet {2}\[confirm with the user first\]/m);
	assert.equal(JSON.parse((await script(['--schema', 'get_pet'])).stdout).parameters.required[0], 'petId');
	const dry = await script(['--dry-run', 'get_pet', '{"petId":1}'], { [`${prefix}_API_KEY`]: key });
	assert.deepEqual(JSON.parse(dry.stdout), {
		method: 'POST',
		url: `${url}/tools/get_pet`,
		body: { petId: 1 },
		credential: [`${prefix}_API_KEY`],
	});
	const refused: [string[], object, number, RegExp][] = [
		[['get_pet', '{"petId":1}'], {}, 3, new RegExp(`No credential is set: set ${prefix}_API_KEY`)],
		[['get_pet', '{"petId":1}'], { [`${prefix}_API_KEY`]: 'svc_gw_wrong' }, 3, /^UNAUTHORIZED \(401\): .*\n(?:.*\n)*.*not accepted/],
		[['get_pet', '{"petId":"x"}'], { [`${prefix}_API_KEY`]: key }, 2, /VALIDATION_FAILED \(400\)/],
		[['get_pet', '{}'], {}, 2, /Arguments are missing: petId/],
		[['get_pet', '{'], {}, 2, /no JSON/],
		[['get_pets'], {}, 2, /no tool "get_pets"/],
		[['get_pet', '{"petId":404}'], { [`${prefix}_API_KEY`]: key }, 1, /EXECUTION_FAILED \(422\)/],
		[
			['delete_pet', '{"petId":1}'],
			{ [`${prefix}_API_KEY`]: key },
			1,
			/\(422\): This tool runs only when the user confirms it.*did not run/,
		],
		[['get_pet', '{"petId":1}'], { [`${prefix}_URL`]: 'http://127.0.0.1:1/' }, 4, /cannot be reached/],
		[['--nonsense'], {}, 2, /no option --nonsense/],
	];
	for (const [args, env, code, says] of refused) {
		const { code: got, stdout, stderr } = await script(args, env);
		assert.deepEqual([got, stdout], [code, ''], stderr);
		assert.match(stderr, says);
	}
	const checked = await install(home, 'check');
	assert.match(checked, /Checking 2 skill/);
	assert.doesNotMatch(checked, /Updated/);
	must(await account.patch(`/tools/${its.toolIds['get_pet']}`, { description: 'Finds one pet' }), 200);
	assert.match(await install(home, 'update', '-y'), /Updated/);
	assert.match(readFileSync(join(skill, 'SKILL.md'), 'utf8'), /\| get\\_pet \| Finds one pet \|/);
});

test('the script takes what the gateway takes, and the quick start works as it is printed', async (t) => {
	const { account, id, url, name, key } = await shop(t, {}, ['delete_pet']);
	const { origin } = await httpUpstream(t, (request, response) => {
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ asked: request.url }));
	});
	const properties = { who: { type: 'string' }, lang: { type: 'string', default: 'en' } };
	const greet = { type: 'object', properties, required: ['who', 'lang'] };
	const label = { type: 'object', patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false };
	for (const [tool, parameters] of Object.entries({ get_greeting: greet, get_label: label })) {
		const toolId = await createHttpTool(account, { name: tool, url: `${origin}/${tool}`, parameters });
		must(await account.post(`/gateways/${id}/tools`, { toolId }), 201);
	}
	const many = await httpUpstream(t, (_request, response) => {
		response.setHeader('content-type', 'application/json').end(JSON.stringify(Array.from({ length: 200 }, (_none, n) => `item ${n}`)));
	});
	const list = await createHttpTool(account, { name: 'get_many', url: many.origin });
	must(await account.post(`/gateways/${id}/tools`, { toolId: list, maxResultBytes: 1024 }), 201);
	const home = folder(t);
	await install(home, 'add', url, '-y', '-a', 'claude-code');
	const skill = join(home, '.claude/skills', name);
	const env = { [`${name.toUpperCase().replaceAll('-', '_')}_API_KEY`]: key };
	const script = (...args: string[]): Promise<Ran> => run(process.execPath, ['scripts/call.mjs', ...args], skill, env);
	const calls: [args: string[], asked: string][] = [
		[['get_greeting', '{"who":"x"}'], '/get_greeting?who=x&lang=en'],
		[['get_label', '{"x-a":"1"}'], '/get_label?x-a=1'],
	];
	for (const [args, asked] of calls) {
		const { stdout, stderr } = await script(...args);
		assert.deepEqual([stderr, stdout && JSON.parse(stdout)], ['', { asked }]);
	}
	const cut = await script('get_many');
	assert.ok(cut.code === 0 && JSON.parse(cut.stdout).length < 200, 'what was cut is not all');
	assert.match(cut.stderr, /^\[Cut: the first .* bytes\. Ask for less\.\]\n\/: the first \d+ of 200 items\n$/);
	assert.match((await script('get_greeting', '{"lang":"en"}')).stderr, /^Arguments are missing: who\.$/m);
	const [, start = ''] = /```sh\n([\s\S]*?)\n```/.exec(readFileSync(join(skill, 'SKILL.md'), 'utf8')) ?? [];
	const commands = start.split('\n');
	assert.equal(commands.length, 4);
	assert.match(commands.at(-1) ?? '', / get_greeting '\{"who":"→","lang":"en"\}' {2}# calls it; /);
	const path = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
	for (const command of commands) {
		const { code, stderr } = await run('sh', ['-c', command], skill, { ...env, PATH: path });
		assert.deepEqual([code, stderr], [0, ''], command);
	}
});

test('both replicas and a new process give the same bytes, whose digests are those of the index, and a changed tool changes one of them', async (t) => {
	const its = await shop(t, {}, [
		'get_pet',
		'list_pets',
		'delete_pet',
		'get_order',
		'list_orders',
		'place_order',
		'get_user',
		'list_users',
		'login_user',
	]);
	await addSkill(its);
	const path = new URL(its.url).pathname;
	const digests = async ({ url }: TestService): Promise<Record<string, string>> => {
		const { body } = must(await send(`${url}${path}${AT}/index.json`, 'GET'), 200);
		assert.equal(body.$schema, 'https://schemas.agentskills.io/discovery/0.2.0/schema.json');
		for (const skill of body.skills) {
			const archive = await bytesOf(`${url}${path}${AT}/${skill.url}`);
			assert.equal(skill.digest, `sha256:${createHash('sha256').update(archive).digest('hex')}`);
		}
		return Object.fromEntries(body.skills.map(({ name, digest }: { name: string; digest: string }) => [name, digest]));
	};
	const before = await digests(replicas[0]);
	assert.deepEqual(
		Object.keys(before).map((name) => name.replace(its.name, '')),
		['house-rules', '-order', '-pet', '-user'],
	);
	assert.deepEqual(await digests(replicas[1]), before);
	const restarted = await startTestService({ env: { PUBLIC_URL }, replicaOf: replicas[0] });
	t.after(() => restarted.stop());
	assert.deepEqual(await digests(restarted), before);
	const { account } = its;
	must(await account.patch(`/tools/${its.toolIds['get_pet']}`, { description: 'Finds one pet' }), 200);
	const changed = await digests(own).then(() => digests(replicas[1]));
	assert.deepEqual(
		Object.keys(before).filter((name) => before[name] !== changed[name]),
		[`${its.name}-pet`],
	);
});

test('documents have types and tags, HEAD tells the same, and a client that has them gets 304', async (t) => {
	const { url, name } = await shop(t);
	const types: [string, string][] = [
		[`${AT}/index.json`, 'application/json; charset=utf-8'],
		['/.well-known/skills/index.json', 'application/json; charset=utf-8'],
		[`${AT}/${name}.tar.gz`, 'application/gzip'],
		[`${AT}/${name}.zip`, 'application/zip'],
		[`${AT}/${name}/SKILL.md`, 'text/markdown; charset=utf-8'],
		[`/.well-known/skills/${name}/scripts/call.mjs`, 'text/plain; charset=utf-8'],
	];
	for (const [path, type] of types) {
		const { status, headers } = await fetch(url + path);
		const etag = headers.get('etag') ?? '';
		assert.deepEqual([status, headers.get('content-type')], [200, type], path);
		const head = await fetch(url + path, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
		assert.deepEqual([head.status, head.headers.get('etag'), await head.text()], [200, etag, ''], path);
		assert.equal((await fetch(url + path, { headers: { 'if-none-match': etag } })).status, 304, path);
	}
});

test('anybody finds skills and nobody else’s; callers alone list and call, and only what is assigned', async (t) => {
	const [its, other] = [await shop(t), await shop(t, { discovery: 'minimal' }, ['secret_pet'])];
	await addSkill(other, 'secret-rules');
	const own = await createHttpTool(its.account, { name: 'unassigned', url: 'http://127.0.0.1:8999/' });
	assert.ok(own);
	for (const path of ['', '/skills', '/tools', `/skills/${its.name}/SKILL.md`, `/skills/${its.name}.tar.gz`, '/tools/get_pet'])
		assert.equal((await fetch(its.url + path)).status, 401, path);
	assert.equal((await fetch(`${its.url}/tools/get_pet`, { method: 'POST' })).status, 401);
	const as = (key: string) => ({ headers: { 'x-api-key': key } });
	const overview = must(await send(its.url, 'GET', as(its.key)), 200).body;
	assert.equal(overview.reference, `@${its.account.organization.slug}/tools`);
	assert.deepEqual(
		overview.skills.map(({ name }: { name: string }) => name),
		[its.name],
	);
	assert.equal((await send(its.url, 'GET', as(other.key))).status, 401);
	const post = (url: string, name: string, key: string) => send(`${url}/tools/${name}`, 'POST', { ...as(key), body: { petId: 1 } });
	for (const name of ['unassigned', 'secret_pet']) {
		const { status, body } = await post(its.url, name, its.key);
		assert.deepEqual([status, body.error], [404, 'TOOL_NOT_FOUND'], name);
	}
	assert.equal((await post(its.url, 'get_pet', other.key)).status, 401);
	const { body: index } = must(await send(`${other.url}${AT}/index.json`, 'GET'), 200);
	assert.deepEqual(
		index.skills.map(({ name }: { name: string }) => name),
		[other.name],
	);
	const files = must(await send(`${other.url}/.well-known/skills/index.json`, 'GET'), 200).body.skills[0].files;
	assert.deepEqual(files, ['SKILL.md', 'scripts/call.mjs']);
	for (const file of files) assert.doesNotMatch((await bytesOf(`${other.url}${AT}/${other.name}/${file}`)).toString(), /secret/);
	assert.equal((await fetch(`${other.url}${AT}/secret-rules.tar.gz`)).status, 404);
	const full = must(await send(`${other.url}/skills/secret-rules/SKILL.md`, 'GET', as(other.key)), 200);
	assert.match(full.body, /Be kind/);
	assert.deepEqual(must(await send(`${other.url}/tools`, 'GET', as(other.key)), 200).body.tools.length, 1);
	const home = folder(t);
	await install(home, 'add', other.url, '-y', '-a', 'claude-code');
	const prefix = other.name.toUpperCase().replaceAll('-', '_');
	const script = (...args: string[]): Promise<Ran> =>
		run(process.execPath, [join(home, '.claude/skills', other.name, 'scripts/call.mjs'), ...args], home, {
			[`${prefix}_API_KEY`]: other.key,
		});
	assert.match((await script('--list')).stdout, /^secret_pet/);
	assert.equal(JSON.parse((await script('secret_pet', '{"petId":7}')).stdout).asked, '/pets?petId=7');
});

test('a request of git may be compressed, and one that cannot be read is the client’s fault', async (t) => {
	const its = await shop(t);
	const ask = (body: Buffer, headers: Record<string, string> = {}): Promise<Response> => {
		const own = { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2', ...headers };
		return fetch(`${its.url}.git/git-upload-pack`, { method: 'POST', body: new Uint8Array(body), headers: own });
	};
	const plain = Buffer.from('0014command=ls-refs\n00010000');
	const gzip = { 'content-encoding': 'gzip' };
	const [first, second] = [await ask(plain), await ask(gzipSync(plain), gzip)];
	assert.deepEqual([first.status, second.status], [200, 200]);
	const text = await first.text();
	assert.match(text, /refs\/heads\/main/);
	assert.equal(await second.text(), text);
	for (const [body, status] of [
		[plain, 400],
		[gzipSync(plain).subarray(0, 15), 400],
		[gzipSync(Buffer.alloc(64 * 1024 * 1024)), 413],
	] as const)
		assert.equal((await ask(body, gzip)).status, status);
});

const HAS_GIT = spawnSync('git', ['--version']).status === 0;
const GIT = { GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' };
const needsGit = { skip: HAS_GIT ? false : 'There is no git on this machine: install it to run this test.' };

async function git(cwd: string, ...args: string[]): Promise<string> {
	const { code, stdout, stderr } = await run('git', args, cwd, GIT);
	assert.equal(code, 0, `git ${args.join(' ')}: ${stderr}`);
	return stdout.trim();
}

test('git clones skills in both versions of its protocol, whole and shallow, and pulls what changes', needsGit, async (t) => {
	const its = await shop(t);
	const { url, name, account } = its;
	const at = (path: string): string => new URL(path, url).href;
	const home = folder(t);
	const place = new URL(url).pathname;
	const addresses = [`${url}.git`, at(`/@${place.slice(1)}.git`), url];
	const describe = async (description: string) => must(await account.patch(`/tools/${its.toolIds['get_pet']}`, { description }), 200);
	for (const [number, address] of addresses.entries()) await git(home, 'clone', '-q', address, `whole${number}`);
	for (const version of ['0', '2'])
		await git(home, '-c', `protocol.version=${version}`, 'clone', '-q', '--depth', '1', `${url}.git`, `v${version}`);
	const clones = ['whole0', 'whole1', 'whole2', 'v0', 'v2'];
	const heads = async () => new Set(await Promise.all(clones.map((clone) => git(join(home, clone), 'rev-parse', 'HEAD'))));
	assert.equal((await heads()).size, 1);
	assert.match(await git(join(home, 'v0'), 'ls-files', '-s', `skills/${name}/scripts`), /^100755/);
	for (const description of ['Finds one pet', 'Finds a pet by its number']) {
		await describe(description);
		await git(join(home, 'whole1'), 'pull', '-q', '--ff-only');
	}
	await git(home, 'clone', '-q', '--depth', '1', `${url}.git`, 'late');
	assert.equal(await git(join(home, 'late'), 'rev-list', '--count', 'HEAD'), '1');
	for (const clone of ['whole0', 'v2']) await git(join(home, clone), 'pull', '-q', '--ff-only');
	for (const clone of ['whole2', 'v0']) await git(join(home, clone), '-c', 'protocol.version=0', 'pull', '-q', '--ff-only');
	assert.equal((await heads()).size, 1);
	await git(join(home, 'late'), 'fetch', '-q', '--unshallow');
	await git(home, 'clone', '-q', `${url}.git`, 'fresh');
	for (const clone of [...clones, 'late', 'fresh']) {
		assert.equal(await git(join(home, clone), 'rev-list', '--count', 'HEAD'), '3', clone);
		assert.equal(await git(join(home, clone), 'fsck', '--strict'), '', clone);
		assert.match(readFileSync(join(home, clone, `skills/${name}/SKILL.md`), 'utf8'), /Finds a pet by its number/, clone);
	}
	await install(home, 'add', `${url}.git`, '-y', '-a', 'claude-code');
	assert.ok(existsSync(join(home, '.claude/skills', name, 'SKILL.md')));
});

test('git pushes nothing; what was withdrawn is in no history, and callers alone clone what is not public', needsGit, async (t) => {
	const its = await shop(t, { discovery: 'minimal' });
	const { url, key, id, toolIds } = its;
	const home = folder(t);
	await git(home, 'clone', '-q', `${url}.git`, 'open');
	assert.equal(
		await git(join(home, 'open'), 'ls-files', 'skills'),
		['SKILL.md', 'scripts/call.mjs'].map((file) => `skills/${its.name}/${file}`).join('\n'),
	);
	await git(join(home, 'open'), '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-q', '--allow-empty', '-m', 'x');
	assert.match((await run('git', ['push'], join(home, 'open'), GIT)).stderr, /403/);
	const secret = ['-c', `http.extraHeader=X-API-Key: ${key}`];
	assert.notEqual((await run('git', ['clone', '-q', `${url}/private.git`, 'none'], home, GIT)).code, 0);
	await git(home, ...secret, 'clone', '-q', `${url}/private.git`, 'callers');
	assert.match(await git(join(home, 'callers'), 'ls-files'), /references\/delete_pet\.md/);
	must(await its.account.del(`/gateways/${id}/tools/${toolIds['delete_pet']}`), 200);
	await git(home, ...secret, 'clone', '-q', `${url}/private.git`, 'later');
	assert.equal(await git(join(home, 'later'), 'log', '--all', '--format=%h', '--', '*/delete_pet.md'), '');
	const body = Buffer.from('not packets');
	assert.equal(
		(await send(`${url}/git-upload-pack`, 'POST', { body, headers: { 'content-type': 'application/x-git-upload-pack-request' } })).status,
		400,
	);
	assert.equal((await send(`${url}/info/refs`, 'GET')).status, 404);
});
