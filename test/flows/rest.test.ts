// Tests an idle service: the modules that it has loaded, the threads that it has started, and the memory that it returns.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { freePort } from '../helpers/ports.ts';
import { testDatabase } from '../helpers/postgres.ts';
import { ready, start } from '../helpers/processes.ts';
import { startRedis } from '../helpers/redis.ts';
import { databaseVariables, must, registerAccount, SECRETS, send } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-rest-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const WATCHED = join(folder, 'watched.json');

/** Libraries of single formats, protocols and tasks, which are loaded only when needed. */
const WHEN_NEEDED = [
	'graphql',
	'@grpc/grpc-js',
	'@bufbuild/protobuf',
	'protobufjs',
	'@apidevtools/swagger-parser',
	'quickjs-emscripten-core',
	'@jitl/quickjs-wasmfile-release-sync',
	'nodemailer',
	'umzug',
	'fflate',
];
const YOUNG_BYTES = 32 * 1024 * 1024;

// The module reports all the time, and at exit, what the main thread loaded and started, and the size of its young generation.
const WATCH = `
import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { getHeapSpaceStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';
if (isMainThread) {
	const loaded = [];
	let threads = 0;
	let processes = 0;
	registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
	subscribe('worker_threads', () => threads++);
	subscribe('child_process', () => processes++);
	const report = () => {
		const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size;
		writeFileSync(process.env.WATCHED + '.half', JSON.stringify({ loaded, threads, processes, young }));
		renameSync(process.env.WATCHED + '.half', process.env.WATCHED);
	};
	setInterval(report, 200).unref();
	process.once('exit', report);
}`;

interface Watched {
	loaded: string[];
	threads: number;
	processes: number;
	young: number;
}

const watched = (): Watched => JSON.parse(readFileSync(WATCHED, 'utf8'));
const packagesOf = ({ loaded }: Watched): Set<string> =>
	new Set(loaded.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));

test('at rest no library is loaded that few services need, no thread or process runs, memory is given back; an import has its importer in a process', async () => {
	await using owned = await testDatabase();
	const [redis, port, script] = [await startRedis(), await freePort(), join(folder, 'watch.mjs')];
	writeFileSync(script, WATCH);
	const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, SVC_DATA_DIR: folder };
	const place = { HOST: '127.0.0.1', PORT: String(port), NODE_OPTIONS: `--import=${script}`, WATCHED };
	await using started = start({ ...databaseVariables(owned.database), ...shared, ...place });
	const url = `http://127.0.0.1:${port}`;
	await ready(url, started);
	assert.equal((await send(`${url}/metrics`, 'GET')).status, 404);
	await until(() => existsSync(WATCHED) && watched().young < YOUNG_BYTES, 'the memory of the start is given back');
	assertAtRest(watched());

	const account = await registerAccount(url);
	const api = must(await account.post('/apis', { name: 'A', type: 'graphql', baseUrl: 'https://api.example/graphql' }), 201);
	must(await account.post(`/apis/${api.body.data.id}/import-schema`, { schemaContent: 'type Query { a(b: Int): String }' }), 200);
	must(await account.post(`/apis/${api.body.data.id}/generate-tools`, {}), 200);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0, started.output());
	await redis.stop();
	const last = watched();
	assert.deepEqual([last.threads, last.processes], [0, 1]);
	assertLean(last);
});

function assertAtRest(seen: Watched): void {
	assertLean(seen);
	const packages = packagesOf(seen);
	assert.ok(packages.has('@hapi/hapi') && packages.has('sequelize'), 'modules of both kinds are seen');
	const importers = seen.loaded.filter((url) => url.includes('/importers/'));
	assert.ok(importers.length >= 8, 'importers are seen');
	assert.deepEqual(
		importers.filter((url) => url.endsWith('/parse.ts')),
		[],
	);
	assert.deepEqual([seen.threads, seen.processes], [0, 0]);
}

/** Nothing that is loaded when needed is there, nor anything of OpenTelemetry while nothing is configured. */
function assertLean(seen: Watched): void {
	assert.deepEqual(
		[...packagesOf(seen)].filter((name) => WHEN_NEEDED.includes(name) || name.startsWith('@opentelemetry/')),
		[],
	);
}
