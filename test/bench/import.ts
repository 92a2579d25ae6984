// Imports GitHub's OpenAPI document (13 MB, 1,223 operations) and its GraphQL schema (5 MB, 272) into a real store and makes tools of
// them: how long it takes, how much memory, and how long the event loop was blocked at worst while others would have waited.

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { createImports } from '../../core/imports.ts';
import { Registry } from '../../core/registry.ts';
import type { Store } from '../../core/store.ts';
import graphql from '../../importers/graphql/index.ts';
import openapi from '../../importers/openapi/index.ts';
import { silent } from '../helpers/postgres.ts';
import { testStore } from '../helpers/store.ts';

const ROUNDS = 3;
/** Others must not wait longer than this while somebody imports. */
const MAX_BLOCK_MS = 100;
const MB = 1024 * 1024;

interface Measured {
	step: string;
	durationMs: number;
	longestBlockMs: number;
	/** The same in CPU time of the main thread: what is left of it when neighbours take the processor away is noise. */
	longestCpuMs: number;
}

async function measure(step: string, work: () => Promise<unknown>): Promise<Measured> {
	let [at, cpuAt, longestBlockMs, longestCpuMs] = [performance.now(), cpuMs(), 0, 0];
	const ticks = setInterval(() => {
		const [now, cpuNow] = [performance.now(), cpuMs()];
		longestBlockMs = Math.max(longestBlockMs, now - at);
		longestCpuMs = Math.max(longestCpuMs, cpuNow - cpuAt);
		[at, cpuAt] = [now, cpuNow];
	}, 1);
	const start = performance.now();
	await work();
	clearInterval(ticks);
	return { step, durationMs: performance.now() - start, longestBlockMs, longestCpuMs };
}

function cpuMs(): number {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
}

interface Subject {
	type: string;
	operations: string;
	/** As it comes from the network. */
	body: Buffer;
}

async function runRound(store: Store, round: number, { type, body }: Subject): Promise<Measured[]> {
	const registry = new Registry();
	registry.add(openapi, new URL('../../importers/openapi/index.ts', import.meta.url).href);
	registry.add(graphql, new URL('../../importers/graphql/index.ts', import.meta.url).href);
	const imports = createImports({ registry, egressPolicy: { allow: [] }, log: silent });
	const user = { email: `${type}${round}@example.com`, passwordHash: 'x', firstName: 'Bench', lastName: '' };
	const { organization } = await store.accounts.register(user, { name: 'bench', slugs: [`${type}${round}`] });
	const api = await store.apis.create(organization.id, {
		name: 'GitHub',
		type,
		baseUrl: 'https://api.github.com',
		description: null,
	});
	const read = () => imports.importSchema(store, api, movable(body), new AbortController().signal);
	const make = () => imports.generateTools(store, api, {});
	return [
		await measure('import', read),
		await measure('tools', make),
		await measure('import again', read),
		await measure('tools again', make),
	];
}

const requestOf = (schemaContent: string): Buffer => Buffer.from(JSON.stringify({ schemaContent }));
const movable = (body: Buffer): Buffer => Buffer.from(Uint8Array.from(body).buffer);
const readFile = (path: string): Buffer => readFileSync(new URL(path, import.meta.url));

const SUBJECTS: Subject[] = [
	{ type: 'openapi', operations: '1,223', body: requestOf(gunzipSync(readFile('../fixtures/github.openapi.json.gz')).toString()) },
	{ type: 'graphql', operations: '272', body: requestOf(readFile('../../node_modules/@octokit/graphql-schema/schema.json').toString()) },
];

await using store = await testStore();
const measured: Measured[] = [];
for (const subject of SUBJECTS) {
	const { type, operations, body } = subject;
	console.log(`${type}: ${(body.length / MB).toFixed(1)} MB, ${operations} operations, ${ROUNDS} rounds on one process, worker included`);
	for (let round = 0; round < ROUNDS; round++) {
		for (const figures of await runRound(store, round, subject)) {
			measured.push(figures);
			const { step, durationMs, longestBlockMs, longestCpuMs } = figures;
			const [duration, block, cpu] = [durationMs.toFixed(0), longestBlockMs.toFixed(1), longestCpuMs.toFixed(1)];
			console.log(`${step.padEnd(12)} ${duration.padStart(6)} ms   longest block ${block.padStart(6)} ms, of it CPU ${cpu.padStart(5)} ms`);
		}
	}
}
console.log(`peak memory (RSS) ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`);
if (measured.some(({ longestCpuMs }) => longestCpuMs > MAX_BLOCK_MS)) {
	console.error(`The event loop was blocked for more than ${MAX_BLOCK_MS} ms.`);
	process.exitCode = 1;
}
