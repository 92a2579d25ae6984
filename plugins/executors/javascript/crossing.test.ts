// Tests the main thread's cost of all messages to and from code: next to nothing, measured by its own CPU time, whatever else the machine
// does.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { codeCall, runCode } from '../../../test/helpers/javascript.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import { createOutbound } from './outbound.ts';

/**
 * A limit far above the 1 to 5 ms that such messages take, and far below the 206, 148 and 175 ms that some took before they were bounded, and
 * the 810 that four times the headers did.
 */
const MOST_CPU_MS = 60;
const INVALID = Buffer.alloc(5 * 1024 * 1024 - 1, 0xff);

const sent = (fetching: string): string => `try { await ${fetching}; return "sent"; } catch (error) { return error.message; }`;
const forged = (stack: string): string => `String.prototype.slice = (_from, to) => to === 8192 ? ${stack} : "x"; throw new Error("x");`;

const CASES: [what: string, code: string, says: RegExp][] = [
	[
		'50,000 headers',
		`const headers = {}; for (let n = 0; n < 50000; n++) headers["x-" + n] = "1"; ${sent('fetch(parameters.url, { headers })')}`,
		/A request may have 100 headers\./,
	],
	[
		'five URLs of 3.9 MB',
		`const url = parameters.url + "x".repeat(3.9e6); ${sent('Promise.all([1, 2, 3, 4, 5].map(() => fetch(url)))')}`,
		/A URL may have 8 KB\./,
	],
	['a forged stack of 3.6 MB', forged('"at tool.js:1:1\\n".repeat(240000)'), /^x: x\n {2}at line 1, column 1/],
	['a forged stack of blanks', forged('" ".repeat(4000000)'), /^x: x$/],
	['a message of 3.9 MB', 'String.prototype.slice = () => "x".repeat(3.9e6); throw new Error("x");', /^Error: ?$|^x+…?: x/],
	['a fault behind 262,000 lines', `${'\n'.repeat(262_000)}throw new Error("bad")`, /at line 262001, column 16: throw new Error\("bad"\)/],
	['an answer of 5 MB that is hard to decode', 'return (await (await fetch(parameters.url)).text()).length', /^\d{7}$/],
];

before(async () => {
	// The first run starts the thread, and the first request loads its modules.
	await runCode('return 1');
});

for (const [what, code, says] of CASES)
	test(`the main thread is not held up by ${what}`, async (t) => {
		const upstream = await httpUpstream(t, (_request, response) => {
			response.writeHead(200, { 'content-type': 'text/plain; charset=gb18030' }).end(INVALID);
		});
		const call = codeCall(t, { codeMayFetch: true });
		// Five megabytes have to be received, whoever decodes them.
		const receivedMs = code.includes('.text()') ? await receivingMs(upstream.origin) : 0;
		const begun = process.threadCpuUsage();
		const { content, structured } = await runCode(code, { parameters: { url: upstream.origin }, call, memoryMb: 128, timeoutMs: 30_000 });
		const { user, system } = process.threadCpuUsage(begun);
		const [block] = content;
		assert.match(String(structured ?? (block?.type === 'text' ? block.text : '')), says);
		assert.ok((user + system) / 1000 < MOST_CPU_MS + receivedMs, `${(user + system) / 1000} ms, ${receivedMs} ms`);
	});

/** Returns the CPU time of this thread for an answer that nobody decodes. */
async function receivingMs(url: string): Promise<number> {
	const begun = process.threadCpuUsage();
	await (await fetch(url)).arrayBuffer();
	const { user, system } = process.threadCpuUsage(begun);
	return (user + system) / 1000;
}

const asked = (url: string) => ({ url, method: 'GET', headers: {}, body: null });

test('the main thread refuses requests of a run that may not make them, whatever its thread says', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => void response.end('x'));
	const call = codeCall(t, { codeMayFetch: true });
	const { signal } = new AbortController();
	assert.deepEqual(await createOutbound(call, false)(asked(upstream.origin), signal), { fault: 'This run may not make requests.' });
	assert.equal(upstream.connections(), 0);
	assert.equal('body' in (await createOutbound(call, true)(asked(upstream.origin), signal)), true);
});

test('an answer with more headers than the limit is a fault that says so', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => {
		for (let n = 0; n < 150; n++) response.setHeader(`x-${n}`, 'v');
		response.end('x');
	});
	const call = codeCall(t, { codeMayFetch: true });
	const code = sent('fetch(parameters.url)');
	const { structured } = await runCode(code, { parameters: { url: upstream.origin }, call });
	assert.match(String(structured), /^The answer has 15\d headers, of at most 100\.$/);
});

test('an answer whose headers are too long is a fault', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => void response.setHeader('x', 'v'.repeat(17 * 1024)).end('x'));
	const code = sent('fetch(parameters.url)');
	const { structured } = await runCode(code, { parameters: { url: upstream.origin }, call: codeCall(t, { codeMayFetch: true }) });
	assert.notEqual(structured, 'sent');
});
