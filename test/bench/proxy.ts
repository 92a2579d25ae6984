// Measures the stdio proxy beside `mcp-remote`, at the same gateway: from the start to the answer of `initialize` and to the first list of tools, the
// memory then, and the time to its end once standard input has ended. `node test/bench/proxy.ts`. It fails when a start takes more than 300 ms, or an end more than 100.

import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { INITIALIZE, openProxyWorld } from '../helpers/stdio-proxy.ts';
import { ROOT } from '../rooms.ts';
import { median } from './rounds.ts';

const MODULES = join(ROOT, 'node_modules');
const ROUNDS = 9;
const LIMITS = { startMs: 300, endMs: 100 };

interface Figures {
	startMs: number;
	listMs: number;
	memoryMb: number;
	endMs: number;
}

async function measure(args: string[], env: Record<string, string>): Promise<Figures> {
	const began = performance.now();
	const child = spawn(process.execPath, args, {
		env: { PATH: `${process.env['PATH']}`, HOME: room, ...env },
		stdio: ['pipe', 'pipe', 'ignore'],
	});
	let output = '';
	const waiting: [id: number, resolve: () => void][] = [];
	child.stdout.setEncoding('utf8').on('data', (chunk) => {
		output += chunk;
		for (const [id, resolve] of waiting) if (output.includes(`"id":${id}`)) resolve();
	});
	const ask = (id: number, method: string, params: object): Promise<void> => {
		child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
		return new Promise((resolve) => waiting.push([id, resolve]));
	};
	await ask(1, 'initialize', INITIALIZE);
	const startMs = performance.now() - began;
	child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
	await ask(2, 'tools/list', {});
	const listMs = performance.now() - began;
	const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
	const ended = new Promise((resolve) => child.once('exit', resolve));
	const left = performance.now();
	child.stdin.end();
	await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5000))]);
	const endMs = performance.now() - left;
	child.kill('SIGKILL');
	return { startMs, listMs, memoryMb: Number(kilobytes) / 1024, endMs };
}

const room = mkdtempSync(join(tmpdir(), 'gatehouse-bench-proxy-'));
const world = await openProxyWorld();
let isLate = false;
try {
	execFileSync(process.execPath, [join(MODULES, 'typescript/bin/tsc'), '-p', 'proxy/tsconfig.json', '--outDir', join(room, 'dist')], {
		cwd: ROOT,
	});
	cpSync(join(ROOT, 'proxy/package.json'), join(room, 'package.json'));
	const { url, key, name } = world.gateway;
	const env = { SVC_URL: world.service.url, SVC_TOKEN: key };
	const remote = [
		join(MODULES, 'mcp-remote/dist/proxy.js'),
		url,
		'--allow-http',
		'--transport',
		'http-only',
		'--header',
		`X-API-Key:${key}`,
	];
	const subjects: [name: string, args: string[], env: Record<string, string>][] = [
		['gatehouse-proxy, skill-first', [join(room, 'dist/main.js'), name], env],
		['gatehouse-proxy, full', [join(room, 'dist/main.js'), name], { ...env, SVC_MODE: 'full' }],
		['mcp-remote 0.15.1', remote, {}],
	];
	const figures = new Map<string, Figures[]>(subjects.map(([subject]) => [subject, []]));
	for (let round = 0; round < ROUNDS; round += 1)
		for (const [subject, args, variables] of subjects) figures.get(subject)?.push(await measure(args, variables));
	console.log('| medians of 9 | start, ms | first list, ms | memory, MB | end, ms |\n|---|---|---|---|---|');
	for (const [subject, all] of figures) {
		const [startMs = 0, listMs = 0, memoryMb = 0, endMs = 0] = (['startMs', 'listMs', 'memoryMb', 'endMs'] as const).map((field) =>
			median(all.map((one) => one[field])),
		);
		console.log(`| ${subject} | ${startMs.toFixed(0)} | ${listMs.toFixed(0)} | ${memoryMb.toFixed(0)} | ${endMs.toFixed(0)} |`);
		if (subject.startsWith('gatehouse') && (startMs > LIMITS.startMs || endMs > LIMITS.endMs)) isLate = true;
	}
} finally {
	await world.stop();
	rmSync(room, { recursive: true, force: true });
}
process.exit(isLate ? 1 : 0);
