// Malformed HTTP as bytes on a connection, with the expected answers: the rows of test/catalog/edge.ts that a client library could not
// send.

/** Placeholder for the token of a valid account. */
export const TOKEN = '<token>';
/** Placeholder for the path of a gateway that admits everybody. */
export const GATEWAY_PATH = '<gateway>';

export interface WireCase {
	row: number;
	id: string;
	/** The bytes to send, one character per byte. */
	bytes: string;
	/** Status of the first answer; null: the connection is closed without one. */
	status: number | null;
	/** Status of the second answer, where the bytes hold two valid requests. */
	next?: number;
}

const AUTHORIZATION = `authorization: Bearer ${TOKEN}`;
const JSON_TYPE = 'content-type: application/json';
const END = '\r\n\r\n';

export const lines = (...parts: string[]): string => `${parts.join('\r\n')}${END}`;

/** The endpoint of a gateway that must never be created. */
export const SMUGGLED_ENDPOINT = '/smuggled';
const SMUGGLED_BODY = `{"name":"smuggled","type":"mcp","endpoint":"${SMUGGLED_ENDPOINT}"}`;
/** A valid request: a server that splits the bytes before it differently from the sender would execute it. */
export const SMUGGLED = `${lines('POST /gateways HTTP/1.1', 'host: x', AUTHORIZATION, JSON_TYPE, `content-length: ${SMUGGLED_BODY.length}`)}${SMUGGLED_BODY}`;
/** A valid and harmless request. */
const NEXT = lines('GET /health/live HTTP/1.1', 'host: x', 'connection: close');

const post = (...headers: string[]): string => lines('POST /gateways HTTP/1.1', 'host: x', AUTHORIZATION, JSON_TYPE, ...headers);
const get = (...headers: string[]): string =>
	lines('GET /auth/profile HTTP/1.1', 'host: x', AUTHORIZATION, 'connection: close', ...headers);
const start = (line: string): string => lines(line, 'host: x', AUTHORIZATION, 'connection: close');
const target = (to: string): string => start(`GET ${to} HTTP/1.1`);
const text = (id: string): string => JSON.stringify(id.length > 40 ? `${id.slice(0, 40)}…` : id);

const NO_BODY = '0\r\n\r\n';
const chunked = 'transfer-encoding: chunked';

const smuggling = (id: string, before: string, status = 400): WireCase => ({ row: 33, id, bytes: before + SMUGGLED, status });
const sound = (id: string, before: string, status: number): WireCase => ({ row: 33, id, bytes: before + NEXT, status, next: 200 });

const LENGTHS: WireCase[] = [
	...[
		'-5',
		'+5',
		'0x5',
		'5,5',
		'5, 5',
		'5 5',
		'',
		'1e1',
		'5.0',
		'five',
		'5;',
		'\x0b5',
		"'5'",
		'\xd9\xa5',
		'9'.repeat(23),
		String(2n ** 64n),
	].map((length) => smuggling(`Content-Length ${text(length)}`, `${post(`content-length: ${length}`)}hello`)),
	smuggling('Content-Length of petabytes', post('content-length: 9007199254740993'), 413),
	smuggling('Content-Length of a body over the limit', post('content-length: 3000000'), 413),
	smuggling('Content-Length twice, alike', `${post('content-length: 5', 'content-length: 5')}hello`),
	smuggling('Content-Length twice, different', `${post('content-length: 5', 'content-length: 6')}hello`),
	smuggling('Content-Length with a blank before the colon', `${post('content-length : 5')}hello`),
	smuggling('Content-Length folded', `${post('content-length:\r\n 5')}hello`),
	smuggling('Content-Length shorter than the body', `${post('content-length: 2')}hello`),
	...['00000000005', ' 5 ', '5\t'].map((length) =>
		sound(`Content-Length ${text(length)}, which is five`, `${post(`content-length: ${length}`)}hello`, 400),
	),
	{
		row: 33,
		id: 'a request inside the body of a GET',
		bytes: `${get(JSON_TYPE, `content-length: ${SMUGGLED.length}`)}${SMUGGLED}`,
		status: 400,
	},
];

