// The proxy as users get it: built, packed, installed from the tarball into an empty folder, and run from there.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { greet, openProxyWorld, type ProxyWorld, startProxy } from '../helpers/stdio-proxy.ts';
import { ROOT } from '../rooms.ts';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const room = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-package-'));
const installed = join(room, 'installed');
const run = (cwd: string, program: string, ...args: string[]): string =>
	execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

let world: ProxyWorld;
const packed = join(room, 'packed');
before(async () => {
	for (const folder of [packed, installed]) mkdirSync(folder);
	run(ROOT, process.execPath, TSC, '-p', 'proxy/tsconfig.json', '--outDir', join(packed, 'dist'));
	for (const file of ['package.json', 'README.md', 'LICENSE']) cpSync(join(ROOT, 'proxy', file), join(packed, file));
	const tarball = run(packed, 'npm', 'pack', '--silent', '--ignore-scripts').trim();
	writeFileSync(join(installed, 'package.json'), '{"private":true}');
	run(installed, 'npm', 'install', '--offline', '--no-audit', '--no-fund', join(packed, tarball));
	world = await openProxyWorld();
});
after(async () => {
	await world?.stop();
	rmSync(room, { recursive: true, force: true });
});

const BIN = (): string => join(installed, 'node_modules/.bin/gatehouse-proxy');

test('the installed package needs no other, and has its license and no tests', () => {
	const { dependencies, engines } = JSON.parse(readFileSync(join(installed, 'node_modules/gatehouse-proxy/package.json'), 'utf8'));
	assert.deepEqual([dependencies, engines.node], [undefined, '>=20']);
	const files = run(join(installed, 'node_modules'), 'find', 'gatehouse-proxy', '-type', 'f').split('\n');
	assert.ok(files.includes('gatehouse-proxy/LICENSE') && files.includes('gatehouse-proxy/dist/main.js'));
	assert.deepEqual(
		files.filter((file) => /\.ts$|test/.test(file)),
		[],
	);
});

test('the installed command connects a client', async () => {
	const env = { SVC_URL: world.service.url, SVC_TOKEN: world.gateway.key };
	await using proxy = startProxy([world.gateway.name], env, [BIN()]);
	await greet(proxy);
	const { result } = await proxy.request('tools/call', { name: 'svc_execute', arguments: { name: 'echo', parameters: { text: 'hi' } } });
	assert.deepEqual(result.structuredContent, { said: 'hi' });
});

test('installed, it is started again by its name; elsewhere by its file, since that name may be nobody’s or somebody else’s on npm', () => {
	const ask = (program: string, ...args: string[]) =>
		JSON.parse(run(installed, program, ...args, 'config', 'cursor', 'acme/tools')).mcpServers.tools;
	const { command, args } = ask(BIN());
	assert.deepEqual([command, args], ['npx', ['-y', 'gatehouse-proxy', 'acme/tools']]);
	const file = join(packed, 'dist/main.js');
	const own = ask(process.execPath, file);
	assert.deepEqual([own.command, own.args], [process.execPath, [file, 'acme/tools']]);
});

test('the command says its version, its usage, and what it needs where Node.js is older', () => {
	assert.equal(run(installed, BIN(), '--version'), '0.1.0\n');
	assert.match(run(installed, BIN(), '--help'), /^Usage: gatehouse-proxy/);
	const older = join(room, 'older.cjs');
	writeFileSync(older, "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.2' } });");
	assert.throws(() => run(installed, process.execPath, '--require', older, join(installed, 'node_modules/gatehouse-proxy/dist/main.js')), {
		stderr: `gatehouse-proxy needs Node.js 20 or later, and this is ${process.version} (${process.execPath}).\n`,
	});
});

test('the bundle is valid for its official tool, and runs as its manifest says', async () => {
	const bundle = join(room, 'gatehouse-proxy.mcpb');
	assert.match(run(ROOT, process.execPath, 'proxy/bundle/build.ts', bundle, packed), /Manifest schema validation passes/);
	const folder = join(room, 'bundle');
	run(ROOT, process.execPath, join(ROOT, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js'), 'unpack', bundle, folder);
	const { server, version } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
	const chosen: Record<string, string> = { url: world.service.url, token: world.gateway.key, gateway: world.gateway.name };
	const filled = (text: string): string =>
		// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the manifest’s own placeholder
		text.replace('${__dirname}', folder).replace(/\$\{user_config\.(\w+)\}/, (whole, name: string) => chosen[name] ?? whole);
	const env = Object.fromEntries(
		Object.entries(server.mcp_config.env as Record<string, string>).map(([name, text]) => [name, filled(text)]),
	);
	await using proxy = startProxy([], env, [process.execPath, ...server.mcp_config.args.map(filled)]);
	await greet(proxy);
	assert.equal((await proxy.request('tools/list')).result.tools.length, 2);
	assert.equal(version, '0.1.0');
});
