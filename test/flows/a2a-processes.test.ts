// Tests tasks of A2A whose replica is killed: another one goes on with them, unless nobody can know what the tool did.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { alternating, modernClient, modernDriver } from '../helpers/a2a.ts';
import { until } from '../helpers/clock.ts';
import { freePort } from '../helpers/ports.ts';
import { administer } from '../helpers/postgres.ts';
import { ready, start } from '../helpers/processes.ts';
import { createHttpTool, databaseVariables, publishGateway, registerAccount, SECRETS, startTestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const ALL = { tenant: '', status: 0, pageToken: '', statusTimestampAfter: undefined };

test('a replica is killed: another one ends what only reads, and does not repeat what may have had its effect', async (t) => {
	const held: [url: string, response: ServerResponse][] = [];
	const upstream = await httpUpstream(t, (request, response) => void held.push([request.url ?? '', response]));
	const service = await startTestService();
	t.after(() => service.stop());
	const database = service.config.database ?? assert.fail();
	const { redis } = service.config;
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-a2a-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const PORT = String(await freePort());
	await using dying = start({
		...{ ...databaseVariables(database), ...SECRETS, HOST: '127.0.0.1', EGRESS_ALLOW: '127.0.0.1', SVC_DATA_DIR: folder, PORT },
		...{ REDIS_HOST: redis?.host ?? '', REDIS_PORT: String(redis?.port) },
	});
	const account = await registerAccount(service.url);
	const toolIds = [
		await createHttpTool(account, { name: 'look', url: `${upstream.origin}/look` }),
		await createHttpTool(account, { name: 'pay', url: `${upstream.origin}/pay`, method: 'POST' }),
		await createHttpTool(account, { name: 'large', url: `${upstream.origin}/large` }),
	];
	await administer(database, `UPDATE tools SET annotations = '{"readOnlyHint": true}' WHERE id IN ('${toolIds[0]}', '${toolIds[2]}')`);
	const { url, key } = await publishGateway(account, { type: 'a2a', toolIds });
	await ready(`http://127.0.0.1:${PORT}`, dying);
	const at = (base: string) => modernDriver(url, alternating([base], { 'x-api-key': key }), 'JSONRPC');
	const [there, here] = [await at(`http://127.0.0.1:${PORT}`), await at(service.url)];
	const begun = async (skill: string) => (await there.send({ data: { skill } }, { returnImmediately: true })).id;
	const pay = await begun('pay');
	const large = await begun('large');
	// This client waits, and loses its connection; its task is there a second after it began.
	const contextId = randomUUID();
	const waiting = there.send({ data: { skill: 'look' } }, { contextId }).catch((error: unknown) => error);
	const lister = await modernClient(url, alternating([service.url], { 'x-api-key': key }), 'HTTP+JSON');
	const listed = async () => (await lister.listTasks({ ...ALL, contextId })).tasks;
	await until(async () => held.length === 3 && (await listed()).length === 1, 'all tools are at work');
	const [{ id: look } = assert.fail()] = await listed();
	await until(
		async () =>
			(await administer(database, `SELECT 1 FROM runs WHERE kind LIKE 'job.transport.a2a.%' AND status = 'running'`)).length === 3,
		'all have their jobs',
	);
	dying.signalGroup('SIGKILL');
	await dying.ended;
	assert.ok((await waiting) instanceof Error);
	// Runs that began ahead of the queue are put off for 35 s; here those are over.
	await administer(database, `UPDATE engine.job_common SET start_after = now() WHERE name LIKE 'job.transport.a2a.%'`);
	await until(() => held.length === 5, 'the other replica calls those that read again', 60);
	const again = held.slice(3);
	assert.deepEqual(again.map(([path]) => path).sort(), ['/large', '/look']);
	const text = 'é'.repeat(900_000);
	for (const [path, response] of again)
		response.setHeader('content-type', 'application/json').end(path === '/large' ? JSON.stringify({ text }) : '{"ok":true}');
	await until(async () => (await here.get(look)).state === 'completed', 'it has ended');
	await until(async () => (await here.get(large)).state === 'completed', 'the large one has, too');
	assert.deepEqual((await here.get(large)).artifacts, [{ text }]);
	const pieces = await administer(database, `SELECT 1 FROM records WHERE key LIKE 'artifacts:${large}:%'`);
	assert.equal(pieces.length, 3);
	await until(async () => (await here.get(pay)).state === 'failed', 'the other one has, too');
	assert.match(String((await here.get(pay)).said), /nobody knows/);
	assert.equal(held.length, 5, 'nothing was paid twice');
});
