// Replicas that only run, as processes, and the judge of what they did.

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RunAsked } from '../../core/runs/runs.ts';
import type { Run } from '../../core/store/store.ts';
import { administer, type Endpoint } from './postgres.ts';

const WORKER = fileURLToPath(new URL('run-worker.ts', import.meta.url));

export interface RunProcess extends AsyncDisposable {
	child: ChildProcess;
	/** Starts a run in that process. */
	start(asked: RunAsked): Promise<Run>;
	ended: Promise<number | null>;
}

/** Starts a replica; it takes runs when this resolves. @param worker the program of the process, instead of that for runs alone */
export async function runProcess(
	database: Endpoint,
	env: Record<string, string | number> = {},
	{ worker = WORKER, flags = [] }: { worker?: string; flags?: string[] } = {},
): Promise<RunProcess> {
	const texts = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
	const child = fork(worker, {
		env: { ...process.env, RUN_DATABASE: JSON.stringify(database), ...texts },
		stdio: 'inherit',
		execArgv: flags,
	});
	const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
	const [message] = await Promise.race([once(child, 'message'), ended.then((code) => [`ended with ${code}`])]);
	assert.equal(message, 'open');
	return {
		child,
		ended,
		async start(asked) {
			child.send({ start: asked });
			const [{ run }] = await once(child, 'message');
			return run;
		},
		async [Symbol.asyncDispose]() {
			if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
			await ended;
		},
	};
}

/** Shortens the time after which a process is taken for dead; the engine refuses one below ten seconds in its settings only. */
export async function hurry(database: Endpoint, kinds: string[], seconds: number): Promise<void> {
	const names = kinds.map((kind) => `'${kind}'`).join(', ');
	await administer(database, `UPDATE engine.queue SET heartbeat_seconds = ${seconds} WHERE name IN (${names})`);
}

export interface Judged {
	/** Runs by status, or by the code of their fault. */
	ends: Record<string, number>;
	/** Steps that were begun after they had been finished. */
	repeated: number;
	/** Steps that may be begun once, and were begun more often. */
	twice: number;
	/** Steps that were begun by more than one process: lost with the first. */
	resumed: number;
}

/** Judges what all runs of a kind left behind. */
export async function judge(database: Endpoint, kind: string): Promise<Judged> {
	const ends = await administer(
		database,
		`SELECT CASE WHEN status = 'failed' THEN error ->> 'code' ELSE status END AS how, count(*)::int AS n FROM runs WHERE kind = '${kind}' GROUP BY 1`,
	);
	const [counted] = await administer(
		database,
		`WITH begun AS (
			SELECT e.run_id, e.key, count(*) AS times, max(e.at) AS last, count(DISTINCT e.pid) AS pids
			FROM effects e JOIN runs r ON r.id = e.run_id AND r.kind = '${kind}' WHERE e.what = 'begun' GROUP BY 1, 2
		)
		SELECT count(*) FILTER (WHERE s.status = 'done' AND b.last > s.finished_at)::int AS repeated,
			count(*) FILTER (WHERE s.once AND b.times > 1)::int AS twice,
			count(*) FILTER (WHERE b.pids > 1)::int AS resumed
		FROM begun b LEFT JOIN run_steps s ON s.run_id = b.run_id AND s.key = b.key`,
	);
	return { ends: Object.fromEntries(ends.map(({ how, n }) => [String(how), Number(n)])), ...(counted as Omit<Judged, 'ends'>) };
}
