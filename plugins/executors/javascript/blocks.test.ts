// Tests of code that returns content instead of data, and of code that tells how far it is.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContentBlock } from '../../../core/contract/nouns.ts';
import { codeCall, runCode } from '../../../test/helpers/javascript.ts';

describe('a result that is content', () => {
	const content: ContentBlock[] = [
		{ type: 'text', text: 'Hi' },
		{ type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
		{ type: 'audio', data: '', mimeType: 'audio/wav' },
		{ type: 'resource', resource: { uri: 'notes://one', mimeType: 'text/plain', text: 'One.' } },
		{ type: 'resource', resource: { uri: 'notes://two', blob: 'AA==' } },
		{ type: 'resource_link', uri: 'https://notes.example/3', name: 'Three' },
	];

	test('is passed on, with its data and whether it failed', async () => {
		assert.deepEqual(await runCode('return { content: parameters.content }', { parameters: { content: content as never } }), { content });
		const code = 'return { content: [{ type: "text", text: btoa("x") }], structured: { a: 1 }, isError: true }';
		assert.deepEqual(await runCode(code), { content: [{ type: 'text', text: 'eA==' }], structured: { a: 1 }, isError: true });
	});

	const WRONG: [block: object, message: RegExp][] = [
		[{ type: 'video' }, /content\/1\/type must be one of text, image, audio, resource, resource_link/],
		[{ type: 'text' }, /content\/1\/text must be a string/],
		[{ type: 'image', data: 'not base64', mimeType: 'image/png' }, /content\/1\/data must be base64/],
		[{ type: 'image', data: 'AA==', mimeType: 'png' }, /content\/1\/mimeType must be an image type, such as image\/png/],
		[{ type: 'resource', resource: { uri: 'x:y' } }, /content\/1\/resource must be \{ uri, mimeType\?, and text or blob/],
		[{ type: 'resource_link', uri: 'nowhere', name: 'n' }, /content\/1\/uri must be a URI/],
	];
	for (const [block, message] of WRONG)
		test(`with the block ${JSON.stringify(block)} is a failed run that says what was expected`, async () => {
			const parameters = { content: [content[0], block] as never };
			const { content: said, isError } = await runCode('return parameters', { parameters });
			assert.equal(isError, true);
			assert.match(said[0]?.type === 'text' ? said[0].text : '', message);
		});

	test('is data if it has anything else, no block, or an item that is none', async () => {
		for (const data of [{ content: content.slice(0, 1), id: 1 }, { content: [] }, { content: ['text'] }, { content: 'text' }, [content[0]]])
			assert.deepEqual((await runCode('return parameters.data', { parameters: { data: data as never } })).structured, data);
	});
});

test('progress is told while the code runs, as far as it is new, and no more often than anybody needs', async () => {
	const told: unknown[] = [];
	const call = { ...codeCall(null), progress: (...report: unknown[]) => void told.push(report) };
	const code = `
		progress(1, 4, "one"); progress(1); progress(0.5); progress(Infinity); progress(2, "4", { toString: () => "two" });
		for (let n = 3; n < 2000; n++) progress(n);
		try { progress("3"); } catch (error) { return error.message; }`;
	const { structured } = await runCode(code, { call });
	assert.equal(structured, 'progress takes numbers: progress(done, total, message).');
	assert.deepEqual(told.slice(0, 3), [
		[1, 4, 'one'],
		[2, undefined, 'two'],
		[3, undefined, undefined],
	]);
	assert.equal(told.length, 500);
});
