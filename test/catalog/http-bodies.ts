// Expected bodies of the `http` executor: every media type, with its fields' encodings, as the bytes of the standards.

import type { Json } from '../../core/contract/nouns.ts';

export interface BodyCase {
	source: string;
	contentType: string;
	value: Json;
	/** Encodings by field, as an importer writes them from encoding objects. */
	parts?: Record<string, object>;
	/** The expected `Content-Type`; null: no body and no such header. `<boundary>` stands for the boundary of a multipart body. */
	sentAs: string | null;
	/** The expected bytes, a string as UTF-8; null: refused with a 400 that names the argument, and nothing is sent. */
	bytes: string | Buffer | null;
}

const JSON_SOURCE = 'RFC 8259 §8.1: UTF-8';
const json = (contentType: string, value: Json, bytes: string, sentAs = contentType): BodyCase => ({
	source: JSON_SOURCE,
	contentType,
	value,
	sentAs,
	bytes,
});

const JSONS: BodyCase[] = [
	json('application/json', { a: 'ü€😀', b: [1, null] }, '{"a":"ü€😀","b":[1,null]}'),
	json('application/json', {}, '{}'),
	json('application/json', [], '[]'),
	json('application/json', null, 'null'),
	json('application/json', '', '""'),
	json('application/json', 'text', '"text"'),
	json('application/json', false, 'false'),
	json('application/json', -0.5, '-0.5'),
	json('application/json', 'a\ud800', '"a\\ud800"'),
	json('application/json; charset=utf-8', 1, '1'),
	json('APPLICATION/JSON', 1, '1'),
	json('text/json', 1, '1'),
	json('application/vnd.api+json', { a: 1 }, '{"a":1}'),
	json('application/merge-patch+json', { a: null }, '{"a":null}'),
	json('application/json-patch+json', [{ op: 'remove', path: '/a' }], '[{"op":"remove","path":"/a"}]'),
	json('*/*', { a: 1 }, '{"a":1}', 'application/json'),
	json('application/*', { a: 1 }, '{"a":1}', 'application/json'),
];

const FORM = 'application/x-www-form-urlencoded';
const form = (source: string, value: Json, bytes: string | null, parts?: Record<string, object>): BodyCase => ({
	source,
	contentType: FORM,
	value,
	sentAs: FORM,
	bytes,
	...(parts ? { parts } : {}),
});

const RULES = 'OpenAPI 3.1.1 §4.8.14.4';
const ENCODING = 'OpenAPI 3.1.1 §4.8.15.1';
const FORMS: BodyCase[] = [
	form(RULES, { a: 'b c&d=é+', n: 1, t: true, e: '' }, 'a=b%20c%26d%3D%C3%A9%2B&n=1&t=true&e='),
	form('RFC 6570 §2.3: null is undefined', { a: 1, no: null, list: [], more: {} }, 'a=1&more=%7B%7D'),
	form('no field', {}, ''),
	form(RULES, { a: [1, 2], o: { p: 'q' } }, 'a=1&a=2&o=%7B%22p%22%3A%22q%22%7D'),
	form(RULES, { a: [{ x: 1 }, { x: 2 }] }, 'a=%7B%22x%22%3A1%7D&a=%7B%22x%22%3A2%7D'),
	form('names are encoded', { 'a[]': 'x', 'ü b': 'y' }, 'a%5B%5D=x&%C3%BC%20b=y'),
	form(ENCODING, { a: ['x', 'y z'] }, 'a=x,y%20z', { a: { style: 'form', explode: false } }),
	form(ENCODING, { a: ['x', 'y z'] }, 'a=x&a=y%20z', { a: { style: 'form' } }),
	form(ENCODING, { a: ['x', 'y'] }, 'a=x%20y', { a: { style: 'spaceDelimited' } }),
	form(ENCODING, { a: ['x', 'y'] }, 'a=x%7Cy', { a: { style: 'pipeDelimited' } }),
	form(ENCODING, { m: { k: 'v', l: [1, { x: 2 }] } }, 'm%5Bk%5D=v&m%5Bl%5D%5B0%5D=1&m%5Bl%5D%5B1%5D%5Bx%5D=2', {
		m: { style: 'deepObject', explode: true },
	}),
	form(ENCODING, { o: { R: 100, G: 200 } }, 'R=100&G=200', { o: { style: 'form' } }),
	form(ENCODING, { o: { R: 100, G: 200 } }, 'o=R,100,G,200', { o: { explode: false } }),
	form(ENCODING, { a: [1, 2] }, 'a=%5B1%2C2%5D', { a: { contentType: 'application/json' } }),
	form(ENCODING, { u: 'https://x/?a=b&c#d' }, 'u=https://x/?a=b%26c%23d', { u: { allowReserved: true } }),
	form('a text is a form already', 'a=b+c', 'a=b+c'),
	{ source: 'misnomer that documents use', contentType: 'application/form-data', value: { a: 'b' }, sentAs: FORM, bytes: 'a=b' },
	form('no form', [1], null),
	form('no form', 7, null),
	form('RFC 3629 §3', { a: '\ud800' }, null),
];

