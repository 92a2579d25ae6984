// The stdio proxy as a program of its own, and a gateway for it: tools of each kind, a skill, and keys for both addresses.

import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../rooms.ts';
import { until } from './clock.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { type Account, createHttpTool, must, publishGateway, registerAccount, sharedService } from './service.ts';

/** Names the variable by which the sweep has the built proxy run by another Node.js: the program and its file, as JSON. */
export const PROGRAM_VARIABLE = 'GATEHOUSE_TEST_PROXY';

/** The program, and the file that it runs: the sources by this Node.js. */
export const PROGRAM: [node: string, file: string] = JSON.parse(
	process.env[PROGRAM_VARIABLE] ?? JSON.stringify([process.execPath, join(ROOT, 'proxy/main.ts')]),
);

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
type Read = any;

export interface StdioProxy extends AsyncDisposable {
	child: ChildProcessWithoutNullStreams;
	/** Everything on standard output so far. */
	stdout(): string;
	stderr(): string;
	/** The messages on standard output. @throws AssertionError for a line that is none */
	messages(): Read[];
	write(text: string): void;
	send(message: object): void;
	/** Sends a request. @returns its answer */
	request(method: string, params?: object, id?: string | number): Promise<Read>;
	answer(id: string | number): Promise<Read>;
	/** Resolves with the exit code, or the signal. */
	ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts the proxy with no environment but the given one, and a home of its own. */
export function startProxy(args: string[], env: Record<string, string>, program: string[] = PROGRAM): StdioProxy {
	const home = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-'));
	const [command = '', ...before] = program;
	const child = spawn(command, [...before, ...args], { env: { PATH: `${process.env['PATH']}`, HOME: home, ...COMPILE_CACHE, ...env } });
	let [stdout, stderr] = ['', ''];
	child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
	child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
	child.stdin.on('error', () => undefined);
	const ended = new Promise<number | NodeJS.Signals | null>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
	let requests = 0;
	const messages = (): Read[] =>
		stdout
			.split('\n')
			.slice(0, -1)
			.map((line) => {
				const message = JSON.parse(line);
				assert.equal(message.jsonrpc, '2.0', line);
				return message;
			});
	const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
	const answer = async (id: string | number): Promise<Read> => {
		const found = (): Read => messages().find((message) => message.id === id && message.method === undefined);
		await until(found, () => `an answer to ${id}; ${stderr}; ${stdout.slice(0, 2000)}`);
		return found();
	};
	return {
		child,
		stdout: () => stdout,
		stderr: () => stderr,
		messages,
		write: (text) => void child.stdin.write(text),
		send,
		answer,
		request(method, params = {}, id = `r${++requests}`) {
			send({ id, method, params });
			return answer(id);
		},
		ended,
		async [Symbol.asyncDispose]() {
			child.kill('SIGKILL');
			await ended;
			rmSync(home, { recursive: true, force: true });
		},
	};
}

export const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

/** Shakes hands as a client does. @returns the result of `initialize` */
export async function greet(proxy: StdioProxy, capabilities: object = {}): Promise<Read> {
	const { result } = await proxy.request('initialize', { ...INITIALIZE, capabilities });
	proxy.send({ method: 'notifications/initialized' });
	return result;
}

/** The requests that reached the upstream of the tools. */
export interface Upstream {
	/** The paths of requests, in order. */
	asked: string[];
	/** The paths of requests that were given up before they were answered. */
	left: string[];
}

export interface ProxyWorld {
	service: { url: string };
	account: Account;
	upstream: Upstream;
	gateway: { id: string; url: string; name: string; key: string };
	/** An access key of the account. */
	accessKey: { id: string; key: string };
	stop(): Promise<void>;
}

const BIG = 'x'.repeat(1024 * 1024);
const TEXT = { type: 'object', properties: { text: { type: 'string', description: 'What to repeat' } } };
const CODE = {
	echo: 'return { said: parameters.text ?? "" }',
	draw: 'progress(1, 2, "half"); await new Promise((ok) => setTimeout(ok, 50)); progress(2, 2); return { content: [{ type: "image", data: "iVBORw==", mimeType: "image/png" }] }',
	pay: 'return { paid: true }',
};

/** Makes the tools `echo`, `draw`, `pay` (which is confirmed), `slow` (which never ends), `big` (1 MB) and `count`, and the skill `refund-orders`. */
export async function openProxyWorld(): Promise<ProxyWorld> {
	const upstream: Upstream = { asked: [], left: [] };
	const server = createServer((request, response) => {
		const path = `${request.url}`;
		upstream.asked.push(path);
		response.on('close', () => response.writableFinished || upstream.left.push(path));
		if (path === '/slow') return;
		response.setHeader('content-type', path === '/big' ? 'text/plain' : 'application/json');
		response.end(path === '/big' ? BIG : JSON.stringify({ path }));
	}).listen(0, '127.0.0.1');
	const service = await sharedService();
	const account = await registerAccount(service.url);
	const made = await publishGateway(account, { configuration: { instructions: 'Be kind.' } });
	must(await account.patch(`/gateways/${made.id}`, { maxResultBytes: 4 * 1024 * 1024 }), 200);
	const assign = async (toolId: string, options: object = {}) =>
		must(await account.post(`/gateways/${made.id}/tools`, { toolId, ...options }), 201);
	for (const [name, code] of Object.entries(CODE)) {
		const body = { name, type: 'javascript', code, parameters: TEXT, description: `Does ${name}. More about it.` };
		const tool = must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data;
		await assign(tool.id, name === 'pay' ? { confirm: 'always' } : {});
	}
	for (const name of ['slow', 'big', 'count'])
		await assign(await createHttpTool(account, { name, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}` }));
	const skill = {
		name: 'refund-orders',
		description: 'Refunds orders.',
		body: 'Refund {{order}}.',
		arguments: [{ name: 'order', values: ['7'] }],
	};
	const { id: skillId } = must(await account.post('/skills', skill), 201).body.data;
	must(await account.post(`/gateways/${made.id}/skills`, { skillId }), 201);
	const accessKey = must(await account.post('/access-keys', { name: 'proxy' }), 201).body.data;
	const gateway = { ...made, name: new URL(made.url).pathname.slice(1) };
	return {
		...{ service, account, upstream, gateway, accessKey },
		async stop() {
			await service.stop();
			server.closeAllConnections();
			server.close();
		},
	};
}
