// Measures a call by an executor against a direct call by the same library. `node test/bench/executors.ts`, about a minute

import { Agent as HttpAgent } from 'node:http';
import { cpus } from 'node:os';
import { Client, credentials } from '@grpc/grpc-js';
import { createClientAsync } from 'soap';
import { Agent, request } from 'undici';
import { createEgress } from '../../core/egress/egress.ts';
import type { Call, Json, JsonObject, ToolExecutor } from '../../core/index.ts';
import { Memo } from '../../core/shared/memo.ts';
import protobuf from '../../importers/protobuf/index.ts';
import soapImporter from '../../importers/soap/index.ts';
import graphql from '../../plugins/executors/graphql/index.ts';
import grpc from '../../plugins/executors/grpc/index.ts';
import http from '../../plugins/executors/http/index.ts';
import soap from '../../plugins/executors/soap/index.ts';
import { apiAt } from '../helpers/executor.ts';
import { readWith } from '../helpers/importer.ts';
import { readOne } from '../helpers/soap.ts';
import { itemType, PROTO } from './grpc-items.ts';
import { median } from './rounds.ts';
import { startSubject } from './subject.ts';

const AT_ONCE = 32;
const ROUNDS = 6;
const ROUND_MS = 1500;
const WARM_UP_MS = 3000;
const TITLE = 'Pride and Prejudice';
const QUERY = 'query ($id: ID!) { item(id: $id) { path title authors price { amount currency } copies } }';

/** Calls once and returns the title in the response. */
type Calling = () => Promise<string | undefined>;

interface Path {
	name: string;
	/** The name of the direct call that this one is compared with; null for the direct call itself. */
	beside: string | null;
	call: Calling;
}

interface Round {
	callsPerSecond: number;
	cpuMicros: number;
}

async function main(): Promise<void> {
	await using upstream = await startSubject('./upstream.ts', {});
	await using grpcUpstream = await startSubject('./grpc-upstream.ts', {});
	const agent = new Agent();
	const egress = createEgress({ allow: [upstream.url, grpcUpstream.url] });
	const direct = new Client(new URL(grpcUpstream.url).host, credentials.createInsecure());
	try {
		const call = lent(egress);
		const byGrpc = await prepareGrpc(direct, { ...call, api: apiAt(grpcUpstream.url) });
		const paths = [...(await preparePaths(upstream.url, agent, call)), ...(await prepareSoap(upstream.url, call)), ...byGrpc];
		for (const path of paths) await runRound(path, WARM_UP_MS);
		const rounds = new Map(paths.map((path) => [path.name, [] as Round[]]));
		for (let round = 0; round < ROUNDS; round++)
			// The order alternates, so that no path alone profits from quiet times of the machine.
			for (const path of round % 2 === 0 ? paths : paths.toReversed()) rounds.get(path.name)?.push(await runRound(path, ROUND_MS));
		print(paths, rounds);
	} finally {
		direct.close();
		await Promise.all([egress.close(), agent.close()]);
	}
}

/** Makes the parts of a call that these executors use: the guarded dialer, without a signer. */
function lent(egress: ReturnType<typeof createEgress>): Call {
	const { signal } = new AbortController();
	const memo = new Memo(100);
	const call: Pick<Call, 'request' | 'connect' | 'exchange' | 'account' | 'memo' | 'sign' | 'signal' | 'api' | 'tool'> = {
		request: (options) => egress.request(options),
		connect: (host, port) => egress.connect(host, port),
		exchange: (_url, work) => work(() => undefined, {}),
		memo: (key, ttlMs, compute) => memo.get('organization', key, ttlMs, compute),
		account: async () => 'account',
		sign: async (options) => options,
		signal,
		api: null,
		tool: null,
	};
	return call as Call;
}

async function preparePaths(url: string, dispatcher: Agent, call: Call): Promise<Path[]> {
	const direct = async (options: { method: 'GET' | 'POST'; path: string; body?: string }): Promise<JsonObject> => {
		const headers = { accept: 'application/json', ...(options.body && { 'content-type': 'application/json' }) };
		const { path, ...rest } = options;
		const { body } = await request(url + path, { ...rest, dispatcher, headers });
		return (await body.json()) as JsonObject;
	};
	const run = async (executor: ToolExecutor, given: object): Promise<(args: JsonObject) => Promise<JsonObject>> => {
		const config: unknown = await executor.config.validateAsync(given);
		return async (args) => (await executor.execute(args, config, call)).structured as JsonObject;
	};
	const byHttp = await run(http, { method: 'GET', url: `${url}/items/{id}` });
	const byGraphql = await run(graphql, { endpoint: `${url}/graphql`, query: QUERY });
	const posted = { method: 'POST' as const, path: '/graphql', body: JSON.stringify({ query: QUERY, variables: { id: '42' } }) };
	return [
		{ name: 'undici, GET', beside: null, call: async () => titleOf(await direct({ method: 'GET', path: '/items/42' })) },
		{ name: 'http', beside: 'undici, GET', call: async () => titleOf(await byHttp({ id: '42' })) },
		{ name: 'undici, POST of a query', beside: null, call: async () => titleOf((await direct(posted))['data']) },
		{ name: 'graphql', beside: 'undici, POST of a query', call: async () => titleOf(await byGraphql({ id: '42' })) },
	];
}

