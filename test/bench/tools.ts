// Measures how long lists of tools and checks of arguments occupy the event loop: pages of GitHub's 1,223 tools beside writing the same
// JSON, schemas compiled on the loop and in threads, arguments checked in both. `node test/bench/tools.ts`, or `lists`, `compiling`,
// `checking`.

import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { gunzipSync } from 'node:zlib';
import { type Checked, createArgumentChecks } from '../../core/arguments/checks.ts';
import { compileSchema, WRITTEN } from '../../core/arguments/compile.ts';
import { measureSize, SMALL_SIZE } from '../../core/arguments/size.ts';
import type { JsonObject, JsonSchema } from '../../core/contract/nouns.ts';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { median } from './rounds.ts';

const ROUNDS = 15;
const NEVER = new AbortController().signal;

interface Cost {
	/** CPU time of the main thread. */
	cpuMs: number;
	durationMs: number;
	/** The longest time for which the event loop was blocked, in CPU time, which other processes do not stretch. */
	blockMs: number;
}

const cpuMs = (): number => {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
};

async function measure(work: () => unknown): Promise<Cost> {
	let [last, blockMs] = [cpuMs(), 0];
	const tick = (): void => {
		const now = cpuMs();
		blockMs = Math.max(blockMs, now - last);
		last = now;
	};
	const ticks = setInterval(tick, 1);
	const [started, startedCpu] = [performance.now(), cpuMs()];
	await work();
	tick();
	clearInterval(ticks);
	return { cpuMs: cpuMs() - startedCpu, durationMs: performance.now() - started, blockMs };
}

/** Measures some rounds after one that warms up. @returns the median */
async function measured(work: (round: number) => unknown): Promise<Cost> {
	await work(-1);
	const costs: Cost[] = [];
	for (let round = 0; round < ROUNDS; round++) costs.push(await measure(() => work(round)));
	const of = (field: keyof Cost): number => median(costs.map((cost) => cost[field]));
	return { cpuMs: of('cpuMs'), durationMs: of('durationMs'), blockMs: Math.max(...costs.map(({ blockMs }) => blockMs)) };
}

const row = (name: string, { cpuMs: cpu, durationMs, blockMs }: Cost, ...more: string[]): void =>
	console.log(`| ${[name, cpu.toFixed(2), durationMs.toFixed(1), blockMs.toFixed(1), ...more].join(' | ')} |`);

// ── lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────

async function measureLists(): Promise<void> {
	const service = await startTestService();
	const account = await registerAccount(service.url);
	const schemaContent = gunzipSync(readFileSync(new URL('../fixtures/github.openapi.json.gz', import.meta.url))).toString();
	const { id } = must(await account.post('/apis', { name: 'GitHub', type: 'openapi', baseUrl: 'https://api.github.com' }), 201).body.data;
	must(await account.post(`/apis/${id}/import-schema`, { schemaContent, generateTools: true }), 200);
	await publishGateway(account);
	console.log('\n| a page of 100 | CPU ms | ms | longest block, CPU ms | × reading and writing its JSON |\n|---|---|---|---|---|');
	for (const path of [`/organizations/${account.organization.id}/tools`, `/apis/${id}/operations`, '/gateways', '/plugins']) {
		// Requests bypass sockets, so that the client is not measured, too.
		const get = () => service.server.inject({ url: path, headers: { authorization: `Bearer ${account.token}` } });
		const page = JSON.parse((await get()).payload) as JsonObject;
		const writing = await measured(() => JSON.parse(JSON.stringify(page)));
		const cost = await measured(get);
		row(`GET ${path.replaceAll(/[0-9a-f-]{36}/g, ':id')}`, cost, (cost.cpuMs / Math.max(writing.cpuMs, 0.01)).toFixed(1));
	}
	await measureGateway(service, account);
	await service.stop();
}

const GATEWAY_TOOLS = 1000;

