// A replica that only runs agents: a process of its own for tests that end it. Each beginning and end of an effect is a row of `effects`, by the
// tag of its run and the name of its node. Environment: RUN_DATABASE (JSON), RUN_PROXY_PORT, RUN_KEEP_MS, RUN_GRACE_MS, AGENT_MEMORY.

import pg from 'pg';
import { createAgents } from '../../core/agents/engine.ts';
import { createArgumentChecks } from '../../core/arguments/checks.ts';
import { createEgress } from '../../core/egress/egress.ts';
import { Registry } from '../../core/registry/registry.ts';
import { createRuns } from '../../core/runs/runs.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { createAccountOf } from '../../core/shared/accounts.ts';
import { Memo } from '../../core/shared/memo.ts';
import { Recorder } from '../../core/store/recorder.ts';
import type { Services } from '../../core/tools/call-parts.ts';
import { openStore } from '../../db/index.ts';
import { agentNodes } from './agent-nodes.ts';
import { silent } from './postgres.ts';

/** The key that all processes of these tests have. */
export const KEY = '5a'.repeat(32);

const number = (name: string, usual: number): number => Number(process.env[name] ?? usual);

async function work(): Promise<void> {
	const given = JSON.parse(process.env['RUN_DATABASE'] ?? '{}');
	const { host, port, username: user, password, name } = given;
	const direct = new pg.Pool({ ...{ host, port, user, password, database: name }, max: 4 });
	direct.on('error', () => undefined);
	const tell =
		(what: string) =>
		async (tag: string, node: string): Promise<void> => {
			await direct.query('INSERT INTO effects (run_id, key, what, pid) VALUES ($1, $2, $3, $4)', [tag, node, what, process.pid]);
		};
	const proxied = process.env['RUN_PROXY_PORT'];
	const database = { ...given, ...(proxied && { host: '127.0.0.1', port: Number(proxied) }) };
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent, waits: { ordinaryMs: 60_000 } });
	const runs = createRuns({ store, log: silent, keepMs: number('RUN_KEEP_MS', 3_000) });
	const registry = new Registry();
	for (const plugin of agentNodes({ begun: tell('begun'), ended: tell('ended') })) registry.add(plugin);
	const accountOf = createAccountOf(store.organizations, new Memo(100));
	// The nodes of these tests use nothing else of a call.
	const services = { log: silent, accountOf, operatorOf: () => ({}) } as unknown as Services;
	const recorder = new Recorder(store, silent);
	createAgents({
		...{ registry, runs, store, accountOf, agents: store.agents, recorder, secrets: createSecrets(KEY), services: () => services },
		...{ argumentChecks: createArgumentChecks(accountOf), egress: createEgress({ allow: [] }) },
		shelfOf: () => Promise.reject(new Error('There are no gateways here.')),
		limits: { ofLaterTool: () => Promise.reject(new Error('There are no tools here.')) },
	});
	await runs.open();
	process.send?.('open');
	process.on('message', (asked: string) => {
		if (asked !== 'memory') return;
		global.gc?.();
		const resources = process.getActiveResourcesInfo();
		process.send?.({ heap: process.memoryUsage().heapUsed, timers: resources.filter((one) => one === 'Timeout').length });
	});
	process.once('SIGTERM', async () => {
		await runs.close(number('RUN_GRACE_MS', 500));
		await recorder.close();
		await store.close();
		await direct.end();
		process.exit(0);
	});
}

if (import.meta.main) void work();