/** Prepares SOAP. The package's client takes the same document, by which it also reads and writes; its connections are kept alive, too. */
async function prepareSoap(url: string, call: Call): Promise<Path[]> {
	const wsdl = await (await request(`${url}/soap`)).body.text();
	const client = await createClientAsync(`${url}/soap`, {}, `${url}/soap`);
	const options = { agent: new HttpAgent({ keepAlive: true, maxSockets: AT_ONCE }) };
	const tool = soapImporter.tool(await readOne(wsdl), apiAt(`${url}/soap`));
	const config = await soap.config.validateAsync({ ...tool.executionConfig, endpoint: `${url}/soap` });
	return [
		{
			name: 'soap’s client',
			beside: null,
			call: async () => titleOf((await client['GetItemAsync']({ id: '42' }, options))[0]),
		},
		{
			name: 'soap',
			beside: 'soap’s client',
			call: async () => titleOf((await soap.execute({ id: '42' }, config, call)).structured),
		},
	];
}

/** Prepares gRPC. The direct call reads and writes messages with protobufjs, which is the usual way to use grpc-js. */
async function prepareGrpc(client: Client, lent: Call): Promise<Path[]> {
	const [operation] = (await readWith(protobuf, PROTO)).operations;
	if (!operation) throw new Error('The service of the benchmark has no method.');
	const config = await grpc.config.validateAsync(protobuf.tool(operation).executionConfig);
	// The tool is the cache key of what is compiled from its descriptors, like in the service.
	const call: Call = { ...lent, tool: { id: 'bench', version: '1', outputSchema: null } as NonNullable<Call['tool']> };
	const write = (request: object): Buffer => Buffer.from(itemType('Ask').encode(request).finish());
	const read = (bytes: Buffer): Json => itemType('Item').toObject(itemType('Item').decode(bytes), { longs: String });
	const direct = (): Promise<string | undefined> => {
		const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
		client.makeUnaryRequest('/bench.Items/Get', write, read, { id: '42' }, (error, item) =>
			error ? reject(error) : resolve(titleOf(item)),
		);
		return promise;
	};
	return [
		{ name: 'grpc-js, unary', beside: null, call: direct },
		{ name: 'grpc', beside: 'grpc-js, unary', call: async () => titleOf((await grpc.execute({ id: '42' }, config, call)).structured) },
	];
}

/** Returns the title of an item, or of the item in a query's result. */
function titleOf(data: Json | undefined): string | undefined {
	const { title, item } = data as { title?: string; item?: { title: string } };
	return title ?? item?.title;
}

async function runRound({ name, call }: Path, forMs: number): Promise<Round> {
	const started = performance.now();
	const before = process.cpuUsage();
	let calls = 0;
	const caller = async (): Promise<void> => {
		while (performance.now() - started < forMs) {
			const title = await call();
			if (title !== TITLE) throw new Error(`${name} answered ${title}.`);
			calls += 1;
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, caller));
	const { user, system } = process.cpuUsage(before);
	return { callsPerSecond: (calls * 1000) / (performance.now() - started), cpuMicros: (user + system) / calls };
}

function print(paths: Path[], rounds: ReadonlyMap<string, Round[]>): void {
	console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), upstream on the same machine.`);
	console.log(`${AT_ONCE} calls at once, ${ROUNDS} rounds of ${ROUND_MS / 1000} s each, order alternating; medians.\n`);
	console.log('| call | calls/s | CPU µs/call | × direct, calls/s | × direct, CPU |\n|---|---|---|---|---|');
	for (const { name, beside } of paths) {
		const own = rounds.get(name) ?? [];
		const direct = rounds.get(beside ?? name) ?? [];
		const cells = [
			name,
			median(own.map(({ callsPerSecond }) => callsPerSecond)).toFixed(0),
			median(own.map(({ cpuMicros }) => cpuMicros)).toFixed(0),
			ratio(own, direct, 'callsPerSecond'),
			ratio(own, direct, 'cpuMicros'),
		];
		console.log(`| ${cells.join(' | ')} |`);
	}
}

/** Compares round with round, so that fluctuations of the machine cancel out; then takes the median. */
function ratio(own: Round[], direct: Round[], field: keyof Round): string {
	return median(own.map((round, index) => round[field] / (direct[index]?.[field] ?? Number.NaN))).toFixed(2);
}

await main();
