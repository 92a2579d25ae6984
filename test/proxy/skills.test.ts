// `gatehouse-proxy skills` and `config` as commands: with a gateway of the service, with one that lies, and with files that were there before.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { writeTar } from '../../adapters/skills/tar.ts';
import { until } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../helpers/service.ts';
import { PROGRAM } from '../helpers/stdio-proxy.ts';

let service: SharedService;
let account: Account;
let gateway: { id: string; url: string; key: string };
let skillId: string;
let name: string;
const home = mkdtempSync(join(tmpdir(), 'gatehouse-skills-'));
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	const tool = await createHttpTool(account, { name: 'find_order', url: 'https://example.com/' });
	gateway = await publishGateway(account, { type: 'skills', toolIds: [tool] });
	const skill = {
		name: 'refund-orders',
		description: 'Refunds orders.',
		body: 'Refund it.',
		files: { 'references/limits.md': { text: '100' } },
	};
	skillId = must(await account.post('/skills', skill), 201).body.data.id;
	must(await account.post(`/gateways/${gateway.id}/skills`, { skillId }), 201);
	name = `@${new URL(gateway.url).pathname.slice(1)}`;
});
after(async () => {
	await service?.stop();
	rmSync(home, { recursive: true, force: true });
});

/** Runs a command in a folder of its own below the home. */
async function run(folder: string, args: string[], env: Record<string, string> = {}) {
	const cwd = join(home, folder);
	mkdirSync(cwd, { recursive: true });
	const child = spawn(PROGRAM[0], [PROGRAM[1], ...args], {
		cwd,
		env: { PATH: `${process.env['PATH']}`, HOME: home, SVC_URL: service.url, ...COMPILE_CACHE, ...env },
	});
	child.stdin.end();
	let [stdout, stderr] = ['', ''];
	child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
	child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
	const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
	return { code, stdout, stderr, cwd };
}

const files = (folder: string): string[] =>
	readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((one) => one.isFile())
		.map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
		.sort();

test('skills are added where agents read them, run, are updated when they change, and are removed', async () => {
	const added = await run('project', ['skills', 'add', name]);
	assert.equal(added.code, 0, added.stderr);
	for (const folder of ['.claude/skills', '.agents/skills']) {
		const root = join(added.cwd, folder);
		assert.ok(files(root).includes('refund-orders/references/limits.md'));
		const [runner = ''] = files(root).filter((file) => file.endsWith('call.mjs'));
		assert.equal(statSync(join(root, runner)).mode & 0o777, 0o755);
		assert.equal(spawnSync(process.execPath, [join(root, runner), '--help']).status, 0);
	}
	const again = await run('project', ['skills', 'add', name]);
	assert.equal(again.code, 0, again.stderr);
	assert.match(
		(await run('project', ['skills', 'list'])).stdout,
		new RegExp(`refund-orders \\(${name} at ${service.url}\\): \\.claude/skills/refund-orders, \\.agents`),
	);
	must(await account.patch(`/skills/${skillId}`, { body: 'Refund it twice.' }), 200);
	await until(async () => (await run('project', ['skills', 'update'])).stdout.includes('refund-orders: updated'), 'it is updated');
	assert.match(readFileSync(join(added.cwd, '.claude/skills/refund-orders/SKILL.md'), 'utf8'), /Refund it twice\./);
	assert.match((await run('project', ['skills', 'update'])).stdout, /refund-orders: up to date/);
	const removed = await run('project', ['skills', 'remove', name]);
	assert.equal(removed.code, 0, removed.stderr);
	assert.deepEqual(files(added.cwd), ['.agents/gatehouse-skills.json']);
});

