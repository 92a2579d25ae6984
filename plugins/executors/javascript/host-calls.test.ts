// The desk before code that has got hold of the host by itself: it can make the host hold no more than is counted, nor longer than is said.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Desk } from './host-calls.ts';
import { type GuestRequest, LIMITS } from './messages.ts';

const LONG = JSON.stringify('x'.repeat(100_000));
const PLAIN = JSON.stringify({ url: 'http://x', method: 'GET', headers: {} });

/** The desk of a run that may request. @param answers whether each request is answered at once */
function deskOf({ answers = false } = {}): { desk: Desk; heard: [id: string, request: GuestRequest][] } {
	const heard: [string, GuestRequest][] = [];
	const desk: Desk = new Desk({
		request(id, request) {
			heard.push([id, request]);
			if (answers) desk.deliver(id, { fault: 'No.' });
		},
	});
	desk.mayRequest = true;
	return { desk, heard };
}

test('requests beyond those that a run may make are refused at once, and wait nowhere', () => {
	const { desk, heard } = deskOf({ answers: true });
	const answers = Array.from({ length: 10_000 }, (_none, n) => desk.serve('request', [String(n), PLAIN]));
	assert.equal(heard.length, LIMITS.requests);
	assert.equal(answers.filter((answer) => answer === undefined).length, LIMITS.requests);
	assert.equal(answers.at(-1), '"A run may make 20 requests."');
	for (let n = 0; n < LIMITS.requests; n++) assert.ok(desk.next());
	assert.equal(desk.next(), null);
});

test('requests beyond those that a run may make at once are refused at once, until one is answered', () => {
	const { desk, heard } = deskOf();
	const ask = (): string | undefined => desk.serve('request', ['"1"', PLAIN]);
	const answers = Array.from({ length: 7 }, ask);
	assert.deepEqual(answers, [...Array(5).fill(undefined), ...Array(2).fill('"A run may make 5 requests at once."')]);
	desk.deliver('1', { fault: 'No.' });
	assert.equal(ask(), undefined);
	assert.equal(heard.length, 6);
});

test('a run that may not request is refused, whatever it asks the host for', () => {
	const { desk, heard } = deskOf();
	desk.mayRequest = false;
	assert.equal(desk.serve('request', ['"1"', PLAIN]), '"This run may not make requests."');
	assert.deepEqual(heard, []);
});

const headers = (count: number, valueChars = 1): object =>
	Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v'.repeat(valueChars)]));

const REFUSED: [what: string, change: object, says: RegExp][] = [
	['a body that is too long', { body: 'x'.repeat(LIMITS.requestBytes + 1) }, /^A body may have 1 MB\.$/],
	['a body in letters of two bytes', { body: 'é'.repeat(LIMITS.requestBytes / 2 + 1) }, /^A body may have 1 MB\.$/],
	['a body that is no text', { body: [[['x']]] }, /^A body must be a text\.$/],
	['a URL that is too long', { url: `http://x/${'x'.repeat(LIMITS.urlBytes)}` }, /^A URL may have 8 KB\.$/],
	['a URL of 3.9 MB', { url: `http://x/${'x'.repeat(3.9e6)}` }, /^A URL may have 8 KB\.$/],
	['what is no URL', { url: 'x'.repeat(300) }, /^Not a URL: x{200}$/],
	['a URL that is no text', { url: { href: 'http://x' } }, /^Not a URL: a value of type object$/],
	['a method that is no text', { method: 1 }, /^Not a method: a value of type number$/],
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
	test(`refused before the main thread hears of it: ${what}`, () => {
		const { desk, heard } = deskOf();
		const answer = desk.serve('request', ['"1"', JSON.stringify({ ...JSON.parse(PLAIN), ...change })]);
		assert.match(JSON.parse(answer ?? '""'), says);
		assert.deepEqual(heard, []);
		assert.equal(desk.next(), null);
	});

test('a request at its bounds passes as it is', () => {
	const { desk, heard } = deskOf();
	const url = `http://x/${'x'.repeat(LIMITS.urlBytes - 9)}`;
	const request = { url, method: 'POST', headers: headers(100, 100), body: 'x'.repeat(LIMITS.requestBytes) };
	assert.equal(desk.serve('request', ['"1"', JSON.stringify(request)]), undefined);
	assert.deepEqual(heard, [['1', request]]);
});

test('what is no request at all is refused', () => {
	const { desk, heard } = deskOf();
	const deep = `{"url":${'['.repeat(1e6)}${']'.repeat(1e6)}}`;
	for (const none of ['', 'null', '1', '[]', '"http://x"', '{', '[[[[[', deep])
		assert.match(desk.serve('request', ['"1"', none]) ?? '', /^"Not a URL/);
	assert.deepEqual(heard, []);
});

test('an id that is none of ours is kept nowhere', (t) => {
	const { desk, heard } = deskOf();
	t.after(() => desk.close());
	desk.serve('request', [LONG, PLAIN]);
	desk.serve('request', ['"12"', PLAIN]);
	assert.deepEqual(
		heard.map(([id]) => id),
		['', '12'],
	);
	for (let n = 0; n < 1000; n++) desk.serve('timer', [JSON.stringify(`${n}${'x'.repeat(1000)}`), '60000']);
	assert.equal(desk.serve('timer', ['"1"', '60000']), undefined, 'long ids are one, so there is room');
});

test('of what was thrown the beginnings are told, whatever the code made of them', () => {
	for (const parts of [Array(3).fill('x'.repeat(1e6)), ['x'.repeat(1e6)], [{ toString: 'x' }, 5, null], 'text', { name: 'x' }, null]) {
		const { desk } = deskOf();
		desk.serve('threw', [JSON.stringify(parts)]);
		const { ending } = desk;
		assert.equal(ending?.type, 'threw');
		const { name, message, stack } = ending.type === 'threw' ? ending.fault : assert.fail();
		assert.ok(name.length <= 100 && message.length <= 4096 && stack.length <= 8192, `${name.length}, ${message.length}, ${stack.length}`);
	}
});

test('what is printed, and why a result cannot be one, is bounded', () => {
	const { desk } = deskOf();
	for (let n = 0; n < 1000; n++) desk.serve('log', [LONG, LONG]);
	const lines = desk.logs();
	assert.ok(lines.length <= LIMITS.logLines + 1 && Buffer.byteLength(lines.join('')) <= LIMITS.logBytes + 100);
	desk.serve('unusable', [LONG]);
	assert.ok(JSON.stringify(desk.ending).length < 400);
});

test('a text is decoded by its charset, in the thread', () => {
	const { desk } = deskOf({ answers: false });
	desk.deliver('1', { status: 200, headers: {}, url: 'http://x/', body: new Uint8Array([0x82, 0xa0]), charset: 'shift_jis' });
	assert.deepEqual(desk.next(), ['1', '{"status":200,"headers":{},"url":"http://x/","text":"あ"}']);
});
