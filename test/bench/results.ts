// Measures results of 1 KB, 16 KB and 1 MB through a gateway beside the bare proxy, gateways of 20 and of 1,000 tools, and 500 slow calls at
// once to one origin. `node test/bench/results.ts`, or `sizes`, `tools`, `slow`.

import { Pool } from 'undici';
import { enter, type Session } from '../../demo/account.ts';
import { eachAtOnce } from './at-once.ts';
import { openBacking, startOn } from './backing.ts';
import { quantile } from './paced.ts';
import { ACCOUNT, bareCallOf, callOf, createTool, listOf, type Path, publish, TOOL } from './paths.ts';
import { assertFaultless, expectedOf, type Measured, printMachine, printRows, printTable, runRounds } from './rounds.ts';
import { type Subject, startSubject } from './subject.ts';
import { readWholeList } from './whole-list.ts';

const SIZES = { '1 KB': 1024, '16 KB': 16 * 1024, '1 MB': 1024 * 1024 };
const TOOLS = [20, 1000];
const SLOW = { calls: 500, ms: 1000 };
/** The number of tools that are created at a time. */
const AT_ONCE = 8;

interface World extends Session {
	upstream: string;
	service: Subject;
}

/** Publishes tools by a gateway of their own. @returns its URL, and the headers of its key */
async function publishKeyed(
	{ rest }: World,
	endpoint: string,
	toolIds: string[],
): Promise<{ url: string; credential: { 'x-api-key': string } }> {
	const { id, url } = await publish(rest, toolIds, { type: 'api_key', endpoint });
	const { key } = await rest<{ key: string }>('POST', `/gateways/${id}/auth/api-keys`, { name: 'bench' });
	return { url, credential: { 'x-api-key': key } };
}

async function measureSizes(world: World): Promise<void> {
	for (const [title, sizeBytes] of Object.entries(SIZES)) {
		const upstream = `${world.upstream}/sized/${sizeBytes}`;
		await using bare = await startSubject('./bare-proxy.ts', { UPSTREAM: upstream });
		const toolId = await createTool(world.rest, world.organization.id, upstream);
		const { url, credential } = await publishKeyed(world, `/sized-${sizeBytes}`, [toolId]);
		const paths = [bareCallOf(`bare hapi proxy, ${title}`, bare.url), callOf(`gateway, api_key, ${title}`, url, credential)];
		show(await runRounds(paths, (server) => (server === 'bare' ? bare : world.service).cpuMicros()));
	}
}

async function measureTools(world: World): Promise<void> {
	const [calls, lists]: [Path[], Path[]] = [[], []];
	for (const count of TOOLS) {
		const { url, credential } = await publishKeyed(world, `/tools-${count}`, await createTools(world, count));
		calls.push(callOf(`tools/call, a gateway of ${count} tools`, url, credential));
		lists.push(listOf(`tools/list, a gateway of ${count} tools, its first page`, url, credential));
	}
	show(await runRounds(calls, () => world.service.cpuMicros()));
	show(await runRounds(lists, () => world.service.cpuMicros()));
	for (const path of lists) await measureWholeList(world, path);
}

/** Creates the tool that is called, and others beside it. */
async function createTools({ rest, organization, upstream }: World, count: number): Promise<string[]> {
	const ids: string[] = [];
	const names = Array.from({ length: count }, (_, at) => (at === 0 ? TOOL : `${TOOL}_${at}`));
	await eachAtOnce(names, AT_ONCE, async (name) => ids.push(await createTool(rest, organization.id, upstream, name)));
	return ids;
}

const LISTS = 20;

/** Reads all pages of a list, some times. */
async function measureWholeList({ service }: World, path: Path): Promise<void> {
	const before = await service.cpuMicros();
	const times: number[] = [];
	let list = { tools: 0, bytes: 0, pages: 0 };
	for (let round = 0; round < LISTS; round++) {
		const startedMs = performance.now();
		list = await readWholeList(path);
		times.push(performance.now() - startedMs);
	}
	const cpuMs = ((await service.cpuMicros()) - before) / 1000 / LISTS;
	times.sort((a, b) => a - b);
	const said = `A list of ${list.tools} tools, ${list.pages} pages, ${(list.bytes / 1024).toFixed(0)} KB, warm`;
	console.log(`${said}: ${quantile(times, 0.5).toFixed(1)} ms, CPU ${cpuMs.toFixed(1)} ms.`);
}

async function measureSlow(world: World): Promise<void> {
	const toolId = await createTool(world.rest, world.organization.id, `${world.upstream}/slow/${SLOW.ms}`);
	const { url, credential } = await publishKeyed(world, '/slow', [toolId]);
	const path = callOf('slow', url, credential);
	const expected = await expectedOf(path);
	const rows: unknown[][] = [];
	for (const calls of [1, SLOW.calls, SLOW.calls]) {
		const { totalMs, times, faults } = await callAtOnce(path, expected, calls);
		rows.push([calls, totalMs.toFixed(0), quantile(times, 0.5).toFixed(0), quantile(times, 0.99).toFixed(0), faults]);
	}
	console.log(`\nCalls at once of a tool whose upstream takes ${SLOW.ms} ms: all of them should take about as long as one.\n`);
	printRows(['calls at once', 'all of them, ms', 'p50 ms', 'p99 ms', 'faults'], rows);
}

async function callAtOnce(path: Path, expected: string, calls: number): Promise<{ totalMs: number; times: number[]; faults: number }> {
	const { origin, pathname } = new URL(path.url);
	const pool = new Pool(origin, { connections: calls });
	const startedMs = performance.now();
	let faults = 0;
	const call = async (): Promise<number> => {
		const asked = { path: pathname, method: path.method, headers: path.headers, body: path.body ?? null };
		const { body } = await pool.request(asked);
		if ((await body.text()) !== expected) faults++;
		return performance.now() - startedMs;
	};
	const times = await Promise.all(Array.from({ length: calls }, call));
	const totalMs = performance.now() - startedMs;
	await pool.close();
	return { totalMs, times: times.sort((a, b) => a - b), faults };
}

function show(measured: Measured[]): void {
	printTable(measured);
	console.log();
	assertFaultless(measured);
}

const PARTS: Record<string, (world: World) => Promise<void>> = { sizes: measureSizes, tools: measureTools, slow: measureSlow };

async function main(part: string | undefined): Promise<void> {
	const parts = part === undefined ? Object.values(PARTS) : [PARTS[part]];
	await using backing = await openBacking('embedded');
	await using upstream = await startSubject('./upstream.ts', {});
	await using service = await startOn(backing, upstream.url);
	const world = { ...(await enter(service.url, ACCOUNT)), upstream: upstream.url, service };
	printMachine();
	for (const measure of parts) await measure?.(world);
}

await main(process.argv[2]);