test('an update goes on without a gateway that is gone, one that is away and a skill that cannot be fetched, and tells each', async () => {
	const { code, cwd, stderr } = await run('partly', ['skills', 'add', name]);
	assert.equal(code, 0, stderr);
	const digest = `sha256:${'0'.repeat(64)}`;
	const skill = { name: 'lost', type: 'skill-md', url: 'none', digest };
	const server = createServer(({ url = '' }, response) =>
		url.endsWith('index.json') ? response.end(JSON.stringify({ skills: [skill] })) : response.writeHead(500).end(),
	).listen(0, '127.0.0.1');
	await until(() => server.address() !== null, 'it listens');
	const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const path = join(cwd, '.agents/gatehouse-skills.json');
	const { skills } = JSON.parse(readFileSync(path, 'utf8'));
	const entry = (skill: string, gateway: string, url: string) => ({
		gateway,
		service: url,
		digest: 'x',
		folders: [`.agents/skills/${skill}`],
	});
	const more = {
		away: entry('away', '@x/y', 'http://127.0.0.1:1'),
		gone: entry('gone', '@nobody/nothing', service.url),
		lost: entry('lost', '@x/y', other),
	};
	writeFileSync(path, JSON.stringify({ skills: { ...more, 'refund-orders': { ...skills['refund-orders'], digest } } }));
	const updated = await run('partly', ['skills', 'update']);
	server.close();
	assert.deepEqual([updated.code, updated.stdout], [1, 'refund-orders: updated\n'], updated.stderr);
	const told = updated.stderr.trimEnd().split('\n').sort();
	assert.equal(told.length, 3, updated.stderr);
	for (const [at, sentence] of [
		/^@nobody\/nothing at .*no active gateway/,
		/^@x\/y at http:\/\/127\.0\.0\.1:1: .*reached/,
		/^lost: .*500/,
	].entries())
		assert.match(told[at] ?? '', sentence);
	assert.equal(JSON.parse(readFileSync(path, 'utf8')).skills.away.digest, 'x');
});

test('a chosen agent, and all projects of the user', async () => {
	const added = await run('user', ['skills', 'add', name, '--user', '--agent', 'cursor', '--agent', 'codex']);
	assert.equal(added.code, 0, added.stderr);
	for (const folder of ['.cursor/skills', '.agents/skills']) assert.ok(existsSync(join(home, folder, 'refund-orders/SKILL.md')));
	assert.deepEqual(files(added.cwd), []);
	assert.equal((await run('user', ['skills', 'remove', 'refund-orders', '--user'])).code, 0);
	assert.ok(!existsSync(join(home, '.cursor/skills/refund-orders')));
	assert.match(
		(await run('user', ['skills', 'add', name, '--agent', 'nobody'])).stderr,
		/no agent that is known: it must be one of claude-code, /,
	);
});

test('what was there before is not written over, and a link is not followed', async () => {
	const cwd = join(home, 'mine');
	const own = join(cwd, '.claude/skills/refund-orders');
	mkdirSync(own, { recursive: true });
	writeFileSync(join(own, 'SKILL.md'), 'mine');
	const refused = await run('mine', ['skills', 'add', name]);
	assert.deepEqual([refused.code, readFileSync(join(own, 'SKILL.md'), 'utf8')], [1, 'mine']);
	assert.match(refused.stderr, /There is a skill refund-orders already at \.claude\/skills\/refund-orders: --force replaces it/);
	const elsewhere = join(home, 'elsewhere');
	mkdirSync(elsewhere);
	writeFileSync(join(elsewhere, 'precious'), 'x');
	rmSync(own, { recursive: true });
	symlinkSync(elsewhere, own);
	assert.equal((await run('mine', ['skills', 'add', name, '--force'])).code, 0);
	assert.deepEqual(files(elsewhere), ['precious']);
	// A list that came with a project removes nothing that is no skill, and asks and shows nothing but addresses and names.
	const entry = { gateway: '@a/b', service: service.url, digest: 'x', folders: ['.agents/skills/a'] };
	for (const [changed, action] of [
		[{ folders: ['../elsewhere'] }, ['remove', 'a']],
		[{ service: 'x' }, ['update']],
		[{ gateway: '@a/b\u001b[2J' }, ['list']],
	] as const) {
		writeFileSync(join(cwd, '.agents/gatehouse-skills.json'), JSON.stringify({ skills: { a: { ...entry, ...changed } } }));
		const broken = await run('mine', ['skills', ...action]);
		assert.equal(broken.code, 1, broken.stdout);
		assert.match(broken.stderr, /^The list .* is broken: remove it, and add the skills again\.\n$/);
	}
	assert.deepEqual(files(elsewhere), ['precious']);
});

