// Tests the reading of bodies over real connections: those that have arrived as a whole when they are read, and those that have not.

import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../../test/helpers/clock.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { parseFormBody, parseJson, readBody } from './body.ts';

const MAX_BYTES = 7;

/** Whether the server reads at once, or when the body has arrived. */
type When = 'at once' | 'when it is there';

/** Sends a body in pieces. @returns what was read, or the code of the error */
async function read(t: TestContext, when: When, pieces: string[], headers: IncomingHttpHeaders = {}): Promise<string | null> {
	const { promise, resolve, reject } = Promise.withResolvers<string | null>();
	const upstream = await httpUpstream(t, async (incoming, response) => {
		try {
			if (when === 'when it is there') await until(() => incoming.complete, 'it is there', 1);
			const body = await readBody(incoming, MAX_BYTES);
			resolve(body?.toString() ?? null);
		} catch (thrown) {
			resolve((thrown as { code: string }).code);
		}
		response.end();
	});
	const sending = request(upstream.origin, { method: 'POST', headers });
	sending.on('error', reject);
	for (const piece of pieces) {
		sending.write(piece);
		await turn();
	}
	sending.end();
	return promise;
}

for (const when of ['at once', 'when it is there'] as const) {
	test(`a body that is read ${when} is the same in one piece, in several, and empty`, async (t) => {
		assert.equal(await read(t, when, ['{"a":1}'], { 'content-length': '7' }), '{"a":1}');
		assert.equal(await read(t, when, ['{"a"', ':', '1}'], { 'content-length': '7' }), '{"a":1}');
		assert.equal(await read(t, when, ['{"a"', ':', '1}']), '{"a":1}');
		assert.equal(await read(t, when, [], { 'transfer-encoding': 'chunked' }), '');
		assert.equal(await read(t, when, [], { 'content-length': '0' }), '');
	});

	test(`a body that is read ${when} has at most as many bytes as may be, whatever its length says`, async (t) => {
		assert.equal(await read(t, when, ['{"a":12}'], { 'content-length': '8' }), 'payload_too_large');
		assert.equal(await read(t, when, ['{"a":', '12}']), 'payload_too_large');
		assert.equal(await read(t, when, ['ééé', 'é']), 'payload_too_large');
	});
}

test('a body whose client has left before it is read is refused, and keeps nobody waiting', async (t) => {
	const { promise, resolve } = Promise.withResolvers<unknown>();
	const { origin } = await httpUpstream(t, async (incoming) => {
		await until(() => incoming.destroyed, 'the client has left', 1);
		resolve(await readBody(incoming, 1000).catch((thrown: { code: string }) => thrown.code));
	});
	const sending = request(origin, { method: 'POST', headers: { 'content-length': '100' } });
	sending.on('error', () => undefined);
	sending.write('abc', () => setTimeout(() => sending.destroy(), 20));
	assert.equal(await promise, 'validation_failed');
});

test('a form has at most 10,000 fields', () => {
	const form = (fields: number): Buffer => Buffer.from(Array(fields).fill('x=1').join('&'));
	assert.equal(parseFormBody(form(10_000)).getAll('x').length, 10_000);
	assert.throws(() => parseFormBody(form(10_001)), { code: 'validation_failed', message: 'The form has more than 10000 fields.' });
});

test('JSON with as many different names as may be is parsed, and one more is refused with what is expected', () => {
	const named = (count: number): Buffer =>
		Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_none, at) => [`n${at}`, 1]))));
	assert.equal((parseJson(named(10_000)) as Record<string, number>)['n9999'], 1);
	const message = 'The body has more than 10000 different names of members: send fewer at once, or the names as values in a list.';
	assert.throws(() => parseJson(named(10_001)), { code: 'validation_failed', message, details: [{ path: '', message }] });
});

test('a body that is not JSON is refused with the place of its fault, and no part of its text', () => {
	const message = 'The body is not JSON: Unexpected token in JSON at position 28 (line 1 column 29).';
	const body = Buffer.from('{"email":"a@b.c","password":CanaryJsonPw1}');
	assert.throws(() => parseJson(body), { code: 'validation_failed', message, details: [{ path: '', message }] });
});
