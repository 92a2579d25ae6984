// Tests `run_code` in the real sandbox: each call of a tool takes the path of any other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../../core/index.ts';
import { type EndpointOptions, mcpEndpoint, type RunTool, readEvents, request, sampleTool } from '../../../test/helpers/mcp.ts';

const TOOLS = ['add', 'list-all.pets', 'ask_first', 'picture'].map((name) => sampleTool({ name, description: `Does ${name}.` }));

const run: RunTool = async (name, args, { asker, signal }) => {
	if (name === 'add') return { content: [{ type: 'text', text: 'sum' }], structured: Number(args['a']) + Number(args['b']) };
	if (args['much'])
		return { content: [{ type: 'text', text: '[1]' }], structured: [1], cut: '[Cut: the first 3 of 900 bytes. Ask for less.]' };
	if (name === 'picture') return { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] };
	if (args['fail']) return { content: [{ type: 'text', text: 'HTTP 404 Not Found' }], isError: true };
	if (args['wrong']) throw new GatewayError('validation_failed', '/wrong must be string, got number 5.');
	if (name === 'ask_first') await asker?.({ message: 'Sure?', schema: { type: 'object', properties: {} } }, signal);
	return { content: [{ type: 'text', text: 'Tom' }] };
};

async function runCode(code: string, options: EndpointOptions = {}) {
	const post = mcpEndpoint({ tools: TOOLS, run, ...options });
	const { message } = await post(request('tools/call', { name: 'run_code', arguments: { code } }));
	return message.result;
}

const textOf = async (code: string): Promise<string> => (await runCode(code)).content.map(({ text }: { text: string }) => text).join('\n');

test('many calls cost one answer, with what the code returns and prints', async () => {
	const code = `let sum = 0;
		for (let n = 0; n < 20; n++) sum = await tools.add({ a: sum, b: n });
		console.log('added');
		return { sum, pet: await tools['list-all.pets'](), same: await tools.list_all_pets({}), image: (await tools.picture()).content[0].type };`;
	const { content, structuredContent } = await runCode(code);
	assert.deepEqual(structuredContent, { sum: 190, pet: 'Tom', same: 'Tom', image: 'image' });
	assert.deepEqual(content[1], { type: 'text', text: 'Printed:\nlog: added' });
});

test('what fails throws in its line: a tool, its arguments, a name that is not there', async () => {
	assert.match(await textOf('const a = 1;\nawait tools.list_all_pets({ fail: 1 })'), /list-all\.pets: HTTP 404 Not Found\s+at line 2/);
	assert.match(await textOf('await tools.list_all_pets({ wrong: 5 })'), /\/wrong must be string, got number 5/);
	assert.match(await textOf('await tools.list_pets()'), /no tool "list_pets" here\. Did you mean list-all\.pets/);
	assert.match(await textOf('await tools.add(5)'), /takes one object of arguments/);
	assert.match(await textOf('return 1 +'), /Line 1/);
	assert.equal(await textOf('try { await tools.nothing() } catch { return "caught" }'), 'caught');
});

test('a part of a larger answer is not handed over: the code stops there, or asks for less', async () => {
	const said = await textOf('return (await tools.list_all_pets({ much: true })).length');
	assert.match(
		said,
		/list-all\.pets ran, and its answer is too large for this gateway: \[Cut: the first 3 of 900 bytes\. Ask for less\.\]/,
	);
	assert.equal(await textOf('try { return await tools.list_all_pets({ much: true }) } catch { return tools.list_all_pets() }'), 'Tom');
});

test('a tool that asks the user is refused with a sentence, in a client that could be asked, too', async () => {
	const result = await runCode('await tools.ask_first()');
	assert.equal(result.isError, true);
	assert.match(result.content[0].text, /asks the user before it runs/);
});

test('is counted: each tool that is run, as a request of the caller', async () => {
	const counted: boolean[] = [];
	await runCode('await Promise.all([tools.add({ a: 1, b: 1 }), tools.add({ a: 1, b: 1 })])', {
		run: async (_name, _args, { isCounted = false }) => {
			counted.push(isCounted);
			return { content: [] };
		},
	});
	assert.deepEqual(counted, [true, true]);
});

test('progress tells the calls that have ended', async () => {
	const post = mcpEndpoint({ tools: TOOLS, run });
	const code = 'await tools.add({ a: 1, b: 2 }); await tools.picture();';
	const { body } = await post(request('tools/call', { name: 'run_code', arguments: { code }, _meta: { progressToken: 't' } }));
	const progress = (await readEvents(body)).flatMap(({ params }) => (params ? [[params.progress, params.message]] : []));
	assert.deepEqual(progress, [
		[1, 'add'],
		[2, 'picture'],
	]);
});

test('needs the scope to run tools, and code that is there and not too long', async () => {
	await assert.rejects(runCode('return 1', { scopes: ['tools:read'] }), { code: 'insufficient_scope' });
	assert.match(await textOf(' '), /"code" is required/);
	assert.match(await textOf(`//${'x'.repeat(100_000)}`), /100000 characters/);
});