const text = (contentType: string, value: Json, bytes: string | Buffer | null, source = 'RFC 6838 §4.2.1'): BodyCase => ({
	source,
	contentType,
	value,
	sentAs: contentType,
	bytes,
});
const CHARSET = 'the charset that is named';

const TEXTS: BodyCase[] = [
	text('text/plain', 'hällo €', 'hällo €'),
	text('text/plain', '', ''),
	text('text/plain', 7, '7'),
	text('text/plain', { a: 1 }, '{"a":1}'),
	text('text/csv; charset=utf-8', 'a,b\r\n1,ü', 'a,b\r\n1,ü'),
	text('text/plain; charset="UTF-8"', 'ü', 'ü'),
	text('text/plain; charset=iso-8859-1', 'ü', Buffer.from([0xfc]), CHARSET),
	text('text/plain; charset=ISO-8859-1; format=flowed', 'ü', Buffer.from([0xfc]), CHARSET),
	text('text/plain; charset=us-ascii', 'a~', 'a~', CHARSET),
	text('text/plain; charset=utf-16le', 'aü', Buffer.from([0x61, 0, 0xfc, 0]), CHARSET),
	text('text/plain; charset=utf-16be', 'aü', Buffer.from([0, 0x61, 0, 0xfc]), CHARSET),
	text('text/plain; charset=utf-16', 'a', Buffer.from([0xfe, 0xff, 0, 0x61]), 'RFC 2781 §4.3: with its mark'),
	text('text/plain; charset=shift_jis', 'plain', 'plain', 'ASCII is alike in it'),
	text('text/plain; charset=iso-8859-1', '€', null, CHARSET),
	text('text/plain; charset=us-ascii', 'ü', null, CHARSET),
	text('text/plain; charset=shift_jis', '日', null, 'unknown here'),
	text(
		'application/xml',
		'<?xml version="1.0"?><a b="c">ü&amp;</a>',
		'<?xml version="1.0"?><a b="c">ü&amp;</a>',
		'XML as the text that it is',
	),
	text('text/xml', '<a/>', '<a/>'),
	text('application/soap+xml', '<e/>', '<e/>'),
	text('application/xml; charset=iso-8859-1', '<a>ü</a>', Buffer.from('<a>ü</a>', 'latin1'), CHARSET),
	text('application/yaml', 'a: 1', 'a: 1', 'RFC 9512'),
	text('application/graphql', '{ a }', '{ a }'),
	text('application/sql', 'SELECT 1', 'SELECT 1'),
];

const SEQUENCES: BodyCase[] = [
	text('application/jsonl', [{ a: 1 }, 'ü', null], '{"a":1}\n"ü"\nnull\n', 'OpenAPI 3.2.1 §4.14.2, jsonlines.org'),
	text('application/jsonl', [], '', 'no line'),
	text('application/x-ndjson', [{ a: 1 }, { a: 2 }], '{"a":1}\n{"a":2}\n', 'ndjson.org'),
	text('application/x-ndjson', { a: 1 }, '{"a":1}\n', 'one line'),
	text('application/x-ndjson', '{"index":{}}\n{"a":1}\n', '{"index":{}}\n{"a":1}\n', 'a text is the sequence already'),
	text('application/json-seq', [{ a: 1 }, 2], '\u001e{"a":1}\n\u001e2\n', 'RFC 7464 §2.2'),
	text('application/geo+json-seq', [{ type: 'Point' }], '\u001e{"type":"Point"}\n', 'RFC 8142 §2'),
];

