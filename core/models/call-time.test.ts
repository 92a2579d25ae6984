// Tests of the time of a call: a long answer is read to its end, a silent one is ended.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { modelsAt, PROVIDER_ID } from '../../test/helpers/model-connections.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import type { ChatChunk } from '../contract/providers.ts';

const STEP_MS = 50_000;

const event = (content: string, finish_reason: string | null = null): string =>
	`data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;

/** Begins a call whose first piece has come. @returns what writes the next one and reads it */
async function begun(t: TestContext) {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const answers: ServerResponse[] = [];
	const server = await httpUpstream(t, (_request, response) => {
		answers.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
		response.write(event('0'));
	});
	const asked = { providerId: PROVIDER_ID, messages: [{ role: 'user' as const, content: 'x' }] };
	const chunks = modelsAt(t, server.origin).models.chat(asked)[Symbol.asyncIterator]();
	const next = async (): Promise<ChatChunk> => (await chunks.next()).value;
	await next();
	const response = answers[0];
	assert.ok(response);
	return { next, response };
}

test('an answer that takes longer than ten minutes, and has pieces all the while, is read to its end', async (t) => {
	const { next, response } = await begun(t);
	for (let at = 1; at <= 15; at++) {
		t.mock.timers.tick(STEP_MS);
		response.write(event(`${at}`));
		assert.deepEqual(await next(), { type: 'text', text: `${at}` });
	}
	response.end(`${event('', 'stop')}data: [DONE]\n\n`);
	assert.equal((await next()).type, 'end');
});

test('an answer of an hour is ended, down to its connection', async (t) => {
	const { next, response } = await begun(t);
	const closed = once(response, 'close');
	const read = async (): Promise<never> => {
		for (let at = 1; ; at++) {
			t.mock.timers.tick(STEP_MS);
			response.write(event(`${at}`));
			await next();
		}
	};
	await assert.rejects(read(), { code: 'upstream_timeout', message: /60 minutes/ });
	await closed;
});

test('an answer that falls silent is ended', async (t) => {
	const { next, response } = await begun(t);
	const closed = once(response, 'close');
	const waiting = assert.rejects(next(), { code: 'upstream_timeout' });
	t.mock.timers.tick(3 * STEP_MS);
	await waiting;
	await closed;
});
