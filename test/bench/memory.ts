// Measures the memory of a process on PostgreSQL and Redis: at rest, and more for 1,000 gateways that are ready, 100,000 keys that are known and
// 10,000 tools of one gateway, each in a process of its own. `node test/bench/memory.ts`, or one of `gateways`, `keys`, `tools`.

import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { enter } from '../../demo/account.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { eachAtOnce } from './at-once.ts';
import { type Backing, openBacking, startOn } from './backing.ts';
import { cloneRow } from './cloned-rows.ts';
import { ACCOUNT, callOf, createTool, listOf, type Path, publish } from './paths.ts';
import { memoryOf, type ResidentMemory } from './proc.ts';
import { IS_SHORT, printRows } from './rounds.ts';
import { type Subject, startSubject } from './subject.ts';
import { readWholeList } from './whole-list.ts';

/** Each a tenth where a run is only to show that it works. */
const share = IS_SHORT ? 0.1 : 1;
const [GATEWAYS, KEYED_GATEWAYS, KEYS_EACH, TOOLS] = [1000 * share, 10, 10_000 * share, 10_000 * share];
const AT_ONCE = 16;
/** The time in which the rest of a start ends. */
const REST_MS = 3000;
/** Calls before the first look, so that code which is loaded and compiled on demand is not counted. */
const WARM_UP = 300;

/** A schema of a kilobyte, about the median of the tools of public APIs. */
const PARAMETERS = JSON.stringify({
	type: 'object',
	properties: Object.fromEntries(
		Array.from({ length: 10 }, (_, at) => [`field_${at}`, { type: 'string', description: `A field of the request, the ${at}th of ten.` }]),
	),
});

interface Memory extends ResidentMemory {
	/** The heap after a collection, buffers included. */
	heapMb: number;
}

interface World {
	backing: Backing;
	database: Endpoint;
	upstream: string;
	organizationSlug: string;
	/** The gateway of which the others are copies. */
	gatewayId: string;
}

/** A key of a copy: its hash is made of the same text by SQL. */
const keyOf = (kind: string, n: number): string => `svc_gw_bench_${kind}_${n}`;
const keyHash = (kind: string): string => `sha256(('svc_gw_bench_${kind}_' || n)::bytea)`;

async function memoryOfSubject(subject: Subject): Promise<Memory> {
	await sleep(REST_MS);
	await subject.heapMb();
	const heapMb = await subject.heapMb();
	return { heapMb, ...memoryOf(subject.pid) };
}

/** Makes a gateway with a tool and a key, by a service that ends again. */
async function prepare(backing: Backing, upstream: string): Promise<World> {
	const { database } = backing;
	if (!database) throw new Error('Rows are copied in a PostgreSQL.');
	await using service = await startOn(backing, upstream);
	const { rest, organization } = await enter(service.url, ACCOUNT);
	const toolId = await createTool(rest, organization.id, upstream);
	const { id } = await publish(rest, toolId, { type: 'api_key', endpoint: '/first' });
	await rest('POST', `/gateways/${id}/auth/api-keys`, { name: 'bench' });
	return { backing, database, upstream, organizationSlug: organization.slug, gatewayId: id };
}

/** Copies the gateway with its tool and its method. */
async function cloneGateways({ database, gatewayId }: World, kind: string, count: number): Promise<void> {
	await cloneRow(database, { table: 'gateways', where: `t.id = '${gatewayId}'` }, count, { endpoint: `'/${kind}-' || n` });
	const copy = `(SELECT c.id FROM gateways c WHERE c.endpoint = '/${kind}-' || n)`;
	const where = `t.gateway_id = '${gatewayId}'`;
	for (const table of ['gateway_tools', 'gateway_auth']) await cloneRow(database, { table, where }, count, { gateway_id: copy });
}

/** Gives the copies of a gateway so many keys each, numbered through. */
async function cloneKeys({ database, gatewayId }: World, kind: string, gateways: number, each: number): Promise<void> {
	const copy = `(SELECT c.id FROM gateways c WHERE c.endpoint = '/${kind}-' || (1 + (n - 1) % ${gateways}))`;
	const row = { table: 'gateway_keys', where: `t.gateway_id = '${gatewayId}'` };
	await cloneRow(database, row, gateways * each, { gateway_id: copy, hash: keyHash(kind) });
}

async function cloneTools({ database, gatewayId }: World): Promise<void> {
	const tool = `SELECT tool_id FROM gateway_tools WHERE gateway_id = '${gatewayId}'`;
	const copied = { own_name: `'copy_' || n`, parameters: `'${PARAMETERS}'::json` };
	await cloneRow(database, { table: 'tools', where: `t.id = (${tool} LIMIT 1)` }, TOOLS, copied);
	const gateway = `(SELECT id FROM gateways WHERE endpoint = '/tools-1')`;
	const assigned = { gateway_id: gateway, tool_id: `(SELECT id FROM tools WHERE own_name = 'copy_' || n)`, name: `'copy_' || n` };
	await administer(database, `CREATE INDEX bench_names ON tools (own_name)`, 'ANALYZE tools');
	await cloneRow(database, { table: 'gateway_tools', where: `t.gateway_id = '${gatewayId}'` }, TOOLS, assigned);
}

