// The stdio proxy with the clients that people have: both SDKs in each era, and the Inspector; at a gateway and at `/mcp`, in both modes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Client as DualClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as DualTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { isSampled, sampled } from '../helpers/sampled.ts';
import { openProxyWorld, PROGRAM, type ProxyWorld } from '../helpers/stdio-proxy.ts';
import { ROOT } from '../rooms.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
type Read = any;

interface Connected {
	instructions(): string | undefined;
	tools(): Promise<{ name: string; inputSchema: object }[]>;
	prompts(): Promise<string[]>;
	prompt(name: string, args?: Record<string, string>): Promise<string>;
	call(name: string, args?: object, options?: { onprogress?: (told: Read) => void; signal?: AbortSignal }): Promise<Read>;
	close(): Promise<void>;
}

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const FORMS = { capabilities: { elicitation: {} } };

let world: ProxyWorld;
let home: string;
before(async () => {
	world = await openProxyWorld();
	home = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-home-'));
});
after(async () => {
	await world?.stop();
	rmSync(home, { recursive: true, force: true });
});

const TARGETS = ['gateway', 'universal'] as const;
type Target = (typeof TARGETS)[number];
const MODES = ['skill-first', 'full'] as const;
const commandFor = (target: Target, mode: string) => ({
	command: PROGRAM[0],
	args: [PROGRAM[1], ...(target === 'gateway' ? [world.gateway.name] : [])],
	env: {
		...{ PATH: `${process.env['PATH']}`, HOME: home, ...COMPILE_CACHE, SVC_URL: world.service.url, SVC_MODE: mode },
		SVC_TOKEN: target === 'gateway' ? world.gateway.key : world.accessKey.key,
	},
	stderr: 'ignore' as const,
});

const agree = async (): Promise<never> => ({ action: 'accept', content: { run: true } }) as never;

function connectedTo(client: Client | DualClient, call: Connected['call']): Connected {
	return {
		instructions: () => client.getInstructions(),
		tools: async () => (await client.listTools()).tools,
		prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
		prompt: async (name, args = {}) => {
			const { messages } = await client.getPrompt({ name, arguments: args });
			const content = messages[0]?.content as { text: string } | undefined;
			return content?.text ?? '';
		},
		call,
		close: () => client.close(),
	};
}

async function connectSdk(target: Target, mode: string): Promise<Connected> {
	const client = new Client(INFO, FORMS);
	client.setRequestHandler(ElicitRequestSchema, agree);
	await client.connect(new StdioClientTransport(commandFor(target, mode)));
	return connectedTo(client, (name, args = {}, options) => client.callTool({ name, arguments: { ...args } }, undefined, options) as Read);
}

async function connectDual(negotiation: 'legacy' | 'auto' | { pin: string }, target: Target, mode: string): Promise<Connected> {
	const client = new DualClient(INFO, { ...FORMS, versionNegotiation: { mode: negotiation } });
	client.setRequestHandler('elicitation/create', agree);
	await client.connect(new DualTransport(commandFor(target, mode)));
	return connectedTo(client, (name, args = {}, options) => client.callTool({ name, arguments: { ...args } }, options) as Read);
}

const CLIENTS: [name: string, connect: (target: Target, mode: string) => Promise<Connected>][] = [
	['@modelcontextprotocol/sdk 1.32', connectSdk],
	['@modelcontextprotocol/client 2.4, legacy', (target, mode) => connectDual('legacy', target, mode)],
	['@modelcontextprotocol/client 2.4, auto', (target, mode) => connectDual('auto', target, mode)],
	['@modelcontextprotocol/client 2.4, of 2026-07-28 alone', (target, mode) => connectDual({ pin: '2026-07-28' }, target, mode)],
];
const TOOLS = ['echo', 'draw', 'pay', 'slow', 'big', 'count'];

/** Each client at each address in each mode. `npm test` takes half of them, in which each pair of the three is; `npm run sweep` all. */
const MEETINGS = CLIENTS.flatMap(([name, connect], at) =>
	TARGETS.flatMap((target, its) => MODES.map((mode, own) => ({ name, connect, target, mode, isIn: isSampled(at + its + own, 2) }))),
).filter(({ isIn }) => isIn);