test('a gateway that lies writes nothing: another digest, a path outside, a file of another host, a name that is a path', async () => {
	const archive = gzipSync(writeTar(new Map([['SKILL.md', Buffer.from('x')]])));
	const evil = Buffer.from(archive);
	const digest = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
	const skill = { name: 'a', type: 'archive', url: 'a.tar.gz', digest: digest(archive) };
	const indexes: Record<string, object> = {
		digest: { ...skill, digest: digest(Buffer.from('other')) },
		host: { ...skill, url: 'http://127.0.0.1:1/a.tar.gz' },
		path: { ...skill, name: '../../a' },
		type: { ...skill, type: 'script' },
		asked: skill,
	};
	let sent = '';
	const server = createServer(({ url = '', headers }, response) => {
		const [, , kind = ''] = url.split('/');
		if (kind === 'asked' && headers.authorization === undefined) return response.writeHead(401).end();
		if (kind === 'asked') sent = `${headers.authorization}`;
		if (url.endsWith('index.json')) return response.end(JSON.stringify({ skills: [indexes[kind]] }));
		return response.end(evil);
	}).listen(0, '127.0.0.1');
	await until(() => server.address() !== null, 'it listens');
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const sentences: Record<string, RegExp> = {
		digest: /its digest differs/,
		host: /another host/,
		path: /cannot be installed/,
		type: /cannot be installed/,
		asked: /asks for a credential/,
	};
	for (const [kind, sentence] of Object.entries(sentences)) {
		const refused = await run('lied', ['skills', 'add', `@x/${kind}`], { SVC_URL: url });
		assert.equal(refused.code, 1, kind);
		assert.match(refused.stderr, sentence);
		assert.deepEqual(files(refused.cwd), []);
	}
	const allowed = await run('asked', ['skills', 'add', '@x/asked'], { SVC_URL: url, SVC_TOKEN: 'ak_live_mine' });
	assert.deepEqual([allowed.code, sent], [0, 'Bearer ak_live_mine'], allowed.stderr);
	// The list of a project names a service, and the credential is for another one.
	sent = '';
	const foreign = await run('asked', ['skills', 'update'], { SVC_TOKEN: 'ak_live_mine' });
	assert.deepEqual([foreign.code, sent], [1, ''], foreign.stdout);
	assert.ok(
		foreign.stderr.includes(`asks for a credential. SVC_TOKEN is for ${service.url} alone (SVC_URL, --url), so log in: `),
		foreign.stderr,
	);
	const named = await run('asked', ['skills', 'update', '--url', url], { SVC_TOKEN: 'ak_live_mine' });
	assert.deepEqual([named.code, sent], [0, 'Bearer ak_live_mine'], named.stderr);
	server.close();
});

test('a gateway of another type is there, and has no skills', async () => {
	const { url } = await publishGateway(account);
	const reference = `@${new URL(url).pathname.slice(1)}`;
	const refused = await run('none', ['skills', 'add', reference]);
	assert.deepEqual([refused.code, refused.stderr], [1, `There is no index of skills at ${url}: is it a gateway of type skills?\n`]);
	const gone = await run('none', ['skills', 'add', '@nobody/nothing']);
	assert.match(gone.stderr, /^There is no active gateway at /);
});

test('a link of a project leads to another folder of agents there, and nowhere else', async () => {
	const cwd = join(home, 'linked');
	const notes = join(home, 'victim/notes');
	for (const folder of [notes, join(cwd, '.claude'), join(cwd, '.agents/skills')]) mkdirSync(folder, { recursive: true });
	writeFileSync(join(notes, 'precious'), 'x');
	symlinkSync('../../victim', join(cwd, '.claude/skills'));
	const entry = { gateway: '@a/b', service: service.url, digest: 'x', folders: ['.claude/skills/notes'] };
	writeFileSync(join(cwd, '.agents/gatehouse-skills.json'), JSON.stringify({ skills: { notes: entry } }));
	for (const args of [
		['remove', 'notes'],
		['add', name, '--force'],
	]) {
		const refused = await run('linked', ['skills', ...args]);
		assert.equal(refused.code, 1, args[0]);
		assert.match(refused.stderr, /\.claude\/skills leads to .*victim by a link/);
	}
	assert.deepEqual(files(join(home, 'victim')), ['notes/precious']);
	rmSync(join(cwd, '.claude/skills'));
	symlinkSync('../.agents/skills', join(cwd, '.claude/skills'));
	const added = await run('linked', ['skills', 'add', name]);
	assert.equal(added.code, 0, added.stderr);
	assert.ok(existsSync(join(cwd, '.agents/skills/refund-orders/SKILL.md')));
	assert.equal((await run('linked', ['skills', 'remove', name])).code, 0);
	assert.deepEqual(files(join(cwd, '.agents/skills')), []);
	// Nothing is placed that the list could not name.
	mkdirSync(join(home, 'unlisted'));
	symlinkSync('../victim', join(home, 'unlisted/.agents'));
	const unlisted = await run('unlisted', ['skills', 'add', name, '--agent', 'claude-code']);
	assert.match(unlisted.stderr, /\.agents leads to .*victim by a link/);
	assert.deepEqual([unlisted.code, readdirSync(unlisted.cwd), files(join(home, 'victim'))], [1, ['.agents'], ['notes/precious']]);
});

