// Tests with real MCP clients of both eras: skills as prompts, resources and completions, and as a client of the Skills extension loads them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createHttpTool, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const DESCRIPTION = 'Refunds: "orders" # all of them';
const SKILL = {
	name: 'refund-orders',
	description: DESCRIPTION,
	body: 'Refund {{order}}.\n---\n\nAnd say so.',
	frontmatter: { license: 'MIT', metadata: { team: 'yes', version: '1.0' } },
	arguments: [{ name: 'order', required: true, values: ['7', '77', '8'] }],
	files: { 'references/limits.md': { text: 'Ünder 100 €' }, 'assets/dot.bin': { base64: 'AAEC/w==' } },
};

let service: SharedService;
let gateway: { url: string; key: string };

before(async () => {
	service = await sharedService();
	const account = await registerAccount(service.url);
	const tool = await createHttpTool(account, { name: 'find_order', url: 'https://example.com/' });
	const published = await publishGateway(account, { toolIds: [tool] });
	const { id } = must(await account.post('/skills', SKILL), 201).body.data;
	must(await account.post(`/gateways/${published.id}/skills`, { skillId: id }), 201);
	gateway = published;
});
after(() => service?.stop());

const transportOptions = () => ({ requestInit: { headers: { authorization: `Bearer ${gateway.key}` } } });

async function connectSdk() {
	const client = new Client(INFO);
	// The SDK's own types disagree under exactOptionalPropertyTypes: its transport may have no session id.
	await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), transportOptions()) as Transport);
	return client;
}

async function connectDual(mode: 'legacy' | 'auto', capabilities: object = {}) {
	const client = new DualClient(INFO, { versionNegotiation: { mode }, capabilities });
	if ('elicitation' in capabilities)
		client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { order: '77' } }) as never);
	await client.connect(new DualTransport(new URL(gateway.url), transportOptions()));
	return client;
}

const CLIENTS = {
	'@modelcontextprotocol/sdk 1.32': connectSdk,
	'@modelcontextprotocol/client 2.4, legacy': () => connectDual('legacy'),
	'@modelcontextprotocol/client 2.4, auto': () => connectDual('auto'),
};

for (const [name, connect] of Object.entries(CLIENTS)) {
	test(`${name} finds, completes and gets the prompt, and reads resources`, async () => {
		// The methods that are used here are the same in all of them.
		const client = (await connect()) as Client;
		const { prompts } = await client.listPrompts();
		assert.deepEqual(
			prompts.map((prompt) => [prompt.name, prompt.description, prompt.arguments?.map((argument) => argument.name)]),
			[['refund-orders', DESCRIPTION, ['order']]],
		);
		const ref = { type: 'ref/prompt', name: 'refund-orders' } as const;
		assert.deepEqual((await client.complete({ ref, argument: { name: 'order', value: '7' } })).completion.values, ['7', '77']);
		const { messages } = await client.getPrompt({ name: 'refund-orders', arguments: { order: '7' } });
		assert.deepEqual(messages[0]?.content, { type: 'text', text: 'Refund 7.\n---\n\nAnd say so.' });
		const { resources } = await client.listResources();
		for (const { uri, mimeType } of resources) {
			const [content] = (await client.readResource({ uri })).contents;
			assert.deepEqual([content?.uri, content?.mimeType], [uri, mimeType]);
		}
		assert.equal(resources.length, 4);
		assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
		await assert.rejects(client.readResource({ uri: 'skill://none/SKILL.md' }), /no such resource/);
		await client.close();
	});
}

for (const mode of ['legacy', 'auto'] as const)
	test(`the client of the Skills extension (${mode}) loads a skill and verifies each file`, async () => {
		const client = await connectDual(mode);
		const skills = new SkillsClient(client);
		assert.ok(skills.supported && skills.directoryRead);
		const [skill] = (await skills.list()).skills;
		assert.ok(skill);
		const { name, description, frontmatter } = SKILL;
		assert.deepEqual(skill.frontmatter, { name, description, ...frontmatter });
		const manifest = await skills.read(skill);
		assert.deepEqual([manifest.verified, manifest.body?.trimStart()], [true, SKILL.body]);
		assert.equal((await skills.read(skill, 'references/limits.md')).text, 'Ünder 100 €');
		assert.deepEqual([...(await skills.read(skill, 'assets/dot.bin')).bytes], [0, 1, 2, 255]);
		const { resources } = await skills.readDirectory('skill://refund-orders');
		assert.deepEqual(resources.map(({ uri }) => uri).sort(), [
			'skill://refund-orders/SKILL.md',
			'skill://refund-orders/assets',
			'skill://refund-orders/references',
		]);
		await client.close();
	});

for (const mode of ['legacy', 'auto'] as const)
	test(`a client that takes forms is asked for the argument that is missing (${mode}), and its user may decline`, async () => {
		const client = await connectDual(mode, { elicitation: {} });
		const { messages } = await client.getPrompt({ name: 'refund-orders' });
		assert.match(JSON.stringify(messages[0]), /Refund 77\./);
		const given = await client.getPrompt({ name: 'refund-orders', arguments: { order: '8' } });
		assert.match(JSON.stringify(given.messages[0]), /Refund 8\./);
		const required = /params\.arguments\.order is required/;
		client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }) as never);
		await assert.rejects(client.getPrompt({ name: 'refund-orders' }), required);
		await client.close();
		const without = await connectDual(mode);
		await assert.rejects(without.getPrompt({ name: 'refund-orders' }), required);
		await without.close();
	});

test('the SDK’s client is asked as well', async () => {
	const client = new Client(INFO, { capabilities: { elicitation: {} } });
	client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { order: '77' } }));
	await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), transportOptions()) as Transport);
	const { messages } = await client.getPrompt({ name: 'refund-orders' });
	assert.match(JSON.stringify(messages[0]), /Refund 77\./);
	await client.close();
});
