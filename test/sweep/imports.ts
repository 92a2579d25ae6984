// Kills one of three processes among fifty imports, with the product's own times, and judges what they left: all have ended, each with one schema
// and every operation and tool once. `node test/sweep/imports.ts`, about a minute.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/ports.ts';
import { administer } from '../helpers/postgres.ts';
import { ready, type Started, start } from '../helpers/processes.ts';
import { type Account, databaseVariables, must, registerAccount, SECRETS, send, startTestService } from '../helpers/service.ts';
import { writeTable } from './table.ts';

const ACCOUNTS = 5;
const EACH = 10;
const OPERATIONS = 40;
const DOCUMENT_MS = 300;
const PATIENCE_MS = 180_000;

const names = Array.from({ length: OPERATIONS }, (_, index) => `op${index}`);
const paths = Object.fromEntries(names.map((name) => [`/${name}`, { get: { operationId: name, responses: {} } }]));
const DOCUMENT = JSON.stringify({ openapi: '3.0.3', info: { title: 'Many', version: '1' }, paths });
const upstream = createServer((_request, response) => void sleep(DOCUMENT_MS).then(() => response.end(DOCUMENT)));
await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;

const desk = await startTestService();
const database = desk.config.database ?? assert.fail('no database');
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sweep-'));

async function startProcess(name: string): Promise<{ url: string; started: Started }> {
	const [port, { redis }] = [await freePort(), desk.config];
	const started = start({
		...{ ...databaseVariables(database), ...SECRETS, REDIS_HOST: redis?.host ?? '', REDIS_PORT: String(redis?.port) },
		...{ HOST: '127.0.0.1', PORT: String(port), EGRESS_ALLOW: '127.0.0.1', SVC_DATA_DIR: join(folder, name), LOG_LEVEL: 'error' },
	});
	const url = `http://127.0.0.1:${port}`;
	await ready(url, started);
	return { url, started };
}

const one = async (sql: string): Promise<Record<string, unknown>> => (await administer(database, sql))[0] ?? {};
const count = async (from: string): Promise<number> => Number((await one(`SELECT count(*) AS n FROM ${from}`))['n']);

async function seconds(condition: () => Promise<boolean>, what: string): Promise<number> {
	const startedMs = performance.now();
	while (!(await condition())) {
		if (performance.now() - startedMs > PATIENCE_MS) throw new Error(`still not: ${what}`);
		await sleep(50);
	}
	return (performance.now() - startedMs) / 1000;
}

async function importAt(url: string, { token, post }: Account, name: string): Promise<void> {
	const api = must(await post('/apis', { name, type: 'openapi', baseUrl: origin }), 201).body.data.id;
	const body = { schemaUrl: `${origin}/${name}.json`, generateTools: true };
	const headers = { authorization: `Bearer ${token}`, prefer: 'respond-async' };
	must(await send(`${url}/apis/${api}/import-schema`, 'POST', { body, headers }), 202);
}

const PER_API = (table: string, more = ''): string =>
	`SELECT count(*) FILTER (WHERE n <> ${table === 'api_schemas' ? 1 : OPERATIONS}) AS wrong FROM
	(SELECT a.id, count(t.id) AS n FROM apis a LEFT JOIN ${table} t ON t.api_id = a.id ${more} GROUP BY a.id) AS counted`;

try {
	const [dying, living] = await Promise.all([startProcess('dying'), startProcess('living')]);
	await using _dying = dying.started;
	await using _living = living.started;
	const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => registerAccount(desk.url)));
	const urls = [dying.url, living.url, desk.url];
	let turn = 0;
	for (let index = 0; index < EACH; index++)
		await Promise.all(accounts.map((account) => importAt(urls[turn++ % urls.length] ?? '', account, `api-${index}`)));
	await seconds(async () => (await count('import_jobs WHERE finished_at IS NOT NULL')) >= 10, 'some have ended');
	dying.started.signalGroup('SIGKILL');
	await dying.started.ended;
	const before = await count('import_jobs WHERE finished_at IS NOT NULL');
	const all = await seconds(async () => (await count('import_jobs WHERE finished_at IS NULL')) === 0, 'all have ended');
	const ends = await administer(
		database,
		`SELECT status || coalesce(' ' || (error ->> 'code'), '') AS how, count(*)::int AS n FROM import_jobs GROUP BY 1`,
	);
	const again = await count('import_jobs WHERE attempts > 1');
	const wrong = {
		schemas: Number((await one(PER_API('api_schemas')))['wrong']),
		operations: Number((await one(PER_API('operations')))['wrong']),
		tools: Number((await one(PER_API('tools')))['wrong']),
		'tools of one operation': await count('(SELECT 1 FROM tools GROUP BY operation_id HAVING count(*) > 1) AS twice'),
		'bodies left': await count('import_bodies'),
		'runs not ended': await count(`runs WHERE kind = 'import' AND finished_at IS NULL`),
		'jobs of the engine': await count('engine.job_common'),
	};
	const faults = Object.entries(wrong).filter(([, many]) => many > 0);
	writeTable('imports', [
		[`kill -9 of one of three processes among ${ACCOUNTS * EACH} imports of ${OPERATIONS} operations each`, `${before} had ended`],
		['all ended after', `${all.toFixed(1)} s`],
		['begun by more than one process', again],
		['imports by end', ends.map(({ how, n }) => `${n} ${how}`).join(', ')],
		['faults (an API without its schema, all operations or all tools, a tool twice, anything left)', faults.length],
	]);
	for (const [what, many] of faults) console.log(`fault: ${what}: ${many}`);
	if (faults.length > 0 || ends.some(({ how }) => how !== 'succeeded')) process.exitCode = 1;
} finally {
	await desk.stop();
	upstream.closeAllConnections();
	upstream.close();
	rmSync(folder, { recursive: true, force: true });
}
