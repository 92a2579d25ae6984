// The catalogs of parameters and bodies, through the executor and the guarded dialer, as the bytes that a raw server receives.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type JsonObject } from '../../../core/index.ts';
import { BODIES, type BodyCase } from '../../../test/catalog/http-bodies.ts';
import { NOTHING, PARAMETERS, type ParameterCase, REFUSED } from '../../../test/catalog/http-bytes.ts';
import { loopbackCall, type Recorded, type Recorder, recorder } from '../../../test/helpers/executor.ts';
import http from './index.ts';

interface Wire {
	upstream: Recorder;
	/** @returns what was sent; null when it was refused for the argument `value` */
	send(config: object, args: JsonObject): Promise<Recorded | null>;
}

async function wire(t: TestContext): Promise<Wire> {
	const upstream = await recorder(t);
	const call = loopbackCall(t);
	const send: Wire['send'] = async (config, args) => {
		const parsed = await http.config.validateAsync({ method: 'GET', ...config });
		try {
			await http.execute(args, parsed, call);
		} catch (error) {
			const ours = asGatewayError(error);
			assert.equal(ours?.code, 'validation_failed', String(error));
			assert.equal(upstream.count(), 0, 'nothing was sent');
			return null;
		}
		return upstream.take();
	};
	return { upstream, send };
}

const shown = (value: unknown): string => JSON.stringify(value).slice(0, 80);

/** Headers that do not come from the config. */
const OWN = /^(?:accept|connection|content-length|host|user-agent): /;

const titleOf = ({ place, style, explode, contentType, allowReserved, value }: ParameterCase): string =>
	[place, style, explode === undefined ? '' : `explode ${explode}`, contentType, allowReserved ? 'allowReserved' : '', shown(value)]
		.filter(Boolean)
		.join(' ');

test(`${PARAMETERS.length} parameters are written to the byte`, async (t) => {
	const { upstream, send } = await wire(t);
	for (const [index, one] of PARAMETERS.entries())
		await t.test(`${index + 1}. ${titleOf(one)} (${one.source})`, async () => {
			const { source: _source, place, name, value, wire: expected, ...more } = one;
			const path = place === 'path' ? `/x/{${name}}/y` : '/x';
			const sent = await send({ url: upstream.origin + path, parameters: [{ arg: 'value', name, in: place, ...more }] }, { value });
			if (expected === REFUSED) return assert.equal(sent, null);
			assert.ok(sent, 'it was refused');
			const target =
				place === 'path' ? `/x/${String(expected)}/y` : place.startsWith('query') && expected !== NOTHING ? `/x?${expected}` : '/x';
			const field = place === 'cookie' ? 'cookie' : name.toLowerCase();
			const isField = (place === 'header' || place === 'cookie') && expected !== NOTHING;
			assert.deepEqual(
				[sent.line, sent.fields.filter((line) => !OWN.test(line)), sent.body.length],
				[`GET ${target} HTTP/1.1`, isField ? [`${field}: ${expected}`] : [], 0],
			);
		});
});

function expectedBytes({ bytes, sentAs }: BodyCase, { headers }: Recorded): { type: string | null; body: Buffer } {
	const boundary = /boundary=(gatehouse-[0-9a-f]{32})$/.exec(headers['content-type'] ?? '')?.[1] ?? '';
	const body = Buffer.from(bytes ?? '');
	if (!sentAs?.includes('<boundary>')) return { type: sentAs, body };
	// Latin-1 keeps every byte.
	return {
		type: sentAs.replace('<boundary>', boundary),
		body: Buffer.from(body.toString('latin1').replaceAll('<boundary>', boundary), 'latin1'),
	};
}

test(`${BODIES.length} bodies are written to the byte`, async (t) => {
	const { upstream, send } = await wire(t);
	for (const [index, one] of BODIES.entries())
		await t.test(`${index + 1}. ${one.contentType} ${shown(one.value)} (${one.source})`, async () => {
			const { contentType, value, parts = {} } = one;
			const sent = await send(
				{ method: 'POST', url: `${upstream.origin}/x`, requestBody: { arg: 'value', contentType, parts } },
				{ value },
			);
			if (one.bytes === null) return assert.equal(sent, null);
			assert.ok(sent, 'it was refused');
			const { type, body } = expectedBytes(one, sent);
			assert.deepEqual(
				[sent.line, sent.headers['content-type'], sent.headers['content-length'], sent.body.toString('latin1')],
				['POST /x HTTP/1.1', type, String(body.length), body.toString('latin1')],
			);
		});
});