test('links in the home folder are the user’s, and are followed for all projects', async () => {
	const kept = join(home, 'kept');
	mkdirSync(join(kept, 'skills/mine'), { recursive: true });
	writeFileSync(join(kept, 'skills/mine/SKILL.md'), 'mine');
	symlinkSync(kept, join(home, '.claude'));
	const added = await run('user', ['skills', 'add', name, '--user', '--agent', 'claude-code']);
	assert.equal(added.code, 0, added.stderr);
	assert.ok(existsSync(join(kept, 'skills/refund-orders/SKILL.md')));
	assert.equal((await run('user', ['skills', 'remove', name, '--user'])).code, 0);
	assert.deepEqual(files(kept), ['skills/mine/SKILL.md']);
});

test('the configuration of each client is printed, and written beside what was there, with a copy of that', async () => {
	for (const client of ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'windsurf', 'zed', 'codex']) {
		const shown = await run('config', ['config', client, 'acme/tools']);
		assert.equal(shown.code, 0, shown.stderr);
		// The program is no package of npm's here, so the client starts it from where it is.
		assert.ok(shown.stdout.includes(JSON.stringify(PROGRAM[1])) && !shown.stdout.includes('npx'), shown.stdout);
		const [, path = ''] = /This belongs into (.+) \(/.exec(shown.stderr) ?? [];
		const before = client === 'codex' ? 'model = "x"\n' : '{\n  // kept\n  "other": true\n}\n';
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, before, { mode: 0o600 });
		const written = await run('config', ['config', client, 'acme/tools', '--write', '--mode', 'full']);
		assert.equal(written.code, 0, written.stderr);
		const text = readFileSync(path, 'utf8');
		assert.ok(
			text.includes(client === 'codex' ? 'model = "x"' : '// kept') && text.includes('acme/tools') && text.includes('"full"'),
			text,
		);
		const [, copy = ''] = /What was there is in (.+)\.\n/.exec(written.stdout) ?? [];
		assert.equal(readFileSync(copy, 'utf8'), before);
		assert.equal(statSync(path).mode & 0o777, 0o600);
		assert.match((await run('config', ['config', client, 'acme/tools', '--write', '--mode', 'full'])).stdout, /has it already/);
	}
	for (const [args, sentence] of [
		[['config', 'emacs'], /^Usage: gatehouse-proxy config/],
		[['config', 'zed', 'tools'], /is no gateway/],
		[['config', 'zed', '--mode', 'x'], /--mode must be/],
		[['skills'], /^Usage: gatehouse-proxy skills/],
	] as const) {
		const refused = await run('config', [...args]);
		assert.equal(refused.code, 1);
		assert.match(refused.stderr, sentence);
	}
});

test('the configuration is written by a link of the user, and by none that leads out of a project', async () => {
	const cwd = join(home, 'configured');
	for (const folder of ['dotfiles', '.cursor', 'configured/shared']) mkdirSync(join(home, folder), { recursive: true });
	const [theirs, shared, path] = [join(home, 'dotfiles/mcp.json'), join(cwd, 'shared/mcp.json'), join(cwd, '.mcp.json')];
	for (const file of [theirs, shared]) writeFileSync(file, '{}');
	const write = (client: string) => run('configured', ['config', client, 'acme/tools', '--write']);
	symlinkSync(theirs, path);
	const refused = await write('claude-code');
	assert.deepEqual([refused.code, files(join(home, 'dotfiles')), readFileSync(theirs, 'utf8')], [1, ['mcp.json'], '{}']);
	assert.match(refused.stderr, /configured\/\.mcp\.json leads to .*dotfiles\/mcp\.json by a link/);
	rmSync(path);
	symlinkSync('shared/mcp.json', path);
	assert.equal((await write('claude-code')).code, 0);
	assert.match(readFileSync(shared, 'utf8'), /acme\/tools/);
	rmSync(join(home, '.cursor/mcp.json'), { force: true });
	symlinkSync(theirs, join(home, '.cursor/mcp.json'));
	assert.equal((await write('cursor')).code, 0);
	assert.match(readFileSync(theirs, 'utf8'), /acme\/tools/);
});
