// Tests what code receives, what its result becomes, and how its faults are shown.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject, ToolResult } from '../../../core/contract/nouns.ts';
import { saving } from '../../../test/helpers/executor.ts';
import { codeCall, runCode } from '../../../test/helpers/javascript.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import javascript from './index.ts';

const check = (code: string): Promise<void> => javascript.check({ code, timeoutMs: 5000, memoryMb: 64 }, saving());
const textOf = ({ content }: ToolResult): string => content.map((block) => (block.type === 'text' ? block.text : '')).join('|');

async function failure(code: string, parameters: JsonObject = {}): Promise<string> {
	const result = await runCode(code, { parameters });
	assert.equal(result.isError, true, textOf(result));
	return textOf(result);
}

describe('code is the body of an async function of `parameters`', () => {
	const CASES: [code: string, parameters: JsonObject, result: unknown][] = [
		['return parameters.a + 1;', { a: 2 }, 3],
		['return parameters', { deep: [{ x: null, y: 'ü\0\ud800', n: 1e21 }] }, { deep: [{ x: null, y: 'ü\0\ud800', n: 1e21 }] }],
		['"use strict"; return (function () { return this === undefined; })()', {}, true],
		['const { a, b = 5 } = parameters; return a * b', { a: 2 }, 10],
		['return await Promise.resolve(7)', {}, 7],
		['return Promise.resolve(7)', {}, 7],
		['const later = (ms) => new Promise((ok) => setTimeout(ok, ms, "now")); return await later(5)', {}, 'now'],
		[
			'const id = setTimeout(() => { throw new Error("no"); }, 1); clearTimeout(id); await new Promise((ok) => setTimeout(ok, 10)); return 1',
			{},
			1,
		],
		['let said = ""; queueMicrotask(() => { said += "b"; }); said += "a"; await null; return said', {}, 'ab'],
		['return 1 // a comment at the end', {}, 1],
		['return `a\nb`', {}, 'a\nb'],
		['return Object.keys(parameters)', JSON.parse('{"__proto__": 1, "constructor": 2}'), ['__proto__', 'constructor']],
	];
	for (const [code, parameters, result] of CASES)
		test(code, async () => {
			await check(code);
			const answer = await runCode(code, { parameters });
			assert.deepEqual([answer.isError, answer.structured], [undefined, result], textOf(answer));
		});
});

describe('a result is JSON', () => {
	const CASES: [code: string, text: string, structured: unknown][] = [
		['return', 'null', null],
		['', 'null', null],
		['return null', 'null', null],
		['return "plain \\"text\\""', 'plain "text"', 'plain "text"'],
		['return [1, "a", { b: undefined }]', '[1,"a",{}]', [1, 'a', {}]],
		['return { at: new Date(0), n: NaN }', '{"at":"1970-01-01T00:00:00.000Z","n":null}', { at: '1970-01-01T00:00:00.000Z', n: null }],
		['class Pet { name = "Rex"; bark() {} } return new Pet()', '{"name":"Rex"}', { name: 'Rex' }],
		['return { toJSON: () => ({ a: 1 }) }', '{"a":1}', { a: 1 }],
		['return [{}, new Object(1), Object.create(null), new (class {})()]', '[{},1,{},{}]', [{}, 1, {}, {}]],
	];
	for (const [code, text, structured] of CASES)
		test(`${code || 'nothing at all'} is ${text}`, async () => {
			assert.deepEqual(await runCode(code), { content: [{ type: 'text', text }], structured });
		});

	const REFUSED: [code: string, message: string][] = [
		['return 10n', 'The result is a BigInt: make it a string or a Number.'],
		['return () => 1', 'The result is a function.'],
		['return { list: [{ run() {} }] }', 'The result has, at "run", a function.'],
		['return Symbol("x")', 'The result is a symbol.'],
		['const a = {}; a.a = { a }; return a', 'The result refers to itself.'],
		['return { pet: Promise.resolve(1) }', 'The result has, at "pet", a Promise: await it.'],
		['return new Map([[1, 2]])', 'The result is a Map: Object.fromEntries(map) is an object.'],
		['return { ids: new Set([1]) }', 'The result has, at "ids", a Set: [...set] is an array.'],
		['try { null.x } catch (error) { return { error } }', 'The result has, at "error", an Error: return its message.'],
		['return [/a/]', 'The result has, at "0", an object of the kind RegExp, which JSON cannot show.'],
		['return new Map().keys()', 'The result is an object of the kind Map Iterator, which JSON cannot show.'],
		['return new URLSearchParams("a=1")', 'The result is an object of the kind URLSearchParams, which JSON cannot show.'],
		['return new Uint8Array(2)', 'The result is binary data.'],
	];
	for (const [code, message] of REFUSED)
		test(`${code} is refused in a sentence`, async () => {
			assert.equal(await failure(code), message);
		});
});