test('Each of several parameters goes to its location, in their order', async (t) => {
	const { upstream, send } = await wire(t);
	const parameters = [
		{ arg: 'b', name: 'b', in: 'query', style: 'pipeDelimited', explode: false },
		{ arg: 'id', name: 'id', in: 'path', style: 'matrix' },
		{ arg: 'h', name: 'X-H', in: 'header' },
		{ arg: 'c', name: 'c', in: 'cookie' },
		{ arg: 'a', name: 'a', in: 'query' },
		{ arg: 'd', name: 'd', in: 'cookie' },
	];
	const args = { id: 7, a: ['x', 'y'], b: [1, 2], h: 'v', c: 1, d: 2 };
	const sent = (await send({ url: `${upstream.origin}/p/{id}/q`, parameters }, args)) ?? assert.fail();
	assert.equal(sent.line, 'GET /p/;id=7/q?b=1%7C2&a=x&a=y HTTP/1.1');
	assert.deepEqual([sent.headers['x-h'], sent.headers['cookie']], ['v', 'c=1; d=2']);
});

test('Absent, null and empty values send nothing, and leave no separator behind', async (t) => {
	const { upstream, send } = await wire(t);
	const parameters = ['query', 'header', 'cookie'].flatMap((place) =>
		['absent', 'nothing', 'list', 'object'].map((arg) => ({ arg, name: arg, in: place })),
	);
	const sent = (await send({ url: `${upstream.origin}/x`, parameters }, { nothing: null, list: [], object: { a: null } })) ?? assert.fail();
	assert.equal(sent.line, 'GET /x HTTP/1.1');
	assert.deepEqual(sent.fields.map((field) => field.split(':')[0]).toSorted(), ['accept', 'connection', 'host', 'user-agent']);
});

/** RFC 9110 §8.6: a length of 0 if the method gives content a meaning; §9.3.1: a GET has content only if the API says so. */
const LENGTHS: [method: string, body: object | undefined, length: string | undefined, bytes: string][] = [
	['POST', undefined, '0', ''],
	['PUT', undefined, '0', ''],
	['PATCH', undefined, '0', ''],
	['GET', undefined, undefined, ''],
	['HEAD', undefined, undefined, ''],
	['DELETE', undefined, undefined, ''],
	['OPTIONS', undefined, undefined, ''],
	['POST', { a: 1 }, '7', '{"a":1}'],
	['GET', { query: {} }, '12', '{"query":{}}'],
	['DELETE', { ids: [1] }, '11', '{"ids":[1]}'],
	['QUERY', { a: 1 }, '7', '{"a":1}'],
];

for (const [method, body, length, bytes] of LENGTHS)
	test(`${method} ${body ? 'with' : 'without'} a body has ${length ? `Content-Length ${length}` : 'no Content-Length'}`, async (t) => {
		const { upstream, send } = await wire(t);
		const requestBody = { arg: 'body', contentType: 'application/json' };
		const sent =
			(await send({ method, url: `${upstream.origin}/x`, requestBody }, body ? { body: body as JsonObject } : {})) ?? assert.fail();
		assert.deepEqual(
			[sent.line, sent.headers['content-type'], sent.headers['content-length'], sent.headers['transfer-encoding'], sent.body.toString()],
			[`${method} /x HTTP/1.1`, body && 'application/json', length, undefined, bytes],
		);
	});

test('A body marked as text is sent to the letter, whatever its media type', async (t) => {
	const { upstream, send } = await wire(t);
	const requestBody = { arg: 'body', contentType: 'image/jpeg', isText: true };
	const sent = (await send({ method: 'POST', url: upstream.origin, requestBody }, { body: 'aGk=' })) ?? assert.fail();
	assert.deepEqual([sent.headers['content-type'], sent.body.toString()], ['image/jpeg', 'aGk=']);
	const bytes =
		(await send({ method: 'POST', url: upstream.origin, requestBody: { ...requestBody, isText: false } }, { body: 'aGk=' })) ??
		assert.fail();
	assert.equal(bytes.body.toString(), 'hi');
	const latin = { ...requestBody, contentType: 'model/vrml; charset=latin1' };
	assert.deepEqual((await send({ method: 'POST', url: upstream.origin, requestBody: latin }, { body: 'é' }))?.body, Buffer.from([0xe9]));
});

