// Tests that nothing but core/egress/ opens an outbound connection, so that its guard cannot be bypassed.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('../', import.meta.url);
const ROOMS = '{core,db,adapters,importers,plugins}/**/*.ts';

/** Modules that can reach another machine, with the names of theirs that cannot, such as those for listening. Type imports are allowed. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
	net: ['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'SocketAddress', 'createServer'],
	tls: [],
	dgram: [],
	dns: [],
	'dns/promises': [],
	http: ['createServer', 'STATUS_CODES', 'METHODS', 'validateHeaderName', 'validateHeaderValue'],
	https: ['createServer'],
	http2: [],
	inspector: [],
	undici: [],
	axios: [],
	got: [],
	'node-fetch': [],
	ws: [],
	'@hapi/wreck': [],
	'@grpc/grpc-js': ['Metadata', 'status'],
	eventsource: [],
};

const GLOBALS = /(?<![\w$.#])(?:(?:globalThis|global|self)\s*(?:\.|\[\s*['"]))?(fetch|WebSocket|EventSource|XMLHttpRequest)\b/g;

/** Lists the ways in which `source` could open a connection; empty if it cannot. */
function waysOut(source: string): string[] {
	const code = withoutComments(source);
	return [...bannedImports(code), ...globalCalls(code)];
}