describe('faults are shown by the lines of the user', () => {
	test('an error shows its line, its column, the source there, and the calls that led to it', async () => {
		const code = 'const read = (pet) => {\n\treturn pet.owner.name;\n};\n\nreturn read(parameters);';
		const expected = [
			"TypeError: cannot read property 'name' of undefined",
			'  at line 2, column 18 in read: return pet.owner.name;',
			'  at line 5, column 12',
		];
		assert.deepEqual((await failure(code)).split('\n'), expected);
	});
	test('columns of the first line are those of the user', async () => {
		assert.equal(await failure('missing();'), "ReferenceError: 'missing' is not defined\n  at line 1, column 1: missing();");
	});
	test('a fault behind an await and in a timer is shown the same way', async () => {
		assert.match(await failure('await null;\nnull.x;'), /^TypeError: .*\n {2}at line 2, column \d+: null\.x;$/);
		assert.match(
			await failure('setTimeout(() => {\nnull.x;\n}, 1);\nawait new Promise((ok) => setTimeout(ok, 100));'),
			/at line 2, column \d+: null\.x;/,
		);
	});
	test('an error with a name of its own, and a thrown value that is not an error, are shown', async () => {
		assert.match(await failure('const e = new Error("gone"); e.name = "NotFound"; throw e;'), /^NotFound: gone\n/);
		assert.equal(await failure('throw { status: 404 };'), 'Uncaught: {"status":404}');
		assert.equal(await failure('throw undefined;'), 'Uncaught: undefined');
	});
	test('a promise that nothing will settle is told at once, not at the deadline', async () => {
		assert.equal(await failure('await new Promise(() => {});'), 'The code waits for a promise that nothing will settle.');
	});
	test('code that takes too much time or memory fails with its limit', async () => {
		const late = await runCode('for (;;) {}', { timeoutMs: 100 });
		assert.deepEqual([late.isError, textOf(late)], [true, 'The code took longer than 100 ms, and was stopped.']);
		const large = await runCode('return new Uint8Array(6e6).length', { memoryMb: 4 });
		assert.match(textOf(large), /out of memory/);
		assert.equal((await runCode('return new Uint8Array(6e6).length', { memoryMb: 16 })).structured, 6e6);
	});
	for (const [code, told] of [
		['JSON.stringify = JSON.parse = null; throw new Error("bad");', /^Error: bad\n {2}at line 1, column 52/],
		['globalThis.eval = Array.isArray = Object.getPrototypeOf = null; null.x;', /^TypeError: cannot read property 'x' of null/],
		['globalThis.Error = null; throw 5;', /^Uncaught: /],
	] as const)
		test(`code that changes how errors are shown ends with a sentence: ${code}`, async () => assert.match(await failure(code), told));
	test('a fault shows neither our own text nor a path of this machine', async () => {
		const told = await failure('console.log(new Error("x").stack); throw new Error(new Error("y").stack);');
		assert.doesNotMatch(told, /node_modules|file:|\.ts\b|kernel/);
	});
});

describe('syntax is checked when a tool is saved', () => {
	const CASES: [code: string, line: number, column: number][] = [
		['let a = ;', 1, 9],
		['const ok = 1;\nreturn ok +* 2;', 2, 12],
		['if (true) {', 1, 12],
		['const a = 1;\nif (a) {\n  return 1;\n', 4, 1],
		['return 1 })(); (async function () {', 1, 11],
		['return 1;\n}\nfunction more() {', 3, 1],
		['let parameters = 1;', 1, 16],
		['import fs from "node:fs";', 1, 8],
		['export default 1', 1, 1],
		['return "open', 1, 8],
		['/* open', 1, 1],
		['const a = 1; const a = 2;', 1, 22],
	];
	for (const [code, line, column] of CASES)
		test(JSON.stringify(code), async () => {
			await assert.rejects(check(code), (error: { code: string; message: string; details: object[] }) => {
				assert.equal(error.code, 'validation_failed');
				assert.match(error.message, new RegExp(`^Line ${line}, column ${column}: `));
				assert.deepEqual(error.details, [{ path: '/code', message: error.message }]);
				return true;
			});
		});

	test('nothing of it is run', async () => {
		await check('for (;;) {}');
		await check('throw new Error("no")');
	});
	test('code must be there', async () => {
		await assert.rejects(javascript.check({ timeoutMs: 1, memoryMb: 1 }, saving()), {
			code: 'validation_failed',
			message: /"code" is required/,
		});
	});
	test('a source that the engine cannot take is a fault of the source', async () => {
		await assert.rejects(check(`return ${'('.repeat(200_000)}`), { code: 'validation_failed' });
	});
	test('a quarter of a megabyte is compiled', () => check(`return [${'"x", '.repeat(50_000)}]`));
});

