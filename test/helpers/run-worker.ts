// A replica that only runs: a process of its own for tests that end it. Each part of a step that ran is a row of `effects`.
// The input of a chain is the number of its steps, RUN_NODES if it is null.
// Environment: RUN_DATABASE (JSON), RUN_NODES, RUN_NODE_MS, RUN_PLACES, RUN_GRACE_MS, RUN_KEEP_MS, RUN_POOL.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { RunContext } from '../../core/runs/context.ts';
import { createRuns } from '../../core/runs/runs.ts';
import { openStore } from '../../db/index.ts';
import { silent } from './silent.ts';

/** The table of the effects of steps. */
export const EFFECTS =
	'CREATE TABLE IF NOT EXISTS effects (run_id uuid, key text, what text, pid integer, at timestamptz DEFAULT clock_timestamp())';

const number = (name: string, usual: number): number => Number(process.env[name] ?? usual);

async function work(): Promise<void> {
	const { host, port, username: user, password, name } = JSON.parse(process.env['RUN_DATABASE'] ?? '{}');
	const direct = new pg.Pool({ ...{ host, port, user, password, database: name }, max: 2 });
	direct.on('error', () => undefined);
	const tell = (run: RunContext, key: string, what: string): Promise<unknown> =>
		direct.query('INSERT INTO effects (run_id, key, what, pid) VALUES ($1, $2, $3, $4)', [run.id, key, what, process.pid]);
	const proxied = process.env['RUN_PROXY_PORT'];
	const database = { ...JSON.parse(process.env['RUN_DATABASE'] ?? '{}'), ...(proxied && { host: '127.0.0.1', port: Number(proxied) }) };
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent, waits: { ordinaryMs: 60_000 } });
	const runs = createRuns({ store, log: silent, keepMs: number('RUN_KEEP_MS', 3_000) });
	const step = (run: RunContext, key: string, once: boolean): Promise<string> =>
		run.step(
			key,
			async (signal) => {
				await tell(run, key, 'begun');
				await sleep(number('RUN_NODE_MS', 300), undefined, { signal });
				await tell(run, key, 'ended');
				return key;
			},
			{ once },
		);
	const places = number('RUN_PLACES', 25);
	runs.define(
		'chain',
		async (run) => {
			const count = typeof run.input === 'number' ? run.input : number('RUN_NODES', 5);
			for (let index = 0; index < count; index++) await step(run, `n${index}`, index === 2);
			return 'done';
		},
		{ places },
	);
	runs.define('approval', async (run) => {
		await step(run, 'before', false);
		const answer = await run.event('approve');
		await step(run, 'after', false);
		return answer;
	});
	runs.define('due', async (run) => step(run, 'fired', false));
	await runs.open();
	process.send?.('open');
	process.on('message', async (asked: { start: Parameters<typeof runs.start>[0] }) => {
		process.send?.({ run: await runs.start(asked.start) });
	});
	process.once('SIGTERM', async () => {
		await runs.close(number('RUN_GRACE_MS', 500));
		await store.close();
		await direct.end();
		process.exit(0);
	});
}

if (import.meta.main) void work();
