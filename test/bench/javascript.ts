// Measures the sandbox: calls a second beside the same engine called directly; computing code beside the same code in Node; the wait of
// other accounts while some use their whole share; and the latency of the management API while the sandbox is under attack. `node
// test/bench/javascript.ts`

import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import baseVariant from '@jitl/quickjs-wasmfile-release-sync';
import { newQuickJSWASMModuleFromVariant, type QuickJSSyncVariant, type QuickJSWASMModule } from 'quickjs-emscripten-core';
import { findPort } from '../../demo/ports.ts';
import { codeCall, runCode } from '../helpers/javascript.ts';
import { type Account, must, registerAccount } from '../helpers/service.ts';
import { median } from './rounds.ts';
import { startSubject } from './subject.ts';

const ROUNDS = 4;
const CALLS = 1500;
const PARAMETERS = { orders: Array.from({ length: 20 }, (_, n) => ({ id: n, total: n * 3, city: ['Rome', 'Oslo'][n % 2] ?? '' })) };
const SMALL = `const sums = {};
for (const { city, total } of parameters.orders) sums[city] = (sums[city] ?? 0) + total;
return sums;`;
const COMPUTING = 'let sum = 0; for (let i = 0; i < 1e7; i++) sum += i % 7; return sum;';

/** A p99 of fewer samples depends on about four of them. */
const PROBES = 1500;
const PROBE_EVERY_MS = 8;
/** Attacks: code that loops, ignores interruption, takes memory, or costs a thread each time. */
const ATTACKS = [
	'for (;;) {}',
	'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
	'const a = []; for (;;) a.push(new Array(1000).fill(1));',
	'for (;;) { try { for (;;) {} } catch {} finally { continue; } }',
	'for (;;) await null;',
];

