// Tests that the document's examples are answers of the service: every operation has one, its page allows it, and the service still answers
// with the same members. Secrets are cut off after their prefix.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../core/contract/nouns.ts';
import { type Judge, readDocument } from '../helpers/document.ts';
import { type Examples, recordExamples } from '../helpers/examples.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const WRITE = 'run `npm run examples`, and look at what it changed';

let service: TestService;
let judge: Judge;
/** The examples of the document, by operation id and status. */
const shown: Examples = {};
before(async () => {
	service = await startTestService();
	judge = await readDocument(service.url);
	for (const { operationId, responses } of judge.pages.values()) {
		const told = Object.entries(responses).flatMap(([status, { content = {} }]) => {
			const [example] = Object.values(content).map((media) => (media as { example?: Json }).example);
			return example === undefined ? [] : [[status, example] as const];
		});
		shown[operationId] = Object.fromEntries(told);
	}
});
after(() => service.stop());

test('every success of every operation has an example, and nothing else has', () => {
	const missing = [...judge.pages.values()].flatMap(({ operationId, responses }) =>
		Object.entries(responses)
			.filter(([status, { content }]) => status.startsWith('2') && content && shown[operationId]?.[status] === undefined)
			.map(([status]) => `${operationId} ${status}`),
	);
	assert.deepEqual(missing, [], `these have no example: ${WRITE}`);
});

test('every example is an answer that its page promises', () => {
	for (const [name, { operationId, responses }] of judge.pages) {
		for (const [status, example] of Object.entries(shown[operationId] ?? {})) {
			const [type = ''] = Object.keys(responses[status]?.content ?? {});
			const headers = new Headers({ 'content-type': type });
			for (const header of Object.keys(responses[status]?.headers ?? {})) headers.set(header, 'x');
			assert.equal(judge.fault(name, { status: Number(status), headers, body: example }), null, `${name} ${status}: ${WRITE}`);
		}
	}
});

test('no example holds a secret', () => {
	const text = JSON.stringify(shown);
	for (const secret of [
		/\b(ak_live_|svc_[a-z]+_)[\w-]{5}/,
		/\beyJ[\w-]+\.[\w-]+\./,
		/\$2[aby]\$/,
		/\bv1\.[\w-]+\./,
		/127\.0\.0\.1:(?!7777)\d/,
	])
		assert.doesNotMatch(text, secret);
	for (const told of ['ak_live_...', 'svc_gw_...', 'svc_inv_...']) assert.ok(text.includes(told), told);
});

/** The members of a value as pointers, in which all members of a list are one. */
function placesOf(value: Json, at = ''): string[] {
	if (value === null || typeof value !== 'object') return [];
	const members = Array.isArray(value) ? value.map((item) => ['*', item] as const) : Object.entries(value);
	return [...new Set(members.flatMap(([name, member]) => [`${at}/${name}`, ...placesOf(member, `${at}/${name}`)]))].sort();
}

test('a repeated request gets an answer with the same members', async () => {
	const recorded = await recordExamples(service);
	for (const [id, answers] of Object.entries(recorded)) {
		for (const [status, answer] of Object.entries(answers)) {
			assert.deepEqual(placesOf(shown[id]?.[status] ?? null), placesOf(answer), `${id} ${status} answers otherwise: ${WRITE}`);
		}
	}
	assert.deepEqual(Object.keys(shown).sort(), Object.keys(recorded).sort());
});
