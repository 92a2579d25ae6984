// Written pages of lists, as they are kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, Tool } from '../../core/index.ts';
import { bodyOf, writtenPage } from './written-lists.ts';

// Only the name is read here.
const toolsOf = (...names: string[]): Tool[] => names.map((name) => ({ name }) as Tool);
const describe = async ({ name }: Tool): Promise<JsonObject> => ({ name });

test('a page that is kept has memory of its own, and no part of a pool that it would keep alive', async () => {
	for (let round = 0; round < 10; round++) {
		const tools = toolsOf('a', `b${round}`);
		const page = await writtenPage(tools, { start: 0, page: tools, kind: 'loose', describe });
		const { bytes } = page as unknown as { bytes: Buffer };
		assert.equal(bytes.buffer.byteLength, bytes.length);
		assert.equal(bytes.toString(), JSON.stringify([{ name: 'a' }, { name: `b${round}` }]));
	}
});

test('a page is written once for each state of a list, and sent as its bytes', async () => {
	let described = 0;
	const counting = (tool: Tool): Promise<JsonObject> => {
		described += 1;
		return describe(tool);
	};
	const tools = toolsOf('é');
	const [first] = [1, 2].map(() => writtenPage(tools, { start: 0, page: tools, kind: 'strict', describe: counting }));
	await first;
	const page = await writtenPage(tools, { start: 0, page: tools, kind: 'strict', describe: counting });
	const before = described;
	await writtenPage(tools, { start: 0, page: tools, kind: 'strict', describe: counting });
	assert.equal(described, before);
	const { body } = bodyOf({ jsonrpc: '2.0', id: 1, result: { tools: page } });
	assert.equal(String(body), '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"é"}]}}');
});
