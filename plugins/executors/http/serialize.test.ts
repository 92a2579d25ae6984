// Every style, explode and location of OpenAPI 3.1, as the bytes that an upstream gets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../core/index.ts';
import { loopbackCall, recorder } from '../../../test/helpers/executor.ts';
import type { Parameter } from './config.ts';
import http from './index.ts';

type Case = [style: Parameter['style'] | undefined, explode: boolean | undefined, value: Json, wire: string];

const LIST = ['blue', 'black', 'brown'];
const PAIRS = { R: 100, G: 200, B: 150 };
/** Each reserved character of RFC 3986, a space, a percent sign, text beyond ASCII. */
const HARD = ":/?#[]@!$&'()*+,;= %ü€";
const HARD_ENCODED = '%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%20%25%C3%BC%E2%82%AC';

const PATH: Case[] = [
	[undefined, undefined, 'blue', 'blue'],
	[undefined, undefined, LIST, 'blue,black,brown'],
	[undefined, undefined, PAIRS, 'R,100,G,200,B,150'],
	['simple', false, 'blue', 'blue'],
	['simple', false, LIST, 'blue,black,brown'],
	['simple', false, PAIRS, 'R,100,G,200,B,150'],
	['simple', true, 'blue', 'blue'],
	['simple', true, LIST, 'blue,black,brown'],
	['simple', true, PAIRS, 'R=100,G=200,B=150'],
	['label', false, 'blue', '.blue'],
	['label', false, LIST, '.blue,black,brown'],
	['label', false, PAIRS, '.R,100,G,200,B,150'],
	['label', true, 'blue', '.blue'],
	['label', true, LIST, '.blue.black.brown'],
	['label', true, PAIRS, '.R=100.G=200.B=150'],
	['matrix', false, 'blue', ';color=blue'],
	['matrix', false, '', ';color'],
	['matrix', false, LIST, ';color=blue,black,brown'],
	['matrix', false, PAIRS, ';color=R,100,G,200,B,150'],
	['matrix', true, 'blue', ';color=blue'],
	['matrix', true, LIST, ';color=blue;color=black;color=brown'],
	['matrix', true, PAIRS, ';R=100;G=200;B=150'],
	['simple', false, HARD, HARD_ENCODED],
	['simple', false, ['a,b', 'c'], 'a%2Cb,c'],
	['matrix', false, HARD, `;color=${HARD_ENCODED}`],
	['label', true, ['a.b', 'c/d'], '.a.b.c%2Fd'],
	['simple', false, 7, '7'],
	['simple', false, true, 'true'],
	['simple', false, ['a', null, 'b'], 'a,b'],
	['simple', false, [['x', 'y'], 'b'], '%5B%22x%22%2C%22y%22%5D,b'],
];