const TRANSFER: WireCase[] = [
	smuggling('Content-Length, then chunked', `${post('content-length: 5', chunked)}${NO_BODY}`),
	smuggling('chunked, then Content-Length', `${post(chunked, 'content-length: 5')}${NO_BODY}`),
	smuggling('Content-Length 0 beside CHUNKED', `${post('Content-Length: 0', 'Transfer-Encoding: CHUNKED')}${NO_BODY}`),
	smuggling('Content-Length beside identity', `${post('content-length: 5', 'transfer-encoding: identity')}hello`),
	smuggling('Content-Length beside xchunked', `${post('content-length: 5', 'transfer-encoding: xchunked')}hello`),
	smuggling('chunked twice', `${post(chunked, chunked)}${NO_BODY}`),
	smuggling('chunked, then identity', `${post(chunked, 'transfer-encoding: identity')}${NO_BODY}`),
	smuggling('Transfer-Encoding with a blank before the colon', `${post('transfer-encoding : chunked')}${NO_BODY}`),
	smuggling('Transfer-Encoding after a blank', `${post(' transfer-encoding: chunked')}${NO_BODY}`),
	smuggling('Transfer-Encoding folded', `${post('transfer-encoding:\r\n chunked')}${NO_BODY}`),
	smuggling('transfer_encoding, which is another header', `${post('transfer_encoding: chunked')}${NO_BODY}`),
	...['CHUNKED', 'Chunked', '\tchunked'].map((coding) =>
		sound(`Transfer-Encoding ${text(coding)}`, `${post(`transfer-encoding: ${coding}`)}${NO_BODY}`, 400),
	),
];

const CODINGS: WireCase[] = [
	'xchunked',
	'identity',
	'gzip',
	'chunked, identity',
	'chunked, chunked',
	'chunked;q=1',
	'"chunked"',
	'chunked,',
	'chunked\t',
	'\x0bchunked',
	'chunked\x0b',
	'chunked\0',
	'chunked x',
	'chun ked',
	'',
].map((coding) => ({ ...smuggling(`Transfer-Encoding ${text(coding)}`, `${post(`transfer-encoding: ${coding}`)}${NO_BODY}`), row: 34 }));

/** Requests that the parser takes for chunked, since that coding comes last. */
const LAST_CHUNKED: WireCase[] = [
	'xchunked, chunked',
	'identity, chunked',
	'gzip, chunked',
	',chunked',
	'identity\r\ntransfer-encoding: chunked',
].map((coding) => ({
	...smuggling(`Transfer-Encoding ${text(coding)}`, `${post(`transfer-encoding: ${coding}`)}${NO_BODY}`, 501),
	row: 34,
}));

const CHUNKS: WireCase[] = [
	...[
		'5 \r\nhello\r\n0',
		'0x5\r\nhello\r\n0',
		'-5\r\nhello\r\n0',
		'+5\r\nhello\r\n0',
		'\r\nhello\r\n0',
		'g\r\nhello\r\n0',
		'5_0\r\nhello\r\n0',
		`${'f'.repeat(17)}\r\nhello\r\n0`,
		'5\nhello\n0',
		'5\nhello\r\n0',
		'5\rhello\r\n0',
		'3\r\nhello\r\n0',
		'7\r\nhello\r\n0',
		'5\r\nhello0',
		'5\r\nhello\n0',
		'5;\r\nhello\r\n0',
		'5;a\n\r\nhello\r\n0',
		'5;a\rb\r\nhello\r\n0',
		'5;a b\r\nhello\r\n0',
		'5;a="\r\nhello\r\n0',
		'5;a=\0\r\nhello\r\n0',
		`5;${'a'.repeat(20_000)}\r\nhello\r\n0`,
		'0;\nx',
		'0\r\nx bad: 1',
		'0\r\ncontent-length: 5',
		'0\r\ntransfer-encoding: chunked',
	].map((chunks) => smuggling(`the chunks ${text(chunks)}`, `${post(chunked)}${chunks}${END}`)),
	smuggling('trailers that end in bare LF', `${post(chunked)}0\r\nx: 1\n\n`),
	smuggling('a trailer of 20 KB', `${post(chunked)}0\r\nx: ${'a'.repeat(20_000)}${END}`, 431),
	...['5;ext=1\r\nhello\r\n0', '5;a=b;c="d"\r\nhello\r\n0', `${'0'.repeat(19)}5\r\nhello\r\n0`].map((chunks) =>
		sound(`the chunks ${text(chunks)}, which are five bytes`, `${post(chunked)}${chunks}${END}`, 400),
	),
	...['x-trailer: 1', 'host: evil.example', '__proto__: 1', 'x-organization-id: evil'].map((trailer) =>
		sound(`the trailer ${text(trailer)}, which is nobody's`, `${post(chunked)}0\r\n${trailer}${END}`, 400),
	),
	sound(
		'a credential that comes as a trailer',
		`${lines('POST /gateways HTTP/1.1', 'host: x', JSON_TYPE, chunked, 'trailer: authorization')}0\r\n${AUTHORIZATION}${END}`,
		401,
	),
];