describe('what code prints', () => {
	test('is kept with its level, objects as JSON, errors with the user’s lines', async () => {
		const code = 'console.log("a", { b: [1] }, undefined, 2n);\nconsole.warn(null);\nconsole.error(new TypeError("bad"));\nreturn 1;';
		const { logs, structured } = await runCode(code);
		assert.deepEqual(logs?.slice(0, 2), ['log: a {"b":[1]} undefined 2', 'warn: null']);
		assert.match(logs?.[2] ?? '', /^error: TypeError: bad\n\s+at .*tool\.js:3:\d+\)$/);
		assert.equal(structured, 1);
	});
	test('shows errors with the columns of the user’s text, also in its first line', async () => {
		const { logs } = await runCode('const make = () => new Error("bad"); console.log(make());');
		assert.deepEqual(logs, ['log: Error: bad\n    at make (tool.js:1:29)\n    at <anonymous> (tool.js:1:54)']);
	});
	test('is kept when it fails, and when it is stopped', async () => {
		assert.deepEqual((await runCode('console.info("before"); null.x;')).logs, ['info: before']);
		// On a busy machine a short time may end before the code begins, which then has no log.
		let stopped: ToolResult | undefined;
		for (let timeoutMs = 100; !stopped?.logs && timeoutMs < 30_000; timeoutMs *= 3)
			stopped = await runCode('console.debug("before"); for (;;) {}', { timeoutMs });
		assert.deepEqual([stopped?.isError, stopped?.logs], [true, ['debug: before']]);
	});
	test('is bounded to 200 lines and 16 KB, and says what was left out', async () => {
		const { logs: lines } = await runCode('for (let i = 0; i < 500; i++) console.log(i);');
		assert.deepEqual([lines?.length, lines?.at(-1)], [201, '[300 more were not kept]']);
		const { logs: bytes } = await runCode('for (let i = 0; i < 50; i++) console.log("x".repeat(1000));');
		assert.ok(Buffer.byteLength(bytes?.join('') ?? '') <= 16 * 1024 + 100);
		assert.equal(bytes?.at(-1), '[33 more were not kept]');
	});
	test('is absent when there is nothing', async () => {
		assert.equal('logs' in (await runCode('return 1')), false);
	});
});

