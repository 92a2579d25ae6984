// The clients of the table that are programs of their own, or come from the packages that test/sweep/clients names.

import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { type Called, type Connected, type Driver, overSdk, shown, type Target, textIn } from '../clients/table/drivers.ts';

/** Installs those packages, unless it was done before. */
export function installClients(): void {
	if (existsSync(join(installed, 'node_modules'))) return;
	mkdirSync(installed, { recursive: true });
	for (const file of ['package.json', 'package-lock.json'])
		copyFileSync(new URL(`./clients/${file}`, import.meta.url), join(installed, file));
	execFileSync('npm', ['ci', '--prefix', installed, '--ignore-scripts', '--no-audit', '--no-fund'], { stdio: 'inherit' });
}

// biome-ignore lint/suspicious/noExplicitAny: packages that are installed for the sweep alone have no types here
type Loaded = any;

// Not in the folder of the sweep, whose packages would be taken for sources of ours.
const installed = fileURLToPath(new URL('../../node_modules/.cache/sweep/clients/', import.meta.url));
const outside = createRequire(join(installed, 'package.json'));
const load = (name: string): Promise<Loaded> => import(pathToFileURL(outside.resolve(name)).href);
const program = (name: string): string => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));
const headersOf = ({ key }: Target): Record<string, string> => ({ authorization: `Bearer ${key}` });
const home = mkdtempSync(join(tmpdir(), 'gatehouse-sweep-clients-'));
const env = {
	PATH: process.env['PATH'] ?? '',
	HOME: home,
	MCP_REMOTE_CONFIG_DIR: join(home, 'remote'),
	MCP_INSPECTOR_SECRET_STORE: 'file',
};

/** Reads what a client hands to its model: a text, blocks, or a result. */
function fromModel(result: Loaded): Called {
	if (result?.content !== undefined && Array.isArray(result.content)) return shown(result);
	const content = Array.isArray(result) ? result : [{ type: 'text', text: typeof result === 'string' ? result : JSON.stringify(result) }];
	return { isError: null, content, structured: undefined };
}

const failed = (error: unknown): Called => ({ isError: true, content: [{ type: 'text', text: String(error) }], structured: undefined });

const ONE_SHOT = ['ping', 'progress', 'list changed', 'cancel', 'timeout', 'elicitation'] as const;
const TOOLS_ONLY = ['prompt', 'resource', 'elicitation'] as const;

const inspector = (era: string): Driver => ({
	name: `Inspector CLI 2.12, ${era}`,
	lacks: ONE_SHOT,
	async connect(target) {
		const to = ['--server-url', target.url, '--transport', 'http', '--protocol-era', era];
		const given = ['--header', `Authorization: Bearer ${target.key}`, '--format', 'json', '-q'];
		const run = (args: string[]): Promise<Loaded> =>
			new Promise((resolve, reject) => {
				const command = [program('mcp-inspector'), '--cli', ...to, ...given, ...args];
				execFile(process.execPath, command, { env, maxBuffer: 64 * 1024 * 1024, timeout: 60_000 }, (error, stdout, stderr) => {
					// It ends with 5 after a tool that failed.
					if (stdout.trim() !== '' && (!error || error.code === 5)) resolve(JSON.parse(stdout));
					else reject(new Error(`it ended with ${error?.code ?? 0}: ${stderr}${stdout}`));
				});
			});
		return {
			list: async () => {
				const listed = await run(['--method', 'tools/list']);
				return (listed.tools ?? listed.result.tools).map(({ name }: { name: string }) => name);
			},
			async call(name, args = {}) {
				const called = await run(['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)]);
				return shown(called.result ?? called);
			},
			async prompt(name, args) {
				const given = Object.entries(args).map(([key, value]) => `${key}=${value}`);
				const got = await run(['--method', 'prompts/get', '--prompt-name', name, '--prompt-args', ...given]);
				return textIn(got.result ?? got);
			},
			async resource(uri) {
				const read = await run(['--method', 'resources/read', '--uri', uri]);
				return textIn(read.result ?? read);
			},
			close: async () => undefined,
		};
	},
});

const remote: Driver = {
	name: 'mcp-remote 0.15',
	connect(target) {
		const args = [program('mcp-remote'), target.url, '--header', `Authorization: Bearer ${target.key}`, '--transport', 'http-only'];
		return overSdk(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
	},
};

const langchain: Driver = {
	name: '@langchain/mcp-adapters 1.1.4',
	lacks: ['ping', 'progress', 'list changed', 'structured', ...TOOLS_ONLY],
	async connect(target): Promise<Connected> {
		const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
		const mcpServers = { gw: { transport: 'http', url: target.url, headers: headersOf(target) } };
		const client = new MultiServerMCPClient({ mcpServers, prefixToolNameWithServerName: false });
		const tools: Loaded[] = await client.getTools();
		return {
			list: async () => tools.map(({ name }) => name),
			async call(name, args = {}, { signal, timeoutMs } = {}) {
				const tool = tools.find((one) => one.name === name);
				if (!tool) throw new Error(`There is no tool ${name}.`);
				const work: Promise<Called> = tool.invoke(args, { signal, timeout: timeoutMs }).then(fromModel);
				// A tool that failed is thrown.
				return signal || timeoutMs !== undefined ? work : work.catch(failed);
			},
			close: () => client.close(),
		};
	},
};

const openai: Driver = {
	name: '@openai/agents 0.20.0',
	lacks: ['ping', 'progress', 'list changed', 'structured', 'cancel', 'timeout', ...TOOLS_ONLY],
	async connect(target): Promise<Connected> {
		const { MCPServerStreamableHttp } = await load('@openai/agents');
		const server = new MCPServerStreamableHttp({ url: target.url, name: 'gw', requestInit: { headers: headersOf(target) } });
		await server.connect();
		return {
			list: async () => (await server.listTools()).map(({ name }: { name: string }) => name),
			call: async (name, args = {}) => fromModel(await server.callTool(name, args)),
			close: () => server.close(),
		};
	},
};

const mastra: Driver = {
	name: '@mastra/mcp 2.0.0',
	lacks: ['ping', 'progress', 'list changed', 'structured', 'cancel', 'timeout', ...TOOLS_ONLY],
	async connect(target): Promise<Connected> {
		const { MCPClient } = await load('@mastra/mcp');
		const servers = { gw: { url: new URL(target.url), requestInit: { headers: headersOf(target) } } };
		const client = new MCPClient({ id: `table-${target.key}`, servers });
		const tools: Record<string, Loaded> = await client.listTools();
		return {
			list: async () => Object.keys(tools).map((name) => name.replace(/^gw_/, '')),
			async call(name, args = {}) {
				const tool = tools[`gw_${name}`];
				if (!tool) throw new Error(`There is no tool ${name}.`);
				return tool.execute(args, {}).then(fromModel, failed);
			},
			close: () => client.disconnect(),
		};
	},
};

export const PROGRAMS: readonly Driver[] = [inspector('legacy'), inspector('auto'), remote, langchain, openai, mastra];