/** Measures `tools/list` of a gateway with a thousand tools, all pages of it, with everything that a request passes. */
async function measureGateway(service: TestService, account: Account): Promise<void> {
	const toolIds: string[] = [];
	for (let cursor: string | null = ''; cursor !== null && toolIds.length < GATEWAY_TOOLS; ) {
		const path: string = `/organizations/${account.organization.id}/tools?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
		const { tools, nextCursor } = must(await account.get(path), 200).body.data;
		toolIds.push(...tools.map((tool: { id: string }) => tool.id));
		cursor = nextCursor;
	}
	const { url, key } = await publishGateway(account, { toolIds: toolIds.slice(0, GATEWAY_TOOLS) });
	const headers = { 'x-api-key': key, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
	const page = (params: JsonObject) =>
		service.server.inject({
			...{ method: 'POST', url: new URL(url).pathname, headers },
			payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }),
		});
	const cursors: JsonObject[] = [{}];
	let listed = 0;
	for (const params of cursors) {
		const { result } = JSON.parse((await page(params)).payload);
		listed += result.tools.length;
		if (result.nextCursor !== undefined) cursors.push({ cursor: result.nextCursor });
	}
	const cost = await measured(async () => {
		for (const params of cursors) await page(params);
	});
	row(`tools/list of ${listed} tools, all ${cursors.length} pages, warm`, cost, '–');
}

// ── compiling ──────────────────────────────────────────────────────────────────────────────────────────────────────

const many = (count: number, make: (index: number) => JsonObject): JsonObject =>
	Object.fromEntries(Array.from({ length: count }, (_, index): [string, JsonObject] => [`p${index}`, make(index)]));
const object = (properties: JsonObject, more: JsonObject = {}): JsonSchema => ({ type: 'object', properties, ...more });

/** Schemas with so many `keywords`, different in each round, since V8 caches code by its text. */
const SHAPES: Record<string, (keywords: number, round: number) => JsonSchema> = {
	texts: (n, round) => object(many(n / 3, (index) => ({ type: 'string', maxLength: index + round + 1000 }))),
	objects: (n, round) => object(many(n / 8, () => object({ [`a${round}`]: { type: 'string' } }, { required: [`a${round}`] }))),
	alternatives: (n, round) =>
		object({ a: { anyOf: Array.from({ length: Math.min(n / 4, 1900) }, (_, i) => ({ type: 'string', maxLength: i + round + 1000 })) } }),
	references: (n, round) =>
		object(
			many(n / 8, (i) => ({ $ref: `#/$defs/p${i}` })),
			{ $defs: many(n / 8, (i) => ({ type: 'string', minLength: i + round + 1000 })) },
		),
	patterns: (n, round) => object(many(n / 20, (i) => ({ type: 'string', pattern: `^[a-z]{${(i % 40) + 1}}-${i}-${round}$` }))),
};

async function measureCompiling(): Promise<void> {
	console.log('\n| compiled on the loop | CPU ms | ms | longest block, CPU ms | keywords | µs per keyword |\n|---|---|---|---|---|---|');
	for (const [name, make] of Object.entries(SHAPES)) {
		const { keywords } = measureSize(make(SMALL_SIZE.keywords, 0), '');
		const cost = await measured((round) => compileSchema(make(SMALL_SIZE.keywords, round), WRITTEN).check({}));
		row(name, cost, String(keywords), ((1000 * cost.cpuMs) / keywords).toFixed(1));
	}
	const checks = createArgumentChecks(async (organizationId) => organizationId);
	console.log('\n| admitted in a thread | CPU ms | ms | longest block, CPU ms | keywords |\n|---|---|---|---|---|');
	for (const [name, make] of Object.entries(SHAPES)) {
		const schema = make(8000, 0);
		row(name, await measured((round) => checks.admit(make(8000, round), 'o', NEVER)), String(measureSize(schema, '').keywords));
	}
	checks.close();
}

// ── checking ───────────────────────────────────────────────────────────────────────────────────────────────────────

const toolWith = (parameters: JsonSchema): Checked => ({
	tool: {
		...{ id: crypto.randomUUID(), organizationId: 'o', name: 't', description: '', executor: 'http', parameters },
		...{ outputSchema: null, annotations: {}, apiId: 'api', version: '1' },
	},
	whole: null,
	filled: [],
	assertsFormats: true,
});

/** A tool with 3,700 keywords in 122 kB, like Kubernetes' Pod, of which models are shown 64. */
const cutTool = (): Checked => {
	const whole = JSON.stringify(
		object(many(260, (index) => object(many(6, () => ({ type: 'string', description: 'x'.repeat(40 + (index % 7)) }))))),
	);
	return { ...toolWith(object({})), whole: async () => ({ text: whole, flat: null, without: [] }) };
};

async function measureChecking(): Promise<void> {
	const checks = createArgumentChecks(async (organizationId) => organizationId);
	const list = object({ list: { type: 'array', items: object({ id: { type: 'integer' } }) } });
	const items = (count: number): JsonObject => ({ list: Array.from({ length: count }, (_, id) => ({ id })) });
	const cases: [name: string, checked: Checked, args: JsonObject][] = [
		['10 parameters', toolWith(object(many(10, () => ({ type: 'string' })))), { p1: 'x' }],
		['100 parameters, the most on the loop', toolWith(object(many(99, () => ({ type: 'string' })))), { p1: 'x' }],
		['5,000 parameters, in a thread', toolWith(object(many(5000, () => ({ type: 'string' })))), { p1: 'x' }],
		['the whole schema of a large body, in a thread', cutTool(), { p1: { p1: 'x' } }],
		['a list of 1,000, on the loop', toolWith(list), items(1000)],
		['a list of 50,000 (650 kB), in a thread', toolWith(list), items(50_000)],
	];
	console.log('\n| arguments checked | CPU ms | ms | longest block, CPU ms |\n|---|---|---|---|');
	for (const [name, checked, args] of cases) row(name, await measured(() => checks.complete(checked, structuredClone(args), NEVER)));
	checks.close();
}

const PARTS: Record<string, () => Promise<void>> = { lists: measureLists, compiling: measureCompiling, checking: measureChecking };
console.log(
	`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}); medians of ${ROUNDS} rounds, the longest block of all.`,
);
for (const part of process.argv[2] === undefined ? Object.values(PARTS) : [PARTS[process.argv[2]]]) await part?.();