describe('the web’s names', () => {
	const CASES: [code: string, result: unknown][] = [
		['return new URL("../b?x=1#h", "https://a.example:8443/c/d").href', 'https://a.example:8443/b?x=1#h'],
		[
			'const u = new URL("https://a.example/?x=1"); u.searchParams.append("y", "a b&ü"); u.pathname = "/p q"; return String(u)',
			'https://a.example/p%20q?x=1&y=a+b%26%C3%BC',
		],
		[
			'const u = new URL("https://u:p@a.example:81/p?q#f"); return [u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.origin]',
			['https:', 'u', 'p', 'a.example:81', 'a.example', '81', '/p', '?q', '#f', 'https://a.example:81'],
		],
		['return { u: new URL("https://a.example") }', { u: 'https://a.example/' }],
		['return [URL.canParse("nope"), URL.canParse("/x", "https://a.example")]', [false, true]],
		['try { new URL("nope"); } catch (error) { return error.message; }', 'Invalid URL: nope'],
		[
			'const p = new URLSearchParams("?a=1&b=2&a=3%20+4"); return [p.get("a"), p.getAll("a"), p.has("c"), [...p.keys()], p.size]',
			['1', ['1', '3  4'], false, ['a', 'b', 'a'], 3],
		],
		[
			'const p = new URLSearchParams({ z: 1, "a~": "it\'s" }); p.set("z", 2); p.sort(); p.delete("none"); return String(p)',
			'a%7E=it%27s&z=2',
		],
		['return String(new URLSearchParams([["a", 1], ["b", 2]]))', 'a=1&b=2'],
		[
			'const u = new URL("https://a.example/?z=1"); const p = u.searchParams; u.search = "?a=1"; p.append("b", 2); return [u.href, p.has("z"), p === u.searchParams]',
			['https://a.example/?a=1&b=2', false, true],
		],
		['const u = new URL("https://a.example/?z=1"); u.href = "https://b.example/?k=v"; return [...u.searchParams]', [['k', 'v']]],
		[
			'const p = new URLSearchParams("a=1&a=2&b=1"); p.delete("a", 1); return [String(p), p.has("a", "1"), p.has("a", 2), p.has("a", undefined)]',
			['a=2&b=1', false, true, true],
		],
		['return new URLSearchParams("a=%zz%20%C3%BC&b=%").get("a")', '%zz ü'],
		['return [btoa("h\u00e9\\0"), atob("aOkA")]', ['aOkA', 'h\u00e9\0']],
		['try { btoa("\u20ac"); } catch (error) { return error.name; }', 'TypeError'],
		['return /^[0-9a-f-]{36}$/.test(crypto.randomUUID()) && crypto.randomUUID() !== crypto.randomUUID()', true],
	];
	for (const [code, result] of CASES)
		test(code, async () => {
			const answer = await runCode(code);
			assert.deepEqual([answer.isError, answer.structured], [undefined, result], textOf(answer));
		});
});

