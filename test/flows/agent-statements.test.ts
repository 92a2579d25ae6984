// Tests how many statements a run of an agent and a call of a model send to the database: most of their CPU is spent on sending them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { Plugin } from '../../core/contract/kinds.ts';
import input from '../../plugins/nodes/input/index.ts';
import llmCall from '../../plugins/nodes/llm-call/index.ts';
import output from '../../plugins/nodes/output/index.ts';
import local from '../../plugins/providers/local/index.ts';
import { type AgentWorld, addLocalModel, agentWorld } from '../helpers/agents.ts';
import { graph } from '../helpers/graphs.ts';

/** Matches statements that are sent now and then for many runs at once. */
const OF_OTHERS = /pg_notify|pg_snapshot_xmin|request_batches|SET TIME ZONE|AS parked|^\s*BEGIN;|engine\.queue|AS target|target AS/;
/** One of several has nothing beside it that is not known. */
const TIMES = 5;

const chunk = (choices: object[], more = {}): string =>
	`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'small', choices, ...more })}\n\n`;
const ANSWER = [
	chunk([{ index: 0, delta: { role: 'assistant', content: 'It is so.' }, finish_reason: null }]),
	chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
	chunk([], { usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } }),
	'data: [DONE]\n\n',
].join('');

const upstream = createServer((request, response) => {
	request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER));
});
const { query } = pg.Client.prototype;
let providerId: string;
const sent: string[] = [];
let world: AgentWorld;
before(async () => {
	pg.Client.prototype.query = function (this: pg.Client, asked: string | { text: string }, ...rest: unknown[]) {
		sent.push(typeof asked === 'string' ? asked : asked.text);
		return Reflect.apply(query, this, [asked, ...rest]);
	} as typeof query;
	await once(upstream.listen(0, '127.0.0.1'), 'listening');
	world = await agentWorld([input, llmCall, output, local] as Plugin[]);
	providerId = await addLocalModel(world, (upstream.address() as AddressInfo).port);
});
after(async () => {
	await world[Symbol.asyncDispose]();
	pg.Client.prototype.query = query;
	upstream.closeAllConnections();
	upstream.close();
});

/** Returns the statements of the time at which there were the fewest. */
async function fewest(work: () => Promise<unknown>): Promise<string[]> {
	const times: string[][] = [];
	await work();
	for (let time = 0; time < TIMES; time++) {
		sent.length = 0;
		await work();
		times.push(sent.filter((text) => !OF_OTHERS.test(text)).map((text) => text.replace(/\s+/g, ' ').trim().slice(0, 100)));
	}
	return times.sort((one, other) => one.length - other.length)[0] ?? [];
}

const assertMost = (statements: string[], most: number): void =>
	assert.ok(statements.length <= most, `${statements.length} statements instead of ${most}:\n${statements.join('\n')}`);

test('a run of three nodes sends at most 14 statements', async () => {
	const agent = await world.addAgent(
		graph('in>ask ask>out', {
			in: ['input', { schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } }],
			ask: ['llm_call', { providerId, userPromptTemplate: 'Is it so? {{input.text}}' }],
			out: ['output', { mapping: { said: '{{nodes.ask.output}}' } }],
		}),
	);
	const statements = await fewest(async () => {
		const { run } = await world.ended(await world.start(agent, { text: 'Yes.' }));
		assert.deepEqual(run.output, { said: 'It is so.' });
	});
	assertMost(statements, 14);
});

test('a call of a model without a budget sends two statements', async () => {
	const models = world.core.services.models.of(world.organizationId, new AbortController().signal);
	const statements = await fewest(() => models.ask({ providerId, messages: [{ role: 'user', content: 'Is it so?' }] }));
	assertMost(statements, 2);
});