/** A module that is loaded by a call, with the names that are taken of it at once, if they are. */
const DYNAMIC = /(?:\bconst\s+(\{[^{}:=]*\})\s*=\s*process\.)?\b(?:import|require|getBuiltinModule)\s*\(\s*['"`]([^'"`\n]+)['"`]/g;

function bannedImports(code: string): string[] {
	const found: string[] = [];
	for (const [, clause = '', name = ''] of code.matchAll(/\b(?:import|export)\s+(?!type\b)([^'"();]*?)\s*(?:from\s*)?['"]([^'"\n]+)['"]/g))
		found.push(...bannedNames(name, clause));
	for (const [text, clause, name = ''] of code.matchAll(DYNAMIC)) {
		if (clause !== undefined) found.push(...bannedNames(name, clause));
		else if (moduleOf(name) !== null) found.push(text);
	}
	return found;
}

function bannedNames(name: string, clause: string): string[] {
	const module = moduleOf(name);
	if (module === null) return [];
	const braces = /^\{([^}]*)\}$/.exec(clause.trim())?.[1];
	if (braces === undefined) return [`${clause} from ${name}`];
	const names = braces
		.split(',')
		.map((part) => part.trim())
		.filter((part) => part !== '' && !part.startsWith('type '))
		.map((part) => part.split(/\s+as\s+/)[0] ?? part);
	return names.filter((part) => !MODULES[module]?.includes(part)).map((part) => `${part} from ${name}`);
}

function moduleOf(name: string): string | null {
	const bare = name.replace(/^node:/, '');
	return Object.keys(MODULES).find((module) => bare === module || bare.startsWith(`${module}/`)) ?? null;
}

/** Finds uses of the global, as opposed to methods, properties and parameters of the same name. */
function globalCalls(code: string): string[] {
	const plain = withoutStrings(code);
	const found: string[] = [];
	for (const match of plain.matchAll(GLOBALS)) {
		const after = plain.slice(match.index + match[0].length);
		const before = plain.slice(0, match.index);
		if (!isDeclaration(before, after)) found.push(`${match[0]}${after.slice(0, 30)}`.trim());
	}
	return found;
}

function isDeclaration(before: string, after: string): boolean {
	if (/^\s*\??\s*:/.test(after)) return !/\?\s*$/.test(before);
	if (/\b(?:const|let|function|async function)\s+$/.test(before) || /['"|&]\s*$/.test(before)) return true;
	if (!/(?:[{};,\n]|\basync)\s*$/.test(before)) return false;
	return /^\s*(?:<[^>]*>)?\(/.test(after) && /^\s*(?:\{|:\s*Promise)/.test(afterParentheses(after));
}

function afterParentheses(text: string): string {
	let depth = 0;
	for (let at = text.indexOf('('); at < text.length; at++) {
		if (text[at] === '(') depth++;
		if (text[at] === ')' && --depth === 0) return text.slice(at + 1);
	}
	return '';
}

const LITERALS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;

const withoutComments = (source: string): string => source.replace(LITERALS, (text) => (text.startsWith('/') ? ' ' : text));

/** Removes strings, except the name of a global inside brackets: `globalThis['fetch']`. */
const withoutStrings = (code: string): string =>
	code.replace(LITERALS, (text) => (/^['"](?:fetch|WebSocket|EventSource)['"]$/.test(text) ? text : "''"));

/**
 * Files that may open connections. gRPC has its own sockets: `channels.ts` dials the address that `connect` of the guard returned, and
 * `tls.ts` secures that connection only. The runner of skills, the page of links in mails and the script of the page for programs are texts, which
 * run on the machines of those who install or open them.
 */
const DIALLERS =
	/^core\/egress\/|^plugins\/executors\/grpc\/(?:channels|tls)\.ts$|^adapters\/skills\/generated\/runner\.ts$|\/agents\/link-page\.ts$|\/device\/page-script\.ts$/;

test('Only core/egress/, and files that get every address from it, open outbound connections', () => {
	const files = globSync(ROOMS, { cwd: ROOT }).filter((file) => !/\.test\.ts$/.test(file) && !DIALLERS.test(file));
	assert.ok(files.length > 20, `only ${files.length} files found`);
	const ways = files.flatMap((file) => waysOut(readFileSync(new URL(file, ROOT), 'utf8')).map((way) => `${file}: ${way}`));
	assert.deepEqual(ways, []);
});

const CAUGHT = [
	"import { connect } from 'node:net';",
	"import net from 'net';",
	"import * as tls from 'node:tls';",
	"import { isIP, Socket } from 'node:net';",
	"import { request } from 'node:http';",
	"import { createServer, Agent as Pool } from 'node:https';",
	"import 'undici';",
	"import { lookup } from 'node:dns/promises';",
	"import { Client } from '@grpc/grpc-js';",
	"export { fetch } from 'undici';",
	"import {\n\tcreateSocket,\n} from 'node:dgram';",
	"const http = await import('node:http');",
	"const { connect } = require('node:http2');",
	"process.getBuiltinModule('node:net')",
	"const { createServer, request } = process.getBuiltinModule('node:http');",
	"const { createServer: make } = process.getBuiltinModule('node:http');",
	"const { isIP } = process.getBuiltinModule('node:net'), { connect } = process.getBuiltinModule('node:net');",
	"await fetch('https://example.com');",
	'return fetch(url, init);',
	'const answer = ok ? fetch(url) : Promise.resolve();',
	'\tfetch(url);',
	'globalThis.fetch(url)',
	"globalThis['fetch'](url)",
	'const send = fetch;',
	'urls.map(fetch)',
	'new WebSocket(url)',
	'new EventSource(url)',
];

const LET_THROUGH = [
	"import { isIP, isIPv6 } from 'node:net';",
	"import type { Socket } from 'node:net';",
	"import { type Socket, isIP } from 'node:net';",
	"import { createServer } from 'node:http';",
	"export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');",
	"import { networkInterfaces } from 'node:os';",
	"import { x } from './network.ts';",
	'const page = await context.fetch(url);',
	'interface Context { fetch(url: string | URL, init?: RequestInit): Promise<Response>; }',
	'return { fetch: (url) => egress.fetch(url), log };',
	'return {\n\tasync fetch(url) {\n\t\treturn egress.fetch(url);\n\t},\n};',
	"type Lent = Pick<Context, 'log' | 'fetch' | 'request'>;",
	'// fetch(url) is not used here',
	"const message = 'could not fetch (it)';",
];

test('The scan finds every listed way to open a connection, and accepts look-alikes', () => {
	for (const source of CAUGHT) assert.notDeepEqual(waysOut(source), [], source);
	for (const source of LET_THROUGH) assert.deepEqual(waysOut(source), [], source);
});