describe('fetch', () => {
	test('is not there unless the organization allows it', async (t) => {
		assert.equal((await runCode('return typeof fetch')).structured, 'undefined');
		assert.match(await failure('return fetch("https://example.com")'), /^ReferenceError: 'fetch' is not defined/);
		assert.equal((await runCode('return typeof fetch', { call: codeCall(t, { codeMayFetch: true }) })).structured, 'function');
	});

	test('sends method, headers and body, and reads status, headers, text and JSON', async (t) => {
		const seen: unknown[] = [];
		const upstream = await httpUpstream(t, async (request, response) => {
			const body = Buffer.concat(await request.toArray()).toString();
			seen.push([request.method, request.url, request.headers['x-a'], request.headers['content-type'], body]);
			response.writeHead(request.url === '/no' ? 404 : 201, { 'content-type': 'application/json', 'x-b': 'ü' }).end('{"name":"Rex ü"}');
		});
		const call = codeCall(t, { codeMayFetch: true });
		const code = `
			const made = await fetch(parameters.url + "/pets?x=1", { method: "post", headers: { "X-A": "1" }, body: JSON.stringify({ a: 1 }) });
			const form = await fetch(new URL("/no", parameters.url), { method: "PUT", body: new URLSearchParams({ q: "a b" }) });
			const of = made.headers;
			return [made.status, made.ok, of.get("Content-Type"), of.get("none"), of.get("constructor"), of.has("valueOf"), of.has("X-B"), await made.json(), form.status, form.ok, await form.text()];`;
		const { structured } = await runCode(code, { parameters: { url: upstream.origin }, call });
		assert.deepEqual(structured, [
			201,
			true,
			'application/json',
			null,
			null,
			false,
			true,
			{ name: 'Rex ü' },
			404,
			false,
			'{"name":"Rex ü"}',
		]);
		assert.deepEqual(seen, [
			['POST', '/pets?x=1', '1', 'text/plain;charset=UTF-8', '{"a":1}'],
			['PUT', '/no', undefined, 'application/x-www-form-urlencoded;charset=UTF-8', 'q=a+b'],
		]);
	});

	test('the headers of an answer are walked through as those of the standard', async (t) => {
		const upstream = await httpUpstream(t, (_request, response) => void response.writeHead(200, { 'x-a': '1', 'x-b': '2' }).end());
		const code = `
			const { headers } = await fetch(parameters.url);
			const told = [];
			headers.forEach((value, name) => told.push([name, value]));
			const ways = [told, [...headers], [...headers.entries()], [...headers.keys()].map((name, at) => [name, [...headers.values()][at]])];
			return ways.map((pairs) => Object.fromEntries(pairs)).map((all) => [all["x-a"], all["x-b"]]);`;
		const { structured } = await runCode(code, { parameters: { url: upstream.origin }, call: codeCall(t, { codeMayFetch: true }) });
		assert.deepEqual(structured, new Array(4).fill(['1', '2']));
	});

	test('accepts `null` as no options, and fails only by rejecting its promise', async (t) => {
		const upstream = await httpUpstream(t, (_request, response) => void response.end('ok'));
		const call = codeCall(t, { codeMayFetch: true });
		const code = `
			const bad = fetch(parameters.url, { headers: { get a() { throw new Error("mine"); } } });
			return [await (await fetch(parameters.url, null)).text(), await bad.catch((error) => error.message)];`;
		const { structured } = await runCode(code, { parameters: { url: upstream.origin }, call });
		assert.deepEqual(structured, ['ok', 'mine']);
	});

	const REFUSED: [what: string, code: string, message: RegExp][] = [
		['an address that the guard refuses', 'fetch("http://169.254.169.254/")', /169\.254\.169\.254/],
		['a scheme that is not HTTP', 'fetch("file:///etc/passwd")', /http/],
		['a text that is not a URL', 'fetch("nope")', /Not a URL: nope/],
		['a method that is none', 'fetch(parameters.url, { method: "A B" })', /Not a method/],
		[
			'a header that frames the message',
			'fetch(parameters.url, { headers: { Host: "x" } })',
			/The header "Host" is set by the gateway itself/,
		],
		['a header with a line break', 'fetch(parameters.url, { headers: { a: "b\\r\\nc: d" } })', /The header "a" must be text of one line/],
		['a body of more than 1 MB', 'fetch(parameters.url, { method: "POST", body: "x".repeat(1024 * 1024 + 1) })', /A body may have 1 MB/],
		['a body that is an object', 'fetch(parameters.url, { method: "POST", body: {} })', /A body is a string or URLSearchParams/],
		['more than five at once', 'Promise.all(Array.from({ length: 6 }, () => fetch(parameters.url)))', /5 requests at once/],
		['more than twenty', '(async () => { for (;;) await fetch(parameters.url); })()', /A run may make 20 requests/],
	];
	for (const [what, code, message] of REFUSED)
		test(`refuses, inside the code: ${what}`, async (t) => {
			let count = 0;
			const upstream = await httpUpstream(t, (_request, response) => {
				count++;
				setTimeout(() => response.end('ok'), 30);
			});
			const call = codeCall(t, { codeMayFetch: true });
			const body = `try { await ${code}; return "sent"; } catch (error) { return error.name + ": " + error.message; }`;
			const { structured } = await runCode(body, { parameters: { url: upstream.origin }, call });
			assert.match(String(structured), /^TypeError: /);
			assert.match(String(structured), message);
			assert.ok(count <= 20, `${count} arrived`);
		});

	test('a pending request ends with the run', async (t) => {
		const closed = Promise.withResolvers<void>();
		const upstream = await httpUpstream(t, (_request, response) => void response.on('close', closed.resolve));
		const call = codeCall(t, { codeMayFetch: true });
		const parameters = { url: upstream.origin };
		await runCode('void fetch(parameters.url); await new Promise((ok) => setTimeout(ok, 200)); return 1', { parameters, call });
		await closed.promise;
	});

	test('an answer that comes after the run does not reach the next one', async (t) => {
		const upstream = await httpUpstream(
			t,
			(request, response) => void setTimeout(() => response.end(request.url), request.url === '/slow' ? 150 : 300),
		);
		const call = codeCall(t, { codeMayFetch: true });
		const parameters = { url: upstream.origin };
		const first = await runCode('fetch(parameters.url + "/slow"); return "left"', { parameters, call });
		const second = await runCode('return (await fetch(parameters.url + "/own")).text()', { parameters, call });
		assert.deepEqual([first.structured, second.structured], ['left', '/own']);
	});
});

test('a config has bounds', () => {
	const { error, value } = javascript.config.validate({ code: 'return 1' });
	assert.deepEqual([error, value], [undefined, { code: 'return 1', timeoutMs: 5000, memoryMb: 64 }]);
	for (const wrong of [{ timeoutMs: 30_001 }, { timeoutMs: 1 }, { memoryMb: 129 }, { memoryMb: 1 }, { code: 7 }, { other: 1 }])
		assert.ok(javascript.config.validate({ code: 'return 1', ...wrong }, { convert: false }).error, JSON.stringify(wrong));
});