async function main(): Promise<void> {
	console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}); ${ROUNDS} rounds, alternating; medians.\n`);
	for (const part of process.argv[2] === undefined ? Object.values(PARTS) : [PARTS[process.argv[2]]]) await part?.();
}

/** The parts, of which one can be run by its name: `node test/bench/javascript.ts attack`. */
const PARTS: Record<string, () => Promise<void>> = {
	calls: measureCalls,
	computing: measureComputing,
	shares: measureShares,
	attack: measureAttack,
};

// ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────

async function measureCalls(): Promise<void> {
	// The package's types are those of its CommonJS build, in which the variant is nested in one more `default`.
	const engine = await newQuickJSWASMModuleFromVariant(baseVariant as unknown as QuickJSSyncVariant);
	const calls = Array.from({ length: 2 }, (_, n) => codeCall(null, { organizationId: `org-${n}` }));
	const sandboxed = (n: number): Promise<unknown> =>
		runCode(SMALL, { parameters: PARAMETERS, call: calls[n % calls.length] ?? codeCall(null) });
	const ways: [name: string, atOnce: number, call: (n: number) => unknown][] = [
		['the engine directly, a runtime for each call', 1, () => callDirectly(engine)],
		['javascript executor, one after the other', 1, () => sandboxed(0)],
		['javascript executor, 32 at once, two organizations', 32, sandboxed],
	];
	const costs = ways.map((): Cost[] => []);
	for (const [, atOnce, call] of ways) await costOf(3000, atOnce, call);
	for (let round = 0; round < ROUNDS; round++)
		for (const [at, [, atOnce, call]] of ways.entries()) costs[at]?.push(await costOf(CALLS, atOnce, call));
	console.log('| calls of a small tool | calls/s | CPU µs/call | × first, calls/s | × first, CPU |\n|---|---|---|---|---|');
	const [first = []] = costs;
	for (const [at, [name]] of ways.entries()) {
		const own = costs[at] ?? [];
		const of = (field: keyof Cost): string => median(own.map((cost) => cost[field])).toFixed(0);
		const ratio = (field: keyof Cost): string =>
			median(own.map((cost, round) => cost[field] / (first[round]?.[field] ?? Number.NaN))).toFixed(2);
		const cells = [name, of('callsPerSecond'), of('cpuMicros'), ratio('callsPerSecond'), ratio('cpuMicros')];
		console.log(`| ${cells.join(' | ')} |`);
	}
}

function callDirectly(engine: QuickJSWASMModule): void {
	const runtime = engine.newRuntime();
	const context = runtime.newContext();
	const source = `((text) => { const tool = (parameters) => {${SMALL}\n}; return JSON.stringify(tool(JSON.parse(text))); })`;
	const tool = context.unwrapResult(context.evalCode(source));
	const text = context.newString(JSON.stringify(PARAMETERS));
	const result = context.unwrapResult(context.callFunction(tool, context.undefined, text));
	if (!context.getString(result).includes('Rome')) throw new Error('The engine answered something else.');
	for (const one of [result, text, tool, context, runtime]) one.dispose();
}

interface Cost {
	callsPerSecond: number;
	/** CPU time of all threads of this process, for each call. */
	cpuMicros: number;
}

async function costOf(count: number, atOnce: number, call: (n: number) => unknown): Promise<Cost> {
	const before = process.cpuUsage();
	const started = performance.now();
	let next = 0;
	const work = async (): Promise<void> => {
		while (next < count) await call(next++);
	};
	await Promise.all(Array.from({ length: atOnce }, work));
	const { user, system } = process.cpuUsage(before);
	return { callsPerSecond: (count * 1000) / (performance.now() - started), cpuMicros: (user + system) / count };
}

// ── computing ──────────────────────────────────────────────────────────────────────────────────────────────────────

async function measureComputing(): Promise<void> {
	const native = new Function('parameters', COMPUTING);
	const times: [number, number][] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const started = performance.now();
		native({});
		const between = performance.now();
		const result = await runCode(COMPUTING, { timeoutMs: 30_000 });
		if (result.isError) throw new Error(JSON.stringify(result.content));
		times.push([between - started, performance.now() - between]);
	}
	const [own, sandboxed] = [median(times.map(([a]) => a)), median(times.map(([, b]) => b))];
	const ratio = median(times.map(([a, b]) => b / a));
	console.log(
		`\nTen million steps of a loop: Node ${own.toFixed(0)} ms, sandbox ${sandboxed.toFixed(0)} ms, ${ratio.toFixed(1)} times as long.`,
	);
}

// ── shares ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const HELD = { sleep: 'await new Promise((ok) => setTimeout(ok, 29000))', compute: 'for (;;) {}' };
const [HELD_EACH, HELD_CALLS] = [12, 50];

async function measureShares(): Promise<void> {
	console.log('\n| runs of 30 s, each account 12 | another account: first call, ms | then p50 | p99 | memory, MB |\n|---|---|---|---|---|');
	for (const [what, code] of Object.entries(HELD)) for (const accounts of [0, 1, 6, 20]) await measureHeld(what, code, accounts);
}

async function measureHeld(what: string, code: string, accounts: number): Promise<void> {
	const stop = new AbortController();
	const held = Array.from({ length: accounts * HELD_EACH }, (_, n) => {
		const account = `${what}-${n % accounts}`;
		const call = codeCall(null, { account, organizationId: `${account}-${n % 2}`, signal: stop.signal });
		return runCode(code, { call, timeoutMs: 30_000 }).catch(() => undefined);
	});
	const call = codeCall(null, { organizationId: 'other' });
	const times: number[] = [];
	for (let count = 0; count <= HELD_CALLS; count++) {
		const started = performance.now();
		const { structured } = await runCode('return 1', { call });
		if (structured !== 1) throw new Error('The sandbox answered something else.');
		times.push(performance.now() - started);
		await delay(20);
	}
	const [first = Number.NaN, ...others] = times;
	const sorted = others.toSorted((a, b) => a - b);
	const at = (share: number): string => (sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN).toFixed(1);
	const memoryMb = (process.memoryUsage().rss / 1024 / 1024).toFixed(0);
	console.log(`| ${what}, ${accounts} accounts | ${first.toFixed(0)} | ${at(0.5)} | ${at(0.99)} | ${memoryMb} |`);
	stop.abort(new Error('enough'));
	await Promise.all(held);
}

// ── under attack ───────────────────────────────────────────────────────────────────────────────────────────────────

interface Latency {
	p50: number;
	p99: number;
}

async function measureAttack(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	const port = String(await findPort('127.0.0.1', 0));
	try {
		await using service = await startSubject('./service.ts', { PORT: port, SVC_DATA_DIR: dataDir, LOG_LEVEL: 'fatal' });
		const [attacker, second, bystander] = [await account(service.url), await account(service.url), await account(service.url)];
		const tools = await Promise.all([attacker, second].map(async (one) => Promise.all(ATTACKS.map((code) => addTool(one, code)))));
		const paths: [string, () => Promise<unknown>][] = [
			['GET /health/live', () => get(`${service.url}/health/live`)],
			['GET /organizations/:id', async () => must(await bystander.get(`/organizations/${bystander.organization.id}`), 200)],
		];
		for (const [, ask] of paths) await probe(ask);
		console.log('\n| the API meanwhile | idle p50 | idle p99 | attacked p50 | attacked p99 | × p99 |\n|---|---|---|---|---|---|');
		for (const [name, ask] of paths) {
			const pairs: [Latency, Latency][] = [];
			for (let round = 0; round < ROUNDS; round++) {
				const idle = await probe(ask);
				const stop = new AbortController();
				const attacks = [attacker, second].map((one, at) => attack(one, tools[at] ?? [], stop.signal));
				await delay(1000);
				pairs.push([idle, await probe(ask)]);
				stop.abort();
				await Promise.all(attacks);
				await delay(1000);
			}
			const of = (at: 0 | 1, field: keyof Latency): string => median(pairs.map((pair) => pair[at][field])).toFixed(2);
			const ratio = median(pairs.map(([idle, attacked]) => attacked.p99 / idle.p99)).toFixed(2);
			console.log(`| ${name} | ${of(0, 'p50')} | ${of(0, 'p99')} | ${of(1, 'p50')} | ${of(1, 'p99')} | ${ratio} |`);
		}
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

const account = (url: string): Promise<Account> => registerAccount(url);

async function addTool(one: Account, code: string): Promise<string> {
	const body = { name: 'attack', type: 'javascript', code, executionConfig: { timeoutMs: 1000 } };
	return must(await one.post(`/organizations/${one.organization.id}/tools`, body), 201).body.data.id;
}

/** Runs sixteen attacks at once until the signal. */
async function attack(one: Account, tools: string[], signal: AbortSignal): Promise<void> {
	let next = 0;
	const work = async (): Promise<void> => {
		while (!signal.aborted) {
			const id = tools[next++ % tools.length];
			must(await one.post(`/organizations/${one.organization.id}/tools/${id}/execute`, {}), 200);
		}
	};
	await Promise.all(Array.from({ length: 16 }, work));
}

async function get(url: string): Promise<void> {
	const response = await fetch(url);
	if (response.status !== 200) throw new Error(`HTTP ${response.status}`);
	await response.arrayBuffer();
}

/** Sends requests at a steady rate, independent of the responses. */
async function probe(ask: () => Promise<unknown>): Promise<Latency> {
	const times: number[] = [];
	const asking: Promise<void>[] = [];
	const one = async (): Promise<void> => {
		const started = performance.now();
		await ask();
		times.push(performance.now() - started);
	};
	for (let count = 0; count < PROBES; count++) {
		asking.push(one());
		await delay(PROBE_EVERY_MS);
	}
	await Promise.all(asking);
	const sorted = times.toSorted((a, b) => a - b);
	const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
	return { p50: at(0.5), p99: at(0.99) };
}

await main();
