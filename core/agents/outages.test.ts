// Tests runs of agents while the database is away for a moment: that costs them time, and nothing else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentNodes } from '../../test/helpers/agent-nodes.ts';
import { agentWorld } from '../../test/helpers/agents.ts';
import { until } from '../../test/helpers/clock.ts';
import { graph } from '../../test/helpers/graphs.ts';
import { GatewayError } from '../contract/errors.ts';

test('a question, and an agent that is run, wait for a database that is away', async () => {
	await using world = await agentWorld(agentNodes());
	const { agents } = world.core.store;
	/** The verbs that fail once. */
	const away = new Set(['ask']);
	const fallible =
		<A extends unknown[], R>(name: string, verb: (...asked: A) => Promise<R>) =>
		async (...asked: A): Promise<R> => {
			if (away.delete(name)) throw new GatewayError('unavailable', 'The database cannot be reached.');
			return verb(...asked);
		};
	const { ask, get, start } = agents;
	Object.assign(agents, { ask: fallible('ask', ask), get: fallible('get', get), start: fallible('start', start) });
	const inner = await world.addAgent(graph('in>out', { in: ['start'], out: ['finish', { value: 'inner' }] }));
	const agent = await world.addAgent(
		graph('in>q q>s s>out', { in: ['start'], q: ['ask', { message: 'Sure?' }], s: ['sub', { agentId: inner.id }], out: ['finish'] }),
	);
	const { run } = await world.start(agent, {});
	const place = { organizationId: world.organizationId, id: run.id };
	await until(async () => {
		assert.equal((await world.engine.get(place))?.run.error ?? null, null);
		return (await world.engine.waiting(place)).length === 1;
	}, 'it asks');
	away.add('get').add('start');
	await world.engine.answer(place, 'q', { ok: true });
	assert.equal((await world.engine.wait(place, 60_000)).run.output, 'inner');
	assert.equal(away.size, 0);
});