for (const { name, connect, target, mode } of MEETINGS) {
	describe(`${name}, at ${target === 'gateway' ? 'a gateway' : '/mcp'}, in ${mode} mode`, () => {
		let client: Connected;
		before(async () => {
			client = await connect(target, mode);
		});
		after(() => client.close());

		if (mode === 'skill-first') {
			test('there are two tools, a prompt for each skill, and an overview', async () => {
				assert.deepEqual(
					(await client.tools()).map((tool) => tool.name),
					['svc_search', 'svc_execute'],
				);
				assert.deepEqual((await client.prompts()).toSorted(), ['skill-refund-orders', 'svc-overview']);
				assert.equal(await client.prompt('skill-refund-orders', { order: '7' }), 'Refund 7.');
				const overview = await client.prompt('svc-overview');
				assert.match(overview, /^# Tools \(6\)\n[^\n]*svc_search[^\n]*\n- echo: Does echo\.\n/);
				assert.match(overview, /# Skills \(1\)\n.*\n- skill-refund-orders: Refunds orders\.$/);
				if (target === 'gateway') assert.match(client.instructions() ?? '', /svc_search.*\n\nBe kind\.$/s);
			});

			test('a tool is found by a mistyped keyword, run by its name, and its parameters are checked', async () => {
				const [first] = (await client.call('svc_search', { query: 'ecoh' })).structuredContent.tools;
				assert.deepEqual([first.name, first.inputSchema.properties.text.type], ['echo', 'string']);
				const ran = await client.call('svc_execute', { name: 'echo', parameters: { text: 'hello' } });
				assert.deepEqual(ran.structuredContent, { said: 'hello' });
				const refusals = [
					[await client.call('svc_execute', { name: 'ecko' }), /Did you mean echo/],
					[await client.call('svc_execute', { name: 'echo', parameters: { text: 5 } }), /\/text must be string, got number 5/],
					[await client.call('svc_execute', {}), /"name" is required/],
					[await client.call('svc_execute', { name: 'echo', parameters: [] }), /"parameters" must be an object/],
					[await client.call('svc_execute', { name: 'echo', arguments: { text: 'hi' } }), /"arguments" is not known.* in "parameters"/],
					[await client.call('svc_search', { query: ' ' }), /"query" is required/],
				] as const;
				for (const [{ isError, content }, sentence] of refusals) {
					assert.equal(isError, true);
					assert.match(content[0].text, sentence);
				}
				await assert.rejects(client.call('echo', {}), /no tool "echo", but svc_search and svc_execute/);
			});

			test('a call that the client cancels ends at the upstream', async () => {
				const leaving = new AbortController();
				const { asked, left } = world.upstream;
				const [began, ended] = [asked.length, left.length];
				const call = client.call('svc_execute', { name: 'slow' }, { signal: leaving.signal });
				await until(() => asked.length > began, 'the call reaches the upstream');
				leaving.abort();
				await assert.rejects(call);
				await until(() => left.length > ended, 'the upstream is left');
			});
			return;
		}

		test('each tool is one, with its schema', async () => {
			const tools = await client.tools();
			assert.deepEqual(tools.map((tool) => tool.name).toSorted(), TOOLS.toSorted());
			assert.deepEqual(tools.find((tool) => tool.name === 'echo')?.inputSchema, {
				...{ type: 'object', properties: { text: { type: 'string', description: 'What to repeat' } } },
			});
			assert.deepEqual((await client.call('echo', { text: 'hello' })).structuredContent, { said: 'hello' });
			assert.deepEqual((await client.prompts()).toSorted(), ['skill-refund-orders', 'svc-overview']);
		});

		test('progress, images, a result of 1 MB and a question to the user come through', async () => {
			const told: Read[] = [];
			const { content } = await client.call('draw', {}, { onprogress: (progress) => told.push(progress) });
			assert.deepEqual(content, [{ type: 'image', data: 'iVBORw==', mimeType: 'image/png' }]);
			const reports = told.map(({ progress, total }) => `${progress}/${total}`).join();
			// A client of 2.4 drops the report that it reads together with the answer.
			assert.match(reports, /^1\/2(,2\/2)?$/);
			if (target === 'gateway') assert.equal((await client.call('big')).content[0].text.length, 1024 * 1024);
			assert.deepEqual((await client.call('pay')).structuredContent, { paid: true });
		});
	});
}

const inspectorOf = (target: Target, mode: string) => {
	const { command, args, env } = commandFor(target, mode);
	const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
	return async (...wanted: string[]): Promise<string> => {
		const all = ['--cli', command, ...args, ...variables, '--format', 'json', '-q', ...wanted];
		const { stdout } = await promisify(execFile)(join(ROOT, 'node_modules/.bin/mcp-inspector'), all, {
			env: { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'file' },
		});
		return JSON.stringify(JSON.parse(stdout));
	};
};

/** Each run of the Inspector is a process beside the proxy's: `npm test` has those of one address and mode, `npm run sweep` all. */
const INSPECTED = sampled(
	MODES.flatMap((mode) => TARGETS.map((target) => ({ target, mode }))),
	4,
);

for (const { target, mode } of INSPECTED)
	test(`the Inspector lists, calls and reads prompts at ${target === 'gateway' ? 'a gateway' : '/mcp'}, ${mode}`, async () => {
		const inspect = inspectorOf(target, mode);
		const listed = await inspect('--method', 'tools/list');
		const called = ['--method', 'tools/call', '--tool-name'];
		if (mode === 'full') {
			assert.match(listed, /"echo"/);
			assert.match(await inspect(...called, 'echo', '--tool-args-json', '{"text":"hi"}'), /"said":"hi"/);
		} else {
			assert.match(listed, /svc_search.*svc_execute/);
			const args = '{"name":"echo","parameters":{"text":"hi"}}';
			assert.match(await inspect(...called, 'svc_execute', '--tool-args-json', args), /"said":"hi"/);
			assert.match(await inspect(...called, 'svc_search', '--tool-args-json', '{"query":"echo"}'), /echo/);
		}
		assert.match(await inspect('--method', 'prompts/list'), /skill-refund-orders/);
	});