const binary = (contentType: string, value: Json, bytes: Buffer | null, source = 'RFC 4648 §4'): BodyCase => ({
	source,
	contentType,
	value,
	sentAs: contentType,
	bytes,
});
const ANY = Buffer.from(Array.from({ length: 256 }, (_, code) => code));

const BINARIES: BodyCase[] = [
	binary('application/octet-stream', ANY.toString('base64'), ANY),
	binary('application/octet-stream', ANY.toString('base64url'), ANY, 'RFC 4648 §5'),
	binary('application/octet-stream', 'AP8K\r\nAA==', Buffer.from([0, 255, 10, 0]), 'RFC 2045 §6.8: in lines'),
	binary('application/octet-stream', '', Buffer.alloc(0)),
	binary('image/png', 'cG5n', Buffer.from('png')),
	binary('application/pdf', 'JVBERi0=', Buffer.from('%PDF-')),
	binary('application/octet-stream', 'not base64!', null),
	binary('application/octet-stream', { a: 1 }, null),
	binary('application/zip', 7, null),
];

const MULTIPART = 'multipart/form-data';
/** @param pieces the headers and content of the parts, between the boundaries */
const multipart = (
	source: string,
	value: Json,
	pieces: (string | Buffer)[] | null,
	parts?: Record<string, object>,
	contentType = MULTIPART,
): BodyCase => {
	const chunks = (pieces ?? []).flatMap((piece) => [Buffer.from('--<boundary>\r\n'), Buffer.from(piece), Buffer.from('\r\n')]);
	const sentAs = `${contentType.replace(/;\s*boundary=.*/, '')}; boundary=<boundary>`;
	return {
		source,
		contentType,
		value,
		sentAs,
		bytes: pieces && Buffer.concat([...chunks, Buffer.from('--<boundary>--\r\n')]),
		...(parts ? { parts } : {}),
	};
};
const part = (name: string, content: string, headers: string[] = []): string =>
	[`Content-Disposition: form-data; name="${name}"`, ...headers, '', content].join('\r\n');
const file = (name: string, filename: string, type: string, content: Buffer | string): Buffer =>
	Buffer.concat([
		Buffer.from(`Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: ${type}\r\n\r\n`),
		Buffer.from(content),
	]);