const LINES: WireCase[] = [
	...['x-a: 1\r\n 2', 'x-a: 1\r\n\t2'].map((header) => smuggling(`a header folded: ${text(header)}`, get(header))),
	smuggling('the first header folded', 'GET /auth/profile HTTP/1.1\r\n host: x\r\n\r\n'),
	smuggling('bare LF everywhere', 'GET /health/live HTTP/1.1\nhost: x\n\n'),
	smuggling('bare LF after the first line', 'GET /health/live HTTP/1.1\nhost: x\r\n\r\n'),
	smuggling('bare LF after a header', 'GET /health/live HTTP/1.1\r\nhost: x\nx-a: 1\r\n\r\n'),
	smuggling('bare LF for the last line', 'GET /health/live HTTP/1.1\r\nhost: x\r\n\n'),
	smuggling('bare CR in a header', 'GET /health/live HTTP/1.1\r\nhost: x\r\nx-a: 1\rx-b: 2\r\n\r\n'),
	smuggling('bare CR everywhere', 'GET /health/live HTTP/1.1\rhost: x\r\r'),
	smuggling('CR CR LF after a header', 'GET /health/live HTTP/1.1\r\nhost: x\r\r\n\r\n'),
	...['get /health/live', 'FOO /health/live', 'GET\t/health/live', ' GET /health/live', ''].map((line) =>
		smuggling(`the first line ${text(line)}`, start(`${line} HTTP/1.1`)),
	),
	...['HTTP/1.2', 'HTTP/9.9', 'HTTP/1', 'HTTP/01.1', 'HTTP/11', 'http/1.1', 'HTTPS/1.1', 'ICE/1.0', 'HTTP/1.1 x', 'HTTP/1.1 '].map(
		(version) => smuggling(`the version ${text(version)}`, lines(`GET /health/live ${version}`, 'host: x')),
	),
	{ row: 33, id: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', status: 400 },
	{ row: 33, id: 'a greeting of TLS', bytes: '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', status: 400 },
	smuggling('a greeting of SSH', 'SSH-2.0-x\r\n'),
	smuggling('a command for Redis', 'SET a b\r\n'),
	smuggling('a header of the PROXY protocol', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${get()}`),
	smuggling('no HTTP at all', 'hello\r\n\r\n'),
	smuggling('NULs', '\0\0\0\0'),
	{ row: 33, id: 'CONNECT, which would be a tunnel', bytes: start('CONNECT evil.example:443 HTTP/1.1') + SMUGGLED, status: 405 },
	{ row: 33, id: 'TRACE', bytes: start('TRACE /acme/main HTTP/1.1'), status: 405 },
	{ row: 33, id: 'HTTP/1.0', bytes: start('GET /health/live HTTP/1.0'), status: 200 },
];

const HEADERS: WireCase[] = [
	...[
		'x odd: 1',
		'x\todd: 1',
		'x-odd : 1',
		': 1',
		'x\0: 1',
		'x\x01: 1',
		'x\x7f: 1',
		'x(odd): 1',
		'x@odd: 1',
		'"x": 1',
		'x[a]: 1',
		'x\xe4: 1',
		'x',
		'x=1',
	].map((header) => ({ ...smuggling(`a header named ${text(header)}`, get(header)), row: 37 })),
	...['a\0b', 'a\x01b', 'a\x1bb', 'a\x7fb'].map((value) => ({ ...smuggling(`a header of ${text(value)}`, get(`x: ${value}`)), row: 37 })),
	{ row: 37, id: '1,600 headers', bytes: get(...Array.from({ length: 1600 }, (_none, at) => `x${at}: 1`)), status: 431 },
	{ row: 37, id: '1,600 headers of no value', bytes: get(...Array.from({ length: 1600 }, () => 'a:')), status: 431 },
	{ row: 37, id: '100,000 headers', bytes: get(Array.from({ length: 100_000 }, () => 'a:').join('\r\n')), status: 431 },
	{ row: 37, id: 'a header of 20 KB', bytes: get(`x: ${'a'.repeat(20_000)}`), status: 431 },
	{ row: 37, id: 'a header named by 20 KB', bytes: get(`${'a'.repeat(20_000)}: x`), status: 431 },
	{ row: 37, id: 'a cookie of 20 KB', bytes: get(`cookie: a=${'a'.repeat(20_000)}`), status: 431 },
	{ row: 37, id: 'a path of 20 KB', bytes: target(`/${'a'.repeat(20_000)}`), status: 431 },
	{ row: 37, id: 'a path of 15 KB', bytes: target(`/${'a'.repeat(15_000)}`), status: 404 },
	{ row: 37, id: 'a path of 7,000 segments', bytes: target(`/${'a/'.repeat(7000)}`), status: 404 },
	{ row: 37, id: 'a query of 3,000 parameters', bytes: target(`/gateways?${'a=1&'.repeat(3000)}`), status: 400 },
	...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'].map((name) => ({
		row: 38,
		id: `a header named ${name}`,
		bytes: get(`${name}: 1`),
		status: 200,
	})),
];

/** Absolute and other forms of the target: the path alone decides which resource is requested. */
const TARGETS: WireCase[] = [
	...[
		'http://evil.example/health/live',
		'https://evil.example:8443/health/live',
		'http://user:pw@evil.example/health/live',
		'/health/live#x',
		'/./health/live',
		'/auth/%2e%2e/health/live',
	].map((to) => ({ row: 35, id: `the target ${text(to)}`, bytes: target(to), status: 200 })),
	...[
		'http://evil.example',
		'//evil.example/health/live',
		'///health/live',
		'/\\evil.example',
		'/health/live\\',
		'/health//live',
		'/health/live;x=1',
		'/gateways/..%2fauth%2fprofile',
		'/x/y?api_key=%zz',
	].map((to) => ({ row: 35, id: `the target ${text(to)}`, bytes: target(to), status: 404 })),
	...[
		'http://',
		'http://[::1/health/live',
		'http://%00/health/live',
		'http:/health/live',
		'evil.example:443',
		'javascript:alert(1)',
		'health/live',
		'\\health',
		'?x=1',
		'/health/\tlive',
		'/health/\x01live',
		'/health/\x80live',
		'/health/live ?x',
		'/%',
		'/%zz',
		'/x/y/%zz',
		'/%c0%ae%c0%ae/',
		'/.well-known/x/%zz/y',
	].map((to) => ({ row: 35, id: `the target ${text(to)}`, bytes: target(to), status: 400 })),
	...['x-http-method-override: DELETE', 'x-original-url: /gateways', 'x-rewrite-url: /gateways', 'x-forwarded-prefix: //evil.example'].map(
		(header) => ({ row: 35, id: `${header}, which is not heard`, bytes: get(header), status: 200 }),
	),
];

/** Builds a request with these headers, which name its host. */
const hosted = (...headers: string[]): string => lines('GET /auth/profile HTTP/1.1', ...headers, AUTHORIZATION, 'connection: close');
const HOSTS: WireCase[] = [
	{ row: 35, id: 'no Host', bytes: hosted(), status: 400 },
	{ row: 35, id: 'no Host in HTTP/1.0', bytes: lines('GET /health/live HTTP/1.0'), status: 200 },
	smuggling('a request after one with two Hosts', lines('GET /health/live HTTP/1.1', 'host: x', 'host: y')),
	{ row: 35, id: 'two Hosts', bytes: hosted('host: x', 'host: evil.example'), status: 400 },
	{ row: 35, id: 'two Hosts, alike', bytes: hosted('Host: x', 'hOST: x'), status: 400 },
	...['x y', 'a/b', 'user@x', 'x, y', '<script>', '[::1', '%', 'x:y', 'http://x'].map((host) => ({
		row: 35,
		id: `the Host ${text(host)}`,
		bytes: hosted(`host: ${host}`),
		status: 400,
	})),
	...['x', 'x:1', '[::1]:1', 'a.b.example:', '127.0.0.1'].map((host) => ({
		row: 35,
		id: `the Host ${text(host)}, which is one`,
		bytes: hosted(`host: ${host}`),
		status: 200,
	})),
	smuggling('a request after one that closes the connection', lines('GET /health/live HTTP/1.1', 'host: x', 'connection: close')),
	smuggling(
		'a request after one that closes it among other things',
		lines('GET /health/live HTTP/1.1', 'host: x', 'connection: te, Close'),
	),
	{ row: 35, id: 'the target *', bytes: start('GET * HTTP/1.1'), status: 400 },
	{ row: 35, id: 'the target * of a POST', bytes: start('POST * HTTP/1.1'), status: 400 },
	...['HTTP/0.9', 'HTTP/2.0'].map((version) => smuggling(`the version ${text(version)}`, lines(`GET /health/live ${version}`, 'host: x'))),
	smuggling('HTTP/0.9 without a version', 'GET /health/live\r\n\r\n'),
	...['200-ok', 'x', '100-continue, x'].map((expectation) => ({
		row: 37,
		id: `the expectation ${expectation}, which is passed over`,
		bytes: get(`expect: ${expectation}`),
		status: 200,
	})),
];

export const WIRE_CASES: WireCase[] = [
	...HOSTS,
	...LENGTHS,
	...TRANSFER,
	...CODINGS,
	...LAST_CHUNKED,
	...CHUNKS,
	...LINES,
	...HEADERS,
	...TARGETS,
];

/** A slow client: the bytes that it sends at once, and those that it adds every 200 ms. */
export const SLOW_CASES: { row: number; id: string; begins: string; adds: string }[] = [
	{ row: 36, id: 'nothing at all', begins: '', adds: '' },
	{ row: 36, id: 'half a first line', begins: 'GET /hea', adds: '' },
	{
		row: 36,
		id: 'a header that never ends, byte by byte',
		begins: 'GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ',
		adds: 'a',
	},
	{ row: 36, id: 'headers without end', begins: 'GET /health HTTP/1.1\r\nhost: x\r\n', adds: 'a:\r\n' },
	{ row: 36, id: 'a body that never comes', begins: post('content-length: 1000'), adds: '' },
	{ row: 36, id: 'a body byte by byte', begins: post('content-length: 1000'), adds: ' ' },
	{ row: 36, id: 'chunks without end', begins: post(chunked), adds: '1\r\n \r\n' },
	{ row: 36, id: 'one chunk of 16 exabytes', begins: `${post(chunked)}${'f'.repeat(16)}\r\n`, adds: ' ' },
	{
		row: 36,
		id: 'a body for a public route',
		begins: lines('POST /auth/login HTTP/1.1', 'host: x', JSON_TYPE, 'content-length: 1000'),
		adds: ' ',
	},
	{
		row: 36,
		id: 'a body for a gateway',
		begins: lines(`POST ${GATEWAY_PATH} HTTP/1.1`, 'host: x', JSON_TYPE, 'content-length: 1000'),
		adds: ' ',
	},
];
