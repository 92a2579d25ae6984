// Tests the host's calls, made by code without the prelude: it cannot make the host keep more or longer texts than the limits allow.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostCalls } from './host-calls.ts';
import { LIMITS, type SandboxRequest } from './messages.ts';

const LONG = JSON.stringify('x'.repeat(100_000));
const PLAIN = JSON.stringify({ url: 'http://x', method: 'GET', headers: {} });

/** Creates the host calls of a run that may make requests. @param answers whether each request is answered at once */
function hostCallsOf({ answers = false } = {}): { hostCalls: HostCalls; heard: [id: string, request: SandboxRequest][]; called: string[] } {
	const heard: [string, SandboxRequest][] = [];
	const called: string[] = [];
	const hostCalls: HostCalls = new HostCalls({
		request(id, request) {
			heard.push([id, request]);
			if (answers) hostCalls.deliver(id, { fault: 'No.' });
		},
		progress: () => undefined,
		call: (_id, name) => called.push(name),
	});
	hostCalls.mayRequest = true;
	return { hostCalls, heard, called };
}

test('requests beyond the limit of a run are refused at once, and queued nowhere', () => {
	const { hostCalls, heard } = hostCallsOf({ answers: true });
	const answers = Array.from({ length: 10_000 }, (_none, n) => hostCalls.serve('request', [String(n), PLAIN]));
	assert.equal(heard.length, LIMITS.requests);
	assert.equal(answers.filter((answer) => answer === undefined).length, LIMITS.requests);
	assert.equal(answers.at(-1), '"A run may make 20 requests."');
	for (let n = 0; n < LIMITS.requests; n++) assert.ok(hostCalls.next());
	assert.equal(hostCalls.next(), null);
});

test('parallel requests beyond the limit are refused immediately, until one is answered', () => {
	const { hostCalls, heard } = hostCallsOf();
	const ask = (): string | undefined => hostCalls.serve('request', ['"1"', PLAIN]);
	const answers = Array.from({ length: 7 }, ask);
	assert.deepEqual(answers, [...Array(5).fill(undefined), ...Array(2).fill('"A run may make 5 requests at once."')]);
	hostCalls.deliver('1', { fault: 'No.' });
	assert.equal(ask(), undefined);
	assert.equal(heard.length, 6);
});

test('a run that may not request is refused, whatever it asks the host for', () => {
	const { hostCalls, heard } = hostCallsOf();
	hostCalls.mayRequest = false;
	assert.equal(hostCalls.serve('request', ['"1"', PLAIN]), '"This run may not make requests."');
	assert.deepEqual(heard, []);
});

const headers = (count: number, valueChars = 1): object =>
	Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v'.repeat(valueChars)]));

const REFUSED: [what: string, change: object, says: RegExp][] = [
	['a body that is too long', { body: 'x'.repeat(LIMITS.requestBytes + 1) }, /^A body may have 1 MB\.$/],
	['a body in letters of two bytes', { body: 'é'.repeat(LIMITS.requestBytes / 2 + 1) }, /^A body may have 1 MB\.$/],
	['a body that is not a text', { body: [[['x']]] }, /^A body must be a text\.$/],
	['a URL that is too long', { url: `http://x/${'x'.repeat(LIMITS.urlBytes)}` }, /^A URL may have 8 KB\.$/],
	['a URL of 3.9 MB', { url: `http://x/${'x'.repeat(3.9e6)}` }, /^A URL may have 8 KB\.$/],
	['a text that is not a URL', { url: 'x'.repeat(300) }, /^Not a URL: x{200}$/],
	['a URL that is not a text', { url: { href: 'http://x' } }, /^Not a URL: a value of type object$/],
	['a method that is not a text', { method: 1 }, /^Not a method: a value of type number$/],
	['no URL', { url: undefined }, /^Not a URL: /],
	['a method that is too long', { method: 'X'.repeat(3.9e6) }, /^Not a method: X{40}$/],
	['a method that is none', { method: 'A B' }, /^Not a method: A B$/],
	['200,000 headers', { headers: headers(200_000) }, /^A request may have 100 headers\.$/],
	['a header too many', { headers: headers(LIMITS.headers + 1) }, /^A request may have 100 headers\.$/],
	['headers that are too long together', { headers: headers(100, 165) }, /^The headers of a request may have 16 KB together\.$/],
	['a header name of 1 MB', { headers: { ['x'.repeat(1e6)]: '' } }, /^The headers of a request may have 16 KB together\.$/],
	['a header in letters of two bytes', { headers: { a: 'é'.repeat(8192) } }, /^The headers of a request may have 16 KB together\.$/],
];
for (const [what, change, says] of REFUSED)
	test(`refused before it reaches the main thread: ${what}`, () => {
		const { hostCalls, heard } = hostCallsOf();
		const answer = hostCalls.serve('request', ['"1"', JSON.stringify({ ...JSON.parse(PLAIN), ...change })]);
		assert.match(JSON.parse(answer ?? '""'), says);
		assert.deepEqual(heard, []);
		assert.equal(hostCalls.next(), null);
	});

