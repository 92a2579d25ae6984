// The peers of the npm world, installed in a folder of the benchmark's own: how each is started and called, and what it does not do. Each proxies
// the same call of a tool to the same upstream.

import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import ts from 'typescript5';
import { installPackages } from '../helpers/client-packages.ts';
import type { Path } from './paths.ts';
import { overStream } from './peer-streams.ts';
import { CONNECTIONS, isAnswer } from './rounds.ts';
import { type Subject, subjectOf } from './subject.ts';

const SOURCES = join(import.meta.dirname, 'peers');

interface Place {
	/** The folder in which the peers are installed. */
	folder: string;
	upstream: string;
	port: string;
}

interface Program {
	file: string;
	args?: string[];
	env?: Record<string, string>;
}

export interface Peer {
	name: string;
	/** Returns the program, which it may have to make first. */
	program(place: Place): Program;
	/** The tool's name there. */
	tool: string;
	/** It serves nobody without a session. */
	hasSessions?: boolean;
	/** It sends results over the stream of the session, and answers a call with 202. */
	hasStream?: boolean;
	/** It calls the upstream with arguments that its tool's schema refuses. */
	isLax?: boolean;
}

const own =
	(file: string): Peer['program'] =>
	({ folder }) => ({ file: join(folder, file) });

export const PEERS: readonly Peer[] = [
	{ name: 'SDK 1.32.2', program: own('sdk-v1.mjs'), tool: 'get_item' },
	{ name: 'SDK 2.4.0', program: own('sdk-v2.mjs'), tool: 'get_item' },
	{ name: 'fastmcp 4.20.16', program: own('fastmcp.mjs'), tool: 'get_item' },
	{ name: '@ivotoby/openapi-mcp-server 1.16.1', program: readItems, tool: 'get-item', hasSessions: true, hasStream: true, isLax: true },
	{ name: 'made by openapi-mcp-generator 4.0.1', program: generate, tool: 'get_item', hasSessions: true },
];

/** Returns what a peer leaves to others. None of them has keys, limits or a record of calls by itself. */
export function missingIn({ isLax = false, hasStream = false }: Peer): string {
	const missing = ['authenticate', 'limit', ...(isLax ? ['validate'] : []), 'record', ...(hasStream ? ['answer the POST itself'] : [])];
	return missing.join(', ');
}

/** Installs the packages that the lock file names, and puts the peers' programs beside them. */
export function installPeers(): string {
	const folder = installPackages(new URL('peers/', import.meta.url));
	for (const file of globSync(join(SOURCES, '*.mjs'))) copyFileSync(file, join(folder, basename(file)));
	return folder;
}

/** The document from which two of the peers make their tool. */
const documentOf = (upstream: string): object => ({
	openapi: '3.0.3',
	info: { title: 'Items', version: '1.0.0' },
	servers: [{ url: upstream }],
	paths: {
		'/items/{id}': {
			get: {
				operationId: 'get_item',
				summary: 'One item of the upstream.',
				parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^[0-9]{1,8}$' } }],
				responses: { 200: { description: 'The item.' } },
			},
		},
	},
});

function writeDocument({ folder, upstream }: Place): string {
	const file = join(folder, 'items.json');
	writeFileSync(file, JSON.stringify(documentOf(upstream)));
	return file;
}

function readItems(place: Place): Program {
	const args = ['--api-base-url', place.upstream, '--openapi-spec', writeDocument(place), '--transport', 'http', '--port', place.port];
	return { file: join(place.folder, 'node_modules/@ivotoby/openapi-mcp-server/bin/mcp-server.js'), args };
}

/**
 * Has the generator write its server, whose types are taken away instead of checked: they have a fault. Its port is a constant in it. With SDK
 * 1.32.2, which its package.json allows, its process ends at the first request: "ReadableStream is locked"; with 1.24.3 it does not.
 */
function generate(place: Place): Program {
	const generated = join(place.folder, 'generated');
	rmSync(generated, { recursive: true, force: true });
	const generator = join(place.folder, 'node_modules/openapi-mcp-generator/bin/openapi-mcp-generator.js');
	const args = ['--input', writeDocument(place), '--output', generated, '--transport=streamable-http', `--port=${place.port}`, '--force'];
	execFileSync(process.execPath, [generator, ...args], { cwd: place.folder, stdio: 'ignore' });
	mkdirSync(join(generated, 'build'));
	const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
	for (const file of globSync(join(generated, 'src/*.ts'))) {
		const written = join(generated, 'build', basename(file).replace(/\.ts$/, '.js'));
		const text = readFileSync(file, 'utf8').replaceAll('@modelcontextprotocol/sdk/', 'sdk-of-generated/');
		writeFileSync(written, ts.transpileModule(text, { compilerOptions }).outputText);
	}
	return { file: join(generated, 'build/index.js'), args: ['--transport=streamable-http'], env: { API_BASE_URL: place.upstream } };
}

export async function startPeer(peer: Peer, place: Place): Promise<Subject> {
	const { file, args = [], env = {} } = peer.program(place);
	const child: ChildProcess = fork(file, args, {
		cwd: place.folder,
		execArgv: ['--import', join(place.folder, 'meter.mjs')],
		env: { PATH: process.env['PATH'], UPSTREAM: place.upstream, PORT: place.port, ...env },
		// Some of them write a line a request; nobody reads it here.
		stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
	});
	const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${peer.name} ended.`)));
	await Promise.race([listening(place.port), ended]);
	ended.catch(() => undefined);
	return subjectOf(child, `http://127.0.0.1:${place.port}/mcp`);
}

async function listening(port: string): Promise<void> {
	for (let tries = 0; tries < 400; tries++) {
		const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'DELETE' }).catch(() => null);
		if (answer) return void (await answer.body?.cancel());
		await sleep(50);
	}
	throw new Error(`Nothing listens on port ${port}.`);
}

// ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };

const BAD_ARGUMENTS = { id: 'no number' };

/** Makes a call of the tool, and checks that the peer minds its schema if it is said to. */
export async function pathOf(peer: Peer, url: string): Promise<Path> {
	const session = peer.hasSessions ? await openSession(url) : null;
	const headers = { ...HEADERS, ...(session && { 'mcp-session-id': session }) };
	const path: Path = { name: peer.name, server: peer.name, url, method: 'POST', headers, hasFreshIds: true };
	const paramsOf = (args: object) => ({ name: peer.tool, arguments: args });
	const [good, bad] = [paramsOf({ id: '42' }), paramsOf(BAD_ARGUMENTS)];
	const bodyOf = (id: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
	const way = peer.hasStream
		? await overStream(path, good, { connections: CONNECTIONS, isAnswer: (message) => isAnswer(path, message) })
		: null;
	const refusal = way
		? await way.session.ask('tools/call', bad)
		: await (await fetch(url, { method: 'POST', headers, body: bodyOf('bad', bad) })).text();
	if (isAnswer(path, refusal) !== (peer.isLax ?? false)) throw new Error(`${peer.name} and bad arguments: ${refusal}`);
	return way ? { ...path, via: way.via } : { ...path, body: bodyOf('[<id>]', good) };
}

async function openSession(url: string): Promise<string> {
	const post = async (message: object, session?: string): Promise<Response> => {
		const headers = { ...HEADERS, ...(session && { 'mcp-session-id': session }) };
		const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
		await response.text();
		return response;
	};
	const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } };
	const session = (await post({ id: 0, method: 'initialize', params: client })).headers.get('mcp-session-id');
	if (session === null) throw new Error(`${url} opened no session.`);
	await post({ method: 'notifications/initialized' }, session);
	return session;
}
