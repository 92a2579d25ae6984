// The clients of the table that are programs of their own, or come from the packages that test/sweep/clients names.

import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { type Called, CONSENT, type Connected, type Driver, overSdk, shown, type Target, textIn } from '../clients/table/drivers.ts';

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
/** Returns the path of a file of those packages. */
export const installedFile = (path: string): string => join(installed, path);
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
	lacks: ['ping', 'progress', 'list changed', 'prompt', 'elicitation'],
	async connect(target): Promise<Connected> {
		const { MCPServerStreamableHttp } = await load('@openai/agents');
		const opened = async (more: object): Promise<Loaded> => {
			const server = new MCPServerStreamableHttp({ url: target.url, name: 'gw', requestInit: { headers: headersOf(target) }, ...more });
			await server.connect();
			return server;
		};
		const server = await opened({});
		return {
			list: async () => (await server.listTools()).map(({ name }: { name: string }) => name),
			async call(name, args = {}, { signal, timeoutMs } = {}) {
				// The time belongs to a connection.
				const its = timeoutMs === undefined ? server : await opened({ timeout: timeoutMs });
				try {
					return shown(await its.callToolResult(name, args, null, { signal }));
				} finally {
					if (its !== server) await its.close();
				}
			},
			resource: async (uri) => textIn(await server.readResource(uri)),
			close: () => server.close(),
		};
	},
};

let clients = 0;

const mastra: Driver = {
	name: '@mastra/mcp 2.0.0',
	lacks: ['ping', 'progress', 'list changed', 'structured', ...TOOLS_ONLY],
	async connect(target): Promise<Connected> {
		const { MCPClient } = await load('@mastra/mcp');
		const servers = { gw: { url: new URL(target.url), requestInit: { headers: headersOf(target) } } };
		const opened = async (more: object): Promise<[client: Loaded, tools: Record<string, Loaded>]> => {
			const client = new MCPClient({ id: `table-${++clients}`, servers, ...more });
			return [client, await client.listTools()];
		};
		const [client, tools] = await opened({});
		return {
			list: async () => Object.keys(tools).map((name) => name.replace(/^gw_/, '')),
			async call(name, args = {}, { signal, timeoutMs } = {}) {
				// The time belongs to a client.
				const [its, listed] = timeoutMs === undefined ? [client, tools] : await opened({ timeout: timeoutMs });
				const tool = listed[`gw_${name}`];
				if (!tool) throw new Error(`There is no tool ${name}.`);
				const work: Promise<Called> = tool.execute(args, { abortSignal: signal }).then(fromModel);
				// A tool that failed is thrown.
				return (signal || its !== client ? work : work.catch(failed)).finally(() => its !== client && its.disconnect());
			},
			close: () => client.disconnect(),
		};
	},
};

const mcpUse: Driver = {
	name: 'mcp-use 1.34.6',
	async connect(target): Promise<Connected> {
		// Members of what `require` loads are those of the default export.
		const { MCPClient } = (await load('mcp-use/client')).default;
		const mcpServers = { gw: { url: target.url, headers: headersOf(target), clientInfo: { name: 'gatehouse-test', version: '1.0.0' } } };
		const client = new MCPClient({ mcpServers }, { onElicitation: async () => ({ ...CONSENT }) });
		const session: Loaded = await client.createSession('gw');
		return {
			list: async () => (await session.listTools()).map(({ name }: { name: string }) => name),
			async call(name, args = {}, { signal, timeoutMs, onProgress } = {}) {
				const options = {
					...(signal && { signal }),
					...(timeoutMs !== undefined && { timeout: timeoutMs }),
					...(onProgress && { onprogress: ({ progress }: { progress: number }) => onProgress(progress) }),
				};
				return shown(await session.callTool(name, args, options));
			},
			ping: () => session.connector.client.ping(),
			onToolsChanged: async (heard) =>
				session.on('notification', ({ method }: { method: string }) => method === 'notifications/tools/list_changed' && heard()),
			prompt: async (name, args) => textIn(await session.getPrompt(name, args)),
			resource: async (uri) => textIn(await session.readResource(uri)),
			close: () => client.closeAllSessions(),
		};
	},
};

export const PROGRAMS: readonly Driver[] = [inspector('legacy'), inspector('auto'), remote, langchain, openai, mastra, mcpUse];
