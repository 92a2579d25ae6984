// Tests of resources: the documentation of tools, files of skills, their folders, and what a client may ask for.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { ListResourcesResultSchema, ListResourceTemplatesResultSchema, ReadResourceResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { mcpEndpoint, modernRequest, request, sampleTool } from '../../../test/helpers/mcp.ts';

const SKILL = {
	name: 'paint',
	description: 'Paints: "all".',
	frontmatter: { license: 'MIT' },
	body: '# Paint\n',
	files: { 'references/a.md': 'ä', 'references/deep/b.md': 'b', 'dot.png': Buffer.from([1, 2]) },
};
const endpoint = mcpEndpoint({ skills: [SKILL], tools: [sampleTool({ annotations: { title: 'Greet', readOnlyHint: true } })] });
const ask = async (method: string, params?: object) => (await endpoint(request(method, params))).message;
const uris = (resources: { uri: string }[]) => resources.map(({ uri }) => uri);

test('resources/list has the files of skills, then a page for each tool (resources, “Listing Resources”)', async () => {
	const { resources } = ListResourcesResultSchema.parse((await ask('resources/list')).result);
	assert.deepEqual(uris(resources), [
		'skill://paint/SKILL.md',
		'skill://paint/references/a.md',
		'skill://paint/references/deep/b.md',
		'skill://paint/dot.png',
		'gatehouse://tools/greet',
	]);
	const [document] = resources;
	assert.deepEqual([document?.name, document?.description, document?.mimeType], ['paint', 'Paints: "all".', 'text/markdown']);
	const templates = ListResourceTemplatesResultSchema.parse((await ask('resources/templates/list')).result);
	assert.deepEqual(
		templates.resourceTemplates.map(({ uriTemplate }) => uriTemplate),
		['gatehouse://tools/{name}', 'skill://{name}/{+path}'],
	);
});

test('pages of a list follow each other, each resource once', async () => {
	const post = mcpEndpoint({ skills: [SKILL], tools: Array.from({ length: 998 }, (_, at) => sampleTool({ name: `tool_${at}` })) });
	const found: string[] = [];
	const sizes: number[] = [];
	for (let cursor: string | undefined, isLast = false; !isLast; ) {
		const { result } = (await post(request('resources/list', cursor === undefined ? {} : { cursor }))).message;
		found.push(...uris(result.resources));
		sizes.push(result.resources.length);
		({ nextCursor: cursor } = result);
		isLast = cursor === undefined;
	}
	assert.deepEqual([sizes, new Set(found).size], [[500, 500, 2], 1002]);
});