test('a request at its bounds passes as it is', () => {
	const { hostCalls, heard } = hostCallsOf();
	const url = `http://x/${'x'.repeat(LIMITS.urlBytes - 9)}`;
	const request = { url, method: 'POST', headers: headers(100, 100), body: 'x'.repeat(LIMITS.requestBytes) };
	assert.equal(hostCalls.serve('request', ['"1"', JSON.stringify(request)]), undefined);
	assert.deepEqual(heard, [['1', request]]);
});

test('a text that is not a request is refused', () => {
	const { hostCalls, heard } = hostCallsOf();
	const deep = `{"url":${'['.repeat(1e6)}${']'.repeat(1e6)}}`;
	for (const none of ['', 'null', '1', '[]', '"http://x"', '{', '[[[[[', deep])
		assert.match(hostCalls.serve('request', ['"1"', none]) ?? '', /^"Not a URL/);
	assert.deepEqual(heard, []);
});

test('an id that the prelude did not make is not kept', (t) => {
	const { hostCalls, heard } = hostCallsOf();
	t.after(() => hostCalls.close());
	hostCalls.serve('request', [LONG, PLAIN]);
	hostCalls.serve('request', ['"12"', PLAIN]);
	assert.deepEqual(
		heard.map(([id]) => id),
		['', '12'],
	);
	for (let n = 0; n < 1000; n++) hostCalls.serve('timer', [JSON.stringify(`${n}${'x'.repeat(1000)}`), '60000']);
	assert.equal(hostCalls.serve('timer', ['"1"', '60000']), undefined, 'long ids are one, so there is room');
});

test('name, message and stack of a thrown value are cut, whatever the code made of them', () => {
	for (const parts of [Array(3).fill('x'.repeat(1e6)), ['x'.repeat(1e6)], [{ toString: 'x' }, 5, null], 'text', { name: 'x' }, null]) {
		const { hostCalls } = hostCallsOf();
		hostCalls.serve('threw', [JSON.stringify(parts)]);
		const { ending } = hostCalls;
		assert.equal(ending?.type, 'threw');
		const { name, message, stack } = ending.type === 'threw' ? ending.fault : assert.fail();
		assert.ok(name.length <= 100 && message.length <= 4096 && stack.length <= 8192, `${name.length}, ${message.length}, ${stack.length}`);
	}
});

test('printed lines, and the reason why a result is invalid, are bounded', () => {
	const { hostCalls } = hostCallsOf();
	for (let n = 0; n < 1000; n++) hostCalls.serve('log', [LONG, LONG]);
	const lines = hostCalls.logs();
	assert.ok(lines.length <= LIMITS.logLines + 1 && Buffer.byteLength(lines.join('')) <= LIMITS.logBytes + 100);
	hostCalls.serve('unusable', [LONG]);
	assert.ok(JSON.stringify(hostCalls.ending).length < 400);
});

test('an answer is decoded by its charset, in the thread', () => {
	const { hostCalls } = hostCallsOf({ answers: false });
	hostCalls.deliver('1', { status: 200, headers: {}, url: 'http://x/', body: new Uint8Array([0x82, 0xa0]), charset: 'shift_jis' });
	assert.deepEqual(hostCalls.next(), ['1', '{"status":200,"headers":{},"url":"http://x/","text":"あ"}']);
});

test('calls are refused unless they were lent, and beyond their number; a text that is no JSON is passed on, and nothing is kept twice', () => {
	const { hostCalls, called } = hostCallsOf();
	const ask = (id: number, name = 'x', argument = '{}'): string | undefined =>
		hostCalls.serve('call', [JSON.stringify(String(id)), JSON.stringify(name), argument]);
	assert.equal(ask(1), '"This run may not make calls."');
	hostCalls.calls.allow({ namespace: 'tools', most: 6, parallel: 1 });
	assert.equal(ask(1), undefined);
	assert.equal(ask(1), '"A call needs an id of its own."');
	assert.equal(ask(2, 'x'.repeat(201)), '"A name has 1 to 200 characters."');
	assert.match(ask(2, 'x', '['.repeat(200)) ?? '', /nested deeper/);
	assert.equal(ask(2, 'second', 'no JSON'), undefined);
	assert.deepEqual(called, ['x']);
	hostCalls.deliver('1', { json: '1' });
	assert.deepEqual(called, ['x', 'second']);
	assert.equal(ask(3), undefined);
	assert.equal(ask(4), '"A run may make 6 calls."');
});
