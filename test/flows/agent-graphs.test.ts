// Runs graphs, given as data, over the engine of runs and PostgreSQL, and compares what they did: output, fault, trace, effects.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../core/contract/nouns.ts';
import type { Execution, Pipeline } from '../../core/store/store.ts';
import { BODIES } from '../graphs/bodies.ts';
import { FAULTS } from '../graphs/faults.ts';
import type { GraphCase } from '../graphs/graph-case.ts';
import { JOINS } from '../graphs/joins.ts';
import { VALUES } from '../graphs/values.ts';
import { WAITS } from '../graphs/waits.ts';
import { agentNodes } from '../helpers/agent-nodes.ts';
import { type AgentWorld, agentWorld, statuses } from '../helpers/agents.ts';
import { until } from '../helpers/clock.ts';

const ALL: readonly GraphCase[] = [...JOINS, ...VALUES, ...FAULTS, ...BODIES, ...WAITS];
const CANCELLED_NAMES = new Set([
	...['a chain of five', 'a diamond', 'a diamond whose ways are of unequal length', 'two diamonds, one after the other'],
	...['a skipped chain that joins one that ran', 'two outputs that are both reached', 'three items', 'items one at a time'],
	...[
		'a body that splits and joins',
		'a body in a body',
		'a node that keeps its parts by itself',
		'nodes that are computed anew, and keep nothing',
	],
]);
const SIGNS: Record<string, string> = { success: '+', failed: '!', skipped: '-', waiting: '?', running: '~' };

let world: AgentWorld;
const begun: string[] = [];
/** Hears of each effect of a run that begins, by its tag. */
const atBegin = new Map<string, (signal: AbortSignal) => Promise<void>>();
const begunOf = (tag: string): string[] => begun.filter((line) => line.startsWith(`${tag} `)).map((line) => line.slice(tag.length + 1));
before(async () => {
	const note = async (tag: string, name: string, signal: AbortSignal): Promise<void> => {
		begun.push(`${tag} ${name}`);
		await atBegin.get(tag)?.(signal);
	};
	world = await agentWorld(agentNodes({ begun: note }));
});
after(() => world[Symbol.asyncDispose]());

const sorted = (text: string): string[] => text.split(' ').filter(Boolean).sort();

/** Puts the ids of agents in place of their names. */
function named(graph: Pipeline, ids: ReadonlyMap<string, string>): Pipeline {
	return JSON.parse(JSON.stringify(graph), (key, value: unknown) =>
		key === 'agentId' ? (ids.get(String(value)) ?? value) : value,
	) as Pipeline;
}

async function answer({ run }: Execution, answers: Record<string, Json>): Promise<void> {
	const place = { organizationId: world.organizationId, id: run.id };
	for (const [key, value] of Object.entries(answers)) {
		await until(async () => (await world.engine.waiting(place)).some((question) => question.key === key), `${key} is asked`);
		await world.engine.answer(place, key, value);
	}
}

describe('the engine of agents runs', () => {
	test('at least 60 graphs, each of another name', () => {
		assert.ok(ALL.length >= 60, String(ALL.length));
		assert.equal(new Set(ALL.map(({ name }) => name)).size, ALL.length);
		assert.equal(CANCELLED.length, CANCELLED_NAMES.size);
	});

	for (const [index, one] of ALL.entries())
		test(`a graph with ${one.name}`, async () => {
			const tag = `g${index}`;
			const ids = new Map<string, string>();
			for (const [name, graph] of Object.entries(one.agents ?? {})) ids.set(name, (await world.addAgent(named(graph, ids))).id);
			const agent = await world.addAgent(named(one.graph, ids));
			const faults = await world.engine.check(world.organizationId, agent.pipeline, agent.id);
			if (one.fault?.[0] !== 'not_found' && !one.name.startsWith('paths')) assert.deepEqual(faults, []);
			const input = { tag, ...one.input };
			const started = await world.start(agent, input);
			await answer(started, one.answers ?? {});
			const { run } = await world.ended(started);
			if (one.fault) {
				const [code, node] = one.fault;
				assert.deepEqual([run.status, run.error?.code], ['failed', code], run.error?.message);
				assert.ok(run.error?.message.startsWith(`Node "${node}": `), run.error?.message);
			} else assert.deepEqual([run.error, run.output], [null, 'output' in one ? one.output : input]);
			const seen = Object.entries(await statuses(world, run.id)).map(([key, status]) => `${key}${SIGNS[status]}`);
			assert.deepEqual(seen.sort(), sorted(one.trace));
			assert.deepEqual(begunOf(tag).sort(), sorted(one.effects));
		});
});

/** Graphs that are cancelled at each of their effects: chains, joins, choices, bodies, parts. */
const CANCELLED = ALL.filter(({ name }) => CANCELLED_NAMES.has(name));

describe('a run that is cancelled when an effect begins stays so, and begins nothing more', () => {
	for (const one of CANCELLED)
		test(`in a graph with ${one.name}`, async () => {
			const agent = await world.addAgent(one.graph);
			const many = sorted(one.effects).length;
			for (let at = 1; at <= many; at++) {
				const tag = `cancelled ${one.name} ${at}`.replaceAll(' ', '_');
				const cancelling = Promise.withResolvers<string>();
				const ended = Promise.withResolvers<void>();
				let left = at;
				atBegin.set(tag, async (signal) => {
					if (--left !== 0) return;
					await world.engine.cancel({ organizationId: world.organizationId, id: await cancelling.promise });
					if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
					ended.resolve();
				});
				const { run } = await world.start(agent, { tag, ...one.input });
				cancelling.resolve(run.id);
				await ended.promise;
				const place = { organizationId: world.organizationId, id: run.id };
				const execution = await world.engine.wait(place, 60_000);
				assert.deepEqual([execution.run.status, execution.run.output, execution.run.error?.code], ['cancelled', null, 'cancelled']);
				const seen = begunOf(tag).length;
				for (const { status } of await world.engine.trace(place)) assert.ok(status !== 'running' && status !== 'waiting', status);
				assert.equal(await world.engine.cancel(place), false);
				assert.equal(begunOf(tag).length, seen, 'nothing begins after the end');
			}
		});
});