const QUERY: Case[] = [
	[undefined, undefined, 'blue', 'color=blue'],
	[undefined, undefined, LIST, 'color=blue&color=black&color=brown'],
	[undefined, undefined, PAIRS, 'R=100&G=200&B=150'],
	['form', false, 'blue', 'color=blue'],
	['form', false, '', 'color='],
	['form', false, LIST, 'color=blue,black,brown'],
	['form', false, PAIRS, 'color=R,100,G,200,B,150'],
	['form', true, 'blue', 'color=blue'],
	['form', true, LIST, 'color=blue&color=black&color=brown'],
	['form', true, PAIRS, 'R=100&G=200&B=150'],
	['spaceDelimited', false, LIST, 'color=blue%20black%20brown'],
	['spaceDelimited', undefined, LIST, 'color=blue%20black%20brown'],
	['spaceDelimited', false, PAIRS, 'color=R%20100%20G%20200%20B%20150'],
	['spaceDelimited', true, LIST, 'color=blue&color=black&color=brown'],
	['pipeDelimited', false, LIST, 'color=blue%7Cblack%7Cbrown'],
	['pipeDelimited', undefined, PAIRS, 'color=R%7C100%7CG%7C200%7CB%7C150'],
	['pipeDelimited', true, LIST, 'color=blue&color=black&color=brown'],
	['deepObject', undefined, PAIRS, 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
	['deepObject', true, { a: { b: [1, 2] }, c: null }, 'color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2'],
	['deepObject', true, 'blue', 'color=blue'],
	['form', true, HARD, `color=${HARD_ENCODED}`],
	['form', false, ['a,b', 'c&d=e'], 'color=a%2Cb,c%26d%3De'],
	['form', true, { 'a b': 'c=d' }, 'a%20b=c%3Dd'],
	['form', true, { a: { b: 1 } }, 'a=%7B%22b%22%3A1%7D'],
	['form', true, 0, 'color=0'],
	['form', true, false, 'color=false'],
	['form', true, 1e21, 'color=1e%2B21'],
];

const HEADER: Case[] = [
	[undefined, undefined, 'blue', 'blue'],
	['simple', false, LIST, 'blue,black,brown'],
	['simple', false, PAIRS, 'R,100,G,200,B,150'],
	['simple', true, LIST, 'blue,black,brown'],
	['simple', true, PAIRS, 'R=100,G=200,B=150'],
	['simple', false, 'a b%20c; "d"', 'a b%20c; "d"'],
];

const COOKIE: Case[] = [
	[undefined, undefined, 'blue', 'color=blue'],
	['form', false, LIST, 'color=blue,black,brown'],
	['form', false, PAIRS, 'color=R,100,G,200,B,150'],
	['form', true, LIST, 'color=blue; color=black; color=brown'],
	['form', true, PAIRS, 'R=100; G=200; B=150'],
	['form', true, 'a; b="c"', 'color=a%3B%20b%3D%22c%22'],
];

const PLACES: Record<
	Parameter['in'],
	{ cases: Case[]; url: string; read: (line: string, headers: Record<string, string>) => string | undefined }
> = {
	path: { cases: PATH, url: '/x/{color}/y', read: (line) => /^GET \/x\/(.*)\/y HTTP/.exec(line)?.[1] },
	query: { cases: QUERY, url: '/x', read: (line) => /^GET \/x\?(.*) HTTP/.exec(line)?.[1] },
	header: { cases: HEADER, url: '/x', read: (_line, headers) => headers['color'] },
	cookie: { cases: COOKIE, url: '/x', read: (_line, headers) => headers['cookie'] },
};

for (const [place, { cases, url, read }] of Object.entries(PLACES) as [Parameter['in'], (typeof PLACES)['path']][])
	for (const [style, explode, value, wire] of cases)
		test(`${place} ${style ?? 'by default'}${explode ? ' exploded' : ''} writes ${JSON.stringify(value)} as ${wire}`, async (t) => {
			const upstream = await recorder(t);
			const parameter = { arg: 'c', name: 'color', in: place, ...(style ? { style } : {}), ...(explode === undefined ? {} : { explode }) };
			const config = await http.config.validateAsync({ method: 'get', url: upstream.origin + url, parameters: [parameter] });
			await http.execute({ c: value }, config, loopbackCall(t));
			const { line, headers } = upstream.take();
			assert.equal(read(line, headers), wire);
		});

const RESERVED: [value: Json, wire: string][] = [
	["a:/?@!$'()*,;=b", 'q=a:/?@!$%27()*,;=b'],
	['a&b+c#d[e]', 'q=a%26b%2Bc%23d%5Be%5D'],
	['50%20%2Fx 100%', 'q=50%20%2Fx%20100%25'],
	[['x/y', 'z'], 'q=x/y&q=z'],
];

for (const [value, wire] of RESERVED)
	test(`allowReserved writes ${JSON.stringify(value)} as ${wire}`, async (t) => {
		const upstream = await recorder(t);
		const parameters = [{ arg: 'q', name: 'q', in: 'query', allowReserved: true }];
		const config = await http.config.validateAsync({ method: 'GET', url: `${upstream.origin}/x`, parameters });
		await http.execute({ q: value }, config, loopbackCall(t));
		assert.equal(upstream.take().line, `GET /x?${wire} HTTP/1.1`);
	});

test('A parameter with a media type is written in it, wherever it goes', async (t) => {
	const upstream = await recorder(t);
	const parameters = (['path', 'query', 'header', 'cookie'] as const).map((place) => ({
		arg: 'f',
		name: `f-${place}`,
		in: place,
		contentType: 'application/json',
	}));
	const config = await http.config.validateAsync({ method: 'GET', url: `${upstream.origin}/{f-path}`, parameters });
	await http.execute({ f: { a: ['ü'] } }, config, loopbackCall(t));
	const { line, headers } = upstream.take();
	const encoded = '%7B%22a%22%3A%5B%22%5Cu00fc%22%5D%7D';
	assert.equal(line, `GET /${encoded}?f-query=${encoded} HTTP/1.1`);
	assert.deepEqual([headers['f-header'], headers['cookie']], ['{"a":["\\u00fc"]}', `f-cookie=${encoded}`]);
});

test('Absent, null and empty values send nothing, and leave no separator behind', async (t) => {
	const upstream = await recorder(t);
	const parameters = (['query', 'header', 'cookie'] as const).flatMap((place) =>
		['absent', 'nothing', 'list', 'object'].map((arg) => ({ arg, name: arg, in: place })),
	);
	const config = await http.config.validateAsync({ method: 'GET', url: `${upstream.origin}/x`, parameters });
	await http.execute({ nothing: null, list: [], object: { a: null } }, config, loopbackCall(t));
	const { line, headers } = upstream.take();
	assert.equal(line, 'GET /x HTTP/1.1');
	assert.deepEqual(Object.keys(headers).sort(), ['accept', 'connection', 'host', 'user-agent']);
});