const PARTS = 'RFC 7578 §4.2';
const STYLED = 'OpenAPI 3.1.1 §4.8.15.1.2';
const MULTIPARTS: BodyCase[] = [
	multipart(PARTS, { a: 'é', n: 1, t: true, e: '' }, [part('a', 'é'), part('n', '1'), part('t', 'true'), part('e', '')]),
	multipart('null is undefined', { a: 1, no: null }, [part('a', '1')]),
	multipart('no field', {}, []),
	multipart(ENCODING, { o: { a: 1 } }, [part('o', '{"a":1}', ['Content-Type: application/json'])]),
	multipart('RFC 7578 §4.3: one part for each', { l: ['x', 'y'] }, [part('l', 'x'), part('l', 'y')]),
	multipart(ENCODING, { l: [{ a: 1 }, 2] }, [part('l', '{"a":1}', ['Content-Type: application/json']), part('l', '2')]),
	multipart(ENCODING, { k: [1] }, [part('k', '[1]', ['Content-Type: application/json'])], { k: { contentType: 'application/json' } }),
	multipart(ENCODING, { x: '<a/>' }, [part('x', '<a/>', ['Content-Type: application/xml; charset=utf-8'])], {
		x: { contentType: 'application/xml; charset=utf-8' },
	}),
	multipart(
		STYLED,
		{ deep: { create: true, no: null, m: { 'k &': 'v=é' }, l: ['a', { x: 1 }] } },
		[part('deep[create]', 'true'), part('deep[m][k &]', 'v=é'), part('deep[l][0]', 'a'), part('deep[l][1][x]', '1')],
		{ deep: { style: 'deepObject', explode: true } },
	),
	multipart(STYLED, { l: ['a', 'b'] }, [part('l[0]', 'a'), part('l[1]', 'b')], { l: { style: 'deepObject' } }),
	multipart(STYLED, { l: ['a', 'b'], t: 'c' }, [part('l', 'a'), part('l', 'b'), part('t', 'c')], {
		l: { style: 'form' },
		t: { style: 'deepObject' },
	}),
	multipart(STYLED, { l: ['x', 'y z'], o: { R: 100, G: 200 } }, [part('l', 'x,y z'), part('o', 'R,100,G,200')], {
		l: { explode: false },
		o: { style: 'form', explode: false },
	}),
	multipart(STYLED, { s: ['x', 'y'], p: ['x', 'y'] }, [part('s', 'x y'), part('p', 'x|y')], {
		s: { style: 'spaceDelimited' },
		p: { style: 'pipeDelimited' },
	}),
	multipart(STYLED, { o: { R: 100, 'G"': 200 } }, [part('R', '100', ['X-Rate: 7']), part('G%22', '200', ['X-Rate: 7'])], {
		o: { explode: true, contentType: 'application/json', headers: { 'X-Rate': '7' } },
	}),
	multipart(STYLED, { o: { a: '%2F' } }, [part('a', '%2F')], { o: { allowReserved: true } }),
	multipart(STYLED, { l: [], o: {}, no: null }, [], { l: { style: 'deepObject' }, o: { style: 'form' }, no: { style: 'form' } }),
	multipart(
		'a list in a style keeps the types of its items',
		{ l: [{ a: 1 }] },
		[part('l', '{"a":1}', ['Content-Type: application/json'])],
		{
			l: { style: 'form', explode: true },
		},
	),
	multipart('a file has no style', { f: { data: 'YQ==' } }, [file('f', 'f', 'application/octet-stream', 'a')], {
		f: { binary: true, style: 'deepObject' },
	}),
	multipart(
		'OpenAPI 3.1.1 §4.8.15.1.1, headers',
		{ f: 'x' },
		[part('f', 'x', ['Content-Type: text/plain', 'X-Rate: 7', 'Content-Language: de'])],
		{ f: { contentType: 'text/plain', headers: { 'X-Rate': '7', 'Content-Language': 'de' } } },
	),
	multipart(
		PARTS,
		{ f: { data: ANY.toString('base64'), filename: 'a.png', contentType: 'image/png' } },
		[file('f', 'a.png', 'image/png', ANY)],
		{ f: { binary: true } },
	),
	multipart('base64 alone', { f: 'YQ==' }, [file('f', 'f', 'application/octet-stream', 'a')], { f: { binary: true } }),
	multipart(
		'several files under one name',
		{ f: ['YQ==', { data: 'Yg==', filename: 'b' }] },
		[file('f', 'f', 'image/png', 'a'), file('f', 'b', 'image/png', 'b')],
		{
			f: { binary: true, contentType: 'image/png, image/jpeg' },
		},
	),
	multipart('a range is no type', { f: 'YQ==' }, [file('f', 'f', 'application/octet-stream', 'a')], {
		f: { binary: true, contentType: 'image/*' },
	}),
	multipart(
		'files beside fields, in the order of the body',
		{ title: 'x', f: { data: 'YQ==', filename: 'a' }, meta: { k: [1] } },
		[part('title', 'x'), file('f', 'a', 'application/octet-stream', 'a'), part('meta', '{"k":[1]}', ['Content-Type: application/json'])],
		{ f: { binary: true } },
	),
	multipart(
		'HTML §4.10.21.8: names that would end the header',
		{ 'a"b\r\nc': { data: 'YQ==', filename: 'ü"\r\nX: y' } },
		[file('a%22b%0D%0Ac', 'ü%22%0D%0AX: y', 'application/octet-stream', 'a')],
		{
			'a"b\r\nc': { binary: true },
		},
	),
	multipart('its boundary is ours', { a: 1 }, [part('a', '1')], undefined, 'multipart/form-data; boundary=theirs'),
	multipart('another multipart type', { a: 1 }, [part('a', '1')], undefined, 'multipart/mixed'),
	multipart('no form', 'text', null),
	multipart('no file', { f: 7 }, null, { f: { binary: true } }),
	multipart('no base64', { f: { data: '%%%' } }, null, { f: { binary: true } }),
	multipart('a type with a line break', { f: { data: 'YQ==', contentType: 'a/b\r\nX: y' } }, null, { f: { binary: true } }),
];

export const BODIES: readonly BodyCase[] = [...JSONS, ...FORMS, ...TEXTS, ...SEQUENCES, ...BINARIES, ...MULTIPARTS];