/** Sends each request once, and reads its answer. @throws Error when one is not 200 */
async function sendEach(paths: readonly Path[]): Promise<void> {
	const [first] = paths;
	if (!first) return;
	const pool = new Pool(new URL(first.url).origin, { connections: AT_ONCE });
	await eachAtOnce(paths, AT_ONCE, async ({ url, method, headers, body }) => {
		const answer = await pool.request({ path: new URL(url).pathname, method, headers, body: body ?? null });
		const text = await answer.body.text();
		if (answer.statusCode !== 200 || text.includes('"error"'))
			throw new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
	});
	await pool.close();
}

interface Kind {
	title: string;
	count: number;
	prepare(world: World): Promise<void>;
	/** Has the service know all of them. @param base the URL below which the gateways are */
	know(base: string): Promise<void>;
}

const credentialOf = (kind: string, n: number) => ({ 'x-api-key': keyOf(kind, n) });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

const KINDS: Record<string, Kind> = {
	gateways: {
		title: 'gateways that are ready, of one tool and one key each',
		count: GATEWAYS,
		prepare: async (world) => {
			await cloneGateways(world, 'gateways', GATEWAYS);
			await cloneKeys(world, 'gateways', GATEWAYS, 1);
		},
		know: (base) =>
			sendEach(
				numbers(GATEWAYS).flatMap((n) => [callOf, listOf].map((make) => make('', `${base}/gateways-${n}`, credentialOf('gateways', n)))),
			),
	},
	keys: {
		title: `keys that are known, of ${KEYED_GATEWAYS} gateways`,
		count: KEYED_GATEWAYS * KEYS_EACH,
		prepare: async (world) => {
			await cloneGateways(world, 'keys', KEYED_GATEWAYS);
			await cloneKeys(world, 'keys', KEYED_GATEWAYS, KEYS_EACH);
		},
		know: (base) =>
			sendEach(
				numbers(KEYED_GATEWAYS * KEYS_EACH).map((n) =>
					listOf('', `${base}/keys-${1 + ((n - 1) % KEYED_GATEWAYS)}`, credentialOf('keys', n)),
				),
			),
	},
	tools: {
		title: 'tools of one gateway, with a schema of 1 KB each, all listed',
		count: TOOLS,
		prepare: async (world) => {
			await cloneGateways(world, 'tools', 1);
			await cloneKeys(world, 'tools', 1, 1);
			await cloneTools(world);
		},
		know: async (base) => {
			const { tools } = await readWholeList(listOf('', `${base}/tools-1`, credentialOf('tools', 1)));
			if (tools <= TOOLS) throw new Error(`Only ${tools} tools were listed.`);
		},
	},
};

/** Measures a process before and after it knows all of a kind; without one, at rest. */
async function measure(world: World, kind: Kind | null): Promise<{ before: Memory; after: Memory }> {
	await using service = await startOn(world.backing, world.upstream, './service.ts', ['--expose-gc']);
	const base = `${service.url}/${world.organizationSlug}`;
	if (!kind) {
		const before = await memoryOfSubject(service);
		return { before, after: before };
	}
	await sendEach(numbers(WARM_UP).map(() => callOf('', `${base}/warm-1`, credentialOf('warm', 1))));
	const before = await memoryOfSubject(service);
	await kind.know(base);
	return { before, after: await memoryOfSubject(service) };
}

const megabytes = (value: number): string => value.toFixed(1);

async function main(named: string | undefined): Promise<void> {
	await using backing = await openBacking('postgres');
	await using upstream = await startSubject('./upstream.ts', {});
	const world = await prepare(backing, upstream.url);
	await cloneGateways(world, 'warm', 1);
	await cloneKeys(world, 'warm', 1, 1);
	const rows: unknown[][] = [];
	const { before: rest } = await measure(world, null);
	rows.push(['a process at rest', 1, megabytes(rest.heapMb), megabytes(rest.rssMb), megabytes(rest.pssMb), '']);
	for (const kind of named === undefined ? Object.values(KINDS) : [KINDS[named]]) {
		if (!kind) throw new Error(`Known: ${Object.keys(KINDS).join(', ')}.`);
		await kind.prepare(world);
		const { before, after } = await measure(world, kind);
		const more = (field: keyof Memory): number => after[field] - before[field];
		const each = (more('heapMb') * 1024) / kind.count;
		rows.push([
			kind.title,
			kind.count,
			...(['heapMb', 'rssMb', 'pssMb'] as const).map((field) => `+${megabytes(more(field))}`),
			each.toFixed(2),
		]);
	}
	printRows(['', 'number', 'heap after gc, MB', 'RSS, MB', 'PSS, MB', 'heap of each, KB'], rows);
}

await main(process.argv[2]);