test('A text part is sent in the charset that its media type names', async (t) => {
	const { upstream, send } = await wire(t);
	const parts = { t: { contentType: 'text/plain; charset=utf-16be' }, u: { contentType: 'text/plain' } };
	const requestBody = { arg: 'value', contentType: 'multipart/form-data', parts };
	const sent = (await send({ method: 'POST', url: upstream.origin, requestBody }, { value: { t: 'é', u: 'é' } })) ?? assert.fail();
	const [, first, second] = sent.body.toString('latin1').split('name=');
	assert.ok(first?.includes('charset=utf-16be\r\n\r\n\u0000\u00e9\r\n'), first);
	assert.ok(second?.includes('text/plain\r\n\r\n\u00c3\u00a9\r\n'), second);
});

test('JSON in another charset is written so that it is the same in UTF-8', async (t) => {
	const { upstream, send } = await wire(t);
	const value = { t: 'é€😀' };
	const escaped = '{"t":"\\u00e9\\u20ac\\ud83d\\ude00"}';
	const sent = async (contentType: string, more: object = {}) =>
		(await send({ method: 'POST', url: upstream.origin, requestBody: { arg: 'value', contentType, ...more } }, { value })) ?? assert.fail();
	for (const charset of ['ISO-8859-1', 'us-ascii', 'windows-1252']) {
		const { headers, body } = await sent(`application/json; charset=${charset}`);
		assert.deepEqual([headers['content-type'], body.toString('latin1')], [`application/json; charset=${charset}`, escaped]);
		assert.equal((await sent(`application/x-ndjson; charset=${charset}`)).body.toString('latin1'), `${escaped}\n`);
	}
	assert.equal((await sent('application/json; charset=utf-16le')).body.toString('utf16le'), escaped);
	assert.equal((await sent('application/json; charset="UTF-8"')).body.toString(), JSON.stringify(value));
	const parts = { t: { contentType: 'application/json; charset=iso-8859-1' } };
	const form = await sent('multipart/form-data; charset=ISO-8859-1', { parts });
	assert.match(form.headers['content-type'] ?? '', /^multipart\/form-data; boundary=gatehouse-[0-9a-f]{32}$/);
	assert.ok(form.body.toString('latin1').includes('\r\n\r\n"\\u00e9\\u20ac\\ud83d\\ude00"\r\n'), form.body.toString('latin1'));
});

test('Two multipart bodies have different boundaries', async (t) => {
	const { upstream, send } = await wire(t);
	const config = { method: 'POST', url: upstream.origin, requestBody: { arg: 'value', contentType: 'multipart/form-data' } };
	const [one, other] = [await send(config, { value: { a: 1 } }), await send(config, { value: { a: 1 } })];
	assert.notEqual(one?.headers['content-type'], other?.headers['content-type']);
});

test('A refused value is named by its JSON pointer in the arguments', async (t) => {
	const { upstream } = await wire(t);
	const cases: [contentType: string, value: unknown, path: string, parts: object][] = [
		['multipart/form-data', { f: 7 }, '/value/f', { f: { binary: true } }],
		['multipart/form-data', { f: { data: 'YQ==', contentType: 'a/b\r\nX: y' } }, '/value/f/contentType', { f: { binary: true } }],
		['application/octet-stream', '%', '/value', {}],
		['text/plain; charset=us-ascii', 'ü', '/value', {}],
	];
	for (const [contentType, value, path, parts] of cases) {
		const config = await http.config.validateAsync({
			method: 'POST',
			url: upstream.origin,
			requestBody: { arg: 'value', contentType, parts },
		});
		await assert.rejects(
			http.execute({ value } as JsonObject, config, loopbackCall(t)),
			(error) => asGatewayError(error)?.details[0]?.path === path,
		);
	}
});