describe('resources/read', () => {
	const read = async (uri: unknown) => ask('resources/read', { uri });

	test('a tool’s page has its description, hints and schemas', async () => {
		const [page] = ReadResourceResultSchema.parse((await read('gatehouse://tools/greet')).result).contents;
		assert.equal(page?.mimeType, 'text/markdown');
		const schema = JSON.stringify(sampleTool().parameters, null, 2);
		const text = `# greet\n\nGreet\n\nGreets.\n\nIt only reads.\n\n## Arguments\n\n\`\`\`json\n${schema}\n\`\`\`\n`;
		assert.equal(page && 'text' in page && page.text, text);
	});

	test('a text that holds a fence stays inside of one', async () => {
		const tool = sampleTool({ parameters: { type: 'object', description: '````' } });
		const post = mcpEndpoint({ tools: [tool] });
		const [page] = (await post(request('resources/read', { uri: 'gatehouse://tools/greet' }))).message.result.contents;
		assert.match(page.text, /\n`````json\n/);
	});

	test('texts are text, all else is a blob', async () => {
		const { contents } = (await read('skill://paint/references/a.md')).result;
		assert.deepEqual(contents, [{ uri: 'skill://paint/references/a.md', mimeType: 'text/markdown', text: 'ä' }]);
		assert.equal((await read('skill://paint/dot.png')).result.contents[0].blob, 'AQI=');
	});

	test('what there is not is -32002 before 2026-07-28 and -32602 since (resources, “Error Handling”)', async () => {
		for (const uri of [
			'skill://paint/none',
			'skill://none/SKILL.md',
			'skill://paint',
			'gatehouse://tools/none',
			'gatehouse://none',
			'file:///etc/passwd',
		]) {
			const { code, data } = (await read(uri)).error;
			assert.deepEqual([code, data], [-32002, { uri }]);
			const modern = (await endpoint(...modernRequest('resources/read', { uri }))).message.error;
			assert.deepEqual([modern.code, modern.data], [-32602, { uri }]);
		}
		for (const uri of [undefined, 5, 'x'.repeat(2049)]) assert.equal((await read(uri)).error.code, -32602);
	});

	test('in the modern era the URI is in a header, and the answer may be kept for a while', async () => {
		const [body, headers] = modernRequest('resources/read', { uri: 'skill://paint/references/a.md' });
		const { result } = (await endpoint(body, headers)).message;
		assert.deepEqual([result.ttlMs, result.cacheScope], [60_000, 'private']);
		assert.equal((await endpoint(body, { ...headers, 'mcp-name': 'skill://paint/SKILL.md' })).message.error.code, -32020);
	});

	test('a caller without tools:read is refused', async () => {
		const post = mcpEndpoint({ skills: [SKILL], scopes: ['tools:execute'] });
		for (const uri of ['skill://paint/SKILL.md', 'gatehouse://tools/greet'])
			await assert.rejects(post(request('resources/read', { uri })), { code: 'insufficient_scope' });
	});
});

describe('the Skills extension (SEP-2640)', () => {
	test('an entry has the head of SKILL.md, and the hash and size of each file', async () => {
		const { skills } = (await ask('skills/list')).result;
		const [document] = (await ask('resources/read', { uri: skills[0].uri })).result.contents;
		assert.equal(document.text, '---\nname: paint\ndescription: "Paints: \\"all\\"."\nlicense: "MIT"\n---\n\n# Paint\n');
		assert.deepEqual(skills[0].frontmatter, { name: 'paint', description: 'Paints: "all".', license: 'MIT' });
		const digest = `sha256:${createHash('sha256').update(document.text).digest('hex')}`;
		assert.deepEqual(skills[0].resources[0], { uri: 'skill://paint/SKILL.md', digest, size: Buffer.byteLength(document.text) });
		assert.equal(skills[0].resources.length, 4);
		assert.deepEqual((await ask('skills/get', { uri: skills[0].uri })).result, { skill: skills[0] });
		for (const uri of ['skill://none/SKILL.md', 'skill://paint/dot.png', 5])
			assert.equal((await ask('skills/get', { uri })).error.code, -32602);
	});

	test('a folder lists its files and folders; a file is none', async () => {
		const children = async (uri: string) => (await ask('resources/directory/read', { uri })).result.resources;
		assert.deepEqual(
			(await children('skill://paint')).map(({ uri, mimeType }: { uri: string; mimeType: string }) => [uri, mimeType]),
			[
				['skill://paint/SKILL.md', 'text/markdown'],
				['skill://paint/dot.png', 'application/octet-stream'],
				['skill://paint/references', 'inode/directory'],
			],
		);
		assert.deepEqual(uris(await children('skill://paint/references/')), ['skill://paint/references/a.md', 'skill://paint/references/deep']);
		for (const uri of ['skill://paint/dot.png', 'skill://paint/none', 'skill://none', 'gatehouse://tools/greet'])
			assert.equal((await ask('resources/directory/read', { uri })).error.code, -32602);
	});
});

test('a page of a tool whose schema is full of backticks has longer fences', async () => {
	const parameters = { type: 'object', properties: { a: { description: `${'` '.repeat(200_000)}\`\`\`\`` } } };
	const post = mcpEndpoint({ tools: [sampleTool({ name: 'ticks', parameters })] });
	const { message } = await post(request('resources/read', { uri: 'gatehouse://tools/ticks' }));
	assert.match(message.result.contents[0].text, /^`{5}json$/m);
});
