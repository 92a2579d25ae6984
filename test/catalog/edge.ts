// Hostile requests to the HTTP edge, as data: `row` groups the cases of one threat; a test runs each case, and another counts the rows.
// Requests that no client library could send are in wire.ts.

export interface InputCase {
	/** Null: the case belongs to no threat, but its answer must have the common form. */
	row: number | null;
	id: string;
	method?: string;
	path: string;
	/** The body; a string is sent unchanged. */
	body?: unknown;
	headers?: Record<string, string>;
	status: number;
	error: string;
	/** A path that `details` must name. */
	names?: string;
}

const NOBODY = '00000000-0000-4000-8000-000000000000';
const GATEWAY = { name: 'g', type: 'mcp', endpoint: '/g' };
/** Placeholders for the ids of the account's organization, gateway, tool and API. */
export const IDS = { organization: '<organization>', gateway: '<gateway>', tool: '<tool>', api: '<api>' } as const;
const TOOLS = `/organizations/${IDS.organization}/tools`;
const TOOL = { name: 't', type: 'http', executionConfig: { method: 'GET', url: 'https://example.com/' } };
const KEYS = `/gateways/${IDS.gateway}/auth/api-keys`;
const OPTIONS = `/gateways/${IDS.gateway}/tools/${IDS.tool}`;

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const text = (value: unknown): string => {
	const shown = JSON.stringify(value) ?? String(value);
	return shown.length > 50 ? `${shown.slice(0, 50)}…` : shown;
};

const refused = { status: 400, error: 'VALIDATION_FAILED' } as const;
const missing = { status: 404, error: 'NOT_FOUND' } as const;

const posting = (row: number | null, id: string, body: unknown, names?: string): InputCase => ({
	row,
	id,
	method: 'POST',
	path: '/gateways',
	body,
	...refused,
	...(names !== undefined && { names }),
});

const ROUTING: InputCase[] = [
	{ row: null, id: 'unknown route', path: '/nothing', ...missing },
	{ row: null, id: 'root', path: '/', ...missing },
	{ row: null, id: 'mistyped management path', path: '/health/zz', ...missing },
	{ row: null, id: 'reserved first segment in capitals', path: '/Gateways/x', ...missing },
	{ row: null, id: 'first segment with a dot', path: '/.env/x', ...missing },
	{ row: null, id: 'first segment with @', path: '/@acme/x', ...missing },
	...['PUT', 'PROPFIND', 'QUERY', 'PURGE', 'M-SEARCH', 'LOCK'].map((method) => ({
		row: null,
		id: `${method}, which no management path takes`,
		method,
		path: '/gateways',
		status: 405,
		error: 'METHOD_NOT_ALLOWED',
	})),
	{ row: null, id: 'unknown gateway', method: 'POST', path: '/nobody/nothing', ...missing },
	{ row: null, id: 'well-known of an unknown gateway', path: '/.well-known/oauth-protected-resource/nobody/nothing', ...missing },
	{
		row: null,
		id: 'organization header of nobody',
		path: '/gateways',
		headers: { 'x-organization-id': 'x' },
		status: 400,
		error: 'NO_ORGANIZATION',
	},
	{ row: null, id: 'empty change', method: 'PATCH', path: `/gateways/${NOBODY}`, body: {}, ...refused },
];

const BODIES: InputCase[] = [
	posting(null, 'malformed JSON', '{"name":'),
	posting(null, 'no body', undefined),
	posting(null, 'an array for a body', []),
	posting(null, 'a string for a body', '"x"'),
	posting(null, 'null for a body', 'null'),
	posting(null, 'a number for a body', '1e999'),
	posting(null, 'two documents', '{}{}'),
	posting(null, 'a byte order mark', '\ufeff{}'),
	posting(null, 'no UTF-8', Buffer.from('{"name":"\xff"}', 'latin1')),
	posting(null, 'UTF-16', Buffer.from('{"name":"x"}', 'utf16le')),
	posting(null, 'NUL in a string', { ...GATEWAY, name: 'a\0b' }, '/name'),
	posting(null, 'NUL in a key', { ...GATEWAY, 'a\0b': 1 }),
	posting(null, 'lone surrogate', '{"name":"\\ud800","type":"mcp","endpoint":"/g"}', '/name'),
	posting(null, '400,000 levels of JSON', `{"name":"g","configuration":${deep(400_000)}}`),
	posting(null, '65 levels of JSON', `{"name":"g","type":"mcp","endpoint":"/g","configuration":{"a":${deep(65)}}}`),
	{ ...posting(null, '2 MB body', { name: 'x'.repeat(2_000_000) }), status: 413, error: 'PAYLOAD_TOO_LARGE' },
	{ ...posting(null, 'a compressed body', '{}'), headers: { 'content-encoding': 'gzip' }, status: 415, error: 'UNSUPPORTED_MEDIA_TYPE' },
	posting(null, 'unknown gateway type', { ...GATEWAY, type: 'ftp' }, '/type'),
	posting(null, 'two segments for an endpoint', { ...GATEWAY, endpoint: '/a/b' }, '/endpoint'),
	posting(null, 'unknown field', { ...GATEWAY, owner: 1 }, '/owner'),
	...['id', 'organizationId', 'status', 'toolCount', 'url', 'version', 'createdAt'].map((field) =>
		posting(null, `mass assignment of ${field}`, { ...GATEWAY, [field]: NOBODY }, `/${field}`),
	),
];

/** Member names with a meaning in JavaScript, in bodies that are objects. */
const POLLUTION: InputCase[] = [
	posting(38, '__proto__', '{"__proto__":{"polluted":1},"name":"g","type":"mcp","endpoint":"/g"}'),
	posting(38, '__proto__ escaped', '{"\\u005f_proto__":{"polluted":1}}'),
	posting(38, '__proto__ escaped in the middle', '{"__pr\\u006fto__":{"polluted":1}}'),
	posting(38, '__proto__ that is null', '{"__proto__":null,"name":"g","type":"mcp","endpoint":"/g"}'),
	posting(38, '__proto__ in an array', '{"name":"g","type":"mcp","endpoint":"/g","configuration":{"a":[{"__proto__":{"polluted":1}}]}}'),
	posting(38, '__proto__ inside', '{"name":"g","type":"mcp","endpoint":"/g","configuration":{"a":{"__proto__":{"polluted":1}}}}'),
	...['constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf', '__defineGetter__', '__lookupSetter__'].map((name) =>
		posting(38, `the field ${name}`, { ...GATEWAY, [name]: { prototype: { polluted: 1 } } }, `/${name}`),
	),
	posting(38, 'constructor.prototype inside', { ...GATEWAY, configuration: { constructor: { prototype: { polluted: 1 } } } }),
	{
		...posting(38, '__proto__ in the parameters of a tool', `{"name":"t","type":"http","parameters":{"__proto__":{"polluted":1}}}`),
		path: TOOLS,
	},
	{ ...posting(38, '__proto__ in arguments', '{"parameters":{"__proto__":{"polluted":1}}}'), path: `${TOOLS}/${IDS.tool}/execute` },
	{ ...posting(38, '__proto__ in the filters of a generation', '{"__proto__":{"tags":["a"]}}'), path: `/apis/${IDS.api}/generate-tools` },
	{
		...posting(38, '__proto__ in an import', '{"schemaContent":"{}","__proto__":{"generateTools":true}}'),
		path: `/apis/${IDS.api}/import-schema`,
	},
	{ ...posting(38, '__proto__ in a login', '{"email":"a@example.com","password":"x","__proto__":{"polluted":1}}'), path: '/auth/login' },
	{
		...posting(38, '__proto__ in the rules of a method', '{"type":"none","validationRules":{"__proto__":{"polluted":1}}}'),
		path: `/gateways/${IDS.gateway}/auth`,
	},
	{ ...posting(38, '__proto__ for a type', { ...GATEWAY, type: '__proto__' }, '/type') },
	{ ...posting(38, 'constructor for a type', { ...GATEWAY, type: 'constructor' }, '/type') },
	{ ...posting(38, 'toString for a method', { type: 'toString' }), path: `/gateways/${IDS.gateway}/auth` },
	...[
		'__proto__=1',
		'__proto__[polluted]=1',
		'__proto__.polluted=1',
		'constructor[prototype][polluted]=1',
		'constructor=1',
		'prototype=1',
		'hasOwnProperty=1',
		'toString=1',
		'%5f_proto__=1',
	].map((query): InputCase => ({ row: 38, id: `the query ${query}`, path: `/gateways?${query}`, ...refused })),
];

/** Lists, each with the query parameters that may occur only once. */
const LISTS: Record<string, string[]> = {
	'/gateways': ['limit=1', 'cursor=x', 'sort=name', 'q=a', 'type=mcp', 'status=active'],
	'/apis': ['limit=1', 'sort=name', 'q=a', 'type=openapi'],
	[TOOLS]: ['limit=1', 'sort=name', 'q=a', `apiId=${NOBODY}`, 'status=active'],
	'/audit-log': ['limit=1', 'since=2026-01-01', 'action=create', `actorId=${NOBODY}`],
	'/access-keys': ['limit=1', 'sort=createdAt'],
	[`/organizations/${IDS.organization}/members`]: ['limit=1'],
	[`/gateways/${IDS.gateway}/tools/available`]: ['q=a'],
};

const TWICE: InputCase[] = Object.entries(LISTS).flatMap(([path, parameters]) =>
	parameters.map((parameter) => ({
		row: 39,
		id: `${parameter} twice, of ${path}`,
		path: `${path}?${parameter}&${parameter}`,
		...refused,
		names: `query/${parameter.split('=')[0]}`,
	})),
);

const QUERIES: InputCase[] = [
	...TWICE,
	...['limit[]=1', 'limit[0]=1', 'q[like]=%25', 'q%5B%5D=a', 'status[$ne]=active', 'Limit=1', 'limit%00=1'].map((query) => ({
		row: 39,
		id: `the query ${query}`,
		path: `/gateways?${query}`,
		...refused,
	})),
	{
		row: 39,
		id: 'ifUnused twice',
		method: 'DELETE',
		path: `/gateways/${NOBODY}?ifUnused=true&ifUnused=false`,
		...refused,
		names: 'query/ifUnused',
	},
	{ row: 39, id: 'name twice', path: '/auth/check-organization-name?name=a&name=b', ...refused, names: 'query/name' },
	{ row: 39, id: 'a query where none is taken', path: '/auth/profile?x=1', ...refused, names: 'query/x' },
	{ row: 39, id: 'a query on a POST', method: 'POST', path: '/gateways?dryRun=true', body: GATEWAY, ...refused, names: 'query/dryRun' },
];

/** Values for which PostgreSQL would report 22P02. */
const NO_UUIDS = [
	"1'%20or%20'1'='1",
	'1',
	'-1',
	'0',
	'null',
	'undefined',
	'%20',
	'*',
	'%25',
	NOBODY.slice(1),
	`${NOBODY}0`,
	`%7B${NOBODY}%7D`,
	`urn:uuid:${NOBODY}`,
	'ffffffff-ffff-ffff-ffff-fffffffffffg',
	'%F0%9F%98%80',
	'a'.repeat(5000),
];
const BY_ID: [method: string, path: (id: string) => string][] = [
	['GET', (id) => `/gateways/${id}`],
	['DELETE', (id) => `/apis/${id}`],
	['GET', (id) => `/tools/${id}`],
	['DELETE', (id) => `/gateways/${IDS.gateway}/auth/${id}`],
	['DELETE', (id) => `/gateways/${IDS.gateway}/tools/${id}`],
	['GET', (id) => `/organizations/${id}/tools`],
	['DELETE', (id) => `/access-keys/${id}`],
];

const IDENTIFIERS: InputCase[] = [
	...BY_ID.flatMap(([method, path]) =>
		NO_UUIDS.map((id) => ({ row: 40, id: `${method} ${path('{id}')} with ${text(id)}`, method, path: path(id), ...missing })),
	),
	{ row: 40, id: 'NUL in a path', path: '/gateways/%00', ...refused },
	{ row: 40, id: 'NUL after an id', path: `/gateways/${NOBODY}%00`, ...refused },
	{ row: 40, id: 'broken percent-encoding', path: '/gateways/%E0%A4%A', ...refused },
	{ row: 40, id: 'half a surrogate pair in a path', path: '/gateways/%ED%A0%80', ...refused },
	...["'", 'x', NOBODY.slice(1), 'a'.repeat(5000)].map((id) => ({
		...posting(40, `toolId ${text(id)}`, { toolId: id }, '/toolId'),
		path: `/gateways/${IDS.gateway}/tools`,
	})),
	{
		...posting(
			40,
			'2,001 tools',
			{ toolIds: Array.from({ length: 2001 }, (_none, at) => `${NOBODY.slice(0, -4)}${at + 1000}`) },
			'/toolIds',
		),
		path: `/gateways/${IDS.gateway}/tools/bulk`,
	},
	...['x', 'eyJ', '"', 'gateways:1', 'a'.repeat(900), 'Z2F0ZXdheXM6OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk'].map((cursor) => ({
		row: 40,
		id: `the cursor ${text(cursor)}`,
		path: `/gateways?cursor=${encodeURIComponent(cursor)}`,
		...refused,
		names: 'query/cursor',
	})),
	{ row: 40, id: 'an actor that is no id', path: "/audit-log?actorId=' or 1=1", ...refused, names: 'query/actorId' },
	{ row: 40, id: 'an API that is no id', path: `${TOOLS}?apiId=x`, ...refused, names: 'query/apiId' },
];

/** Numbers that are too large, too small or invalid: 22003, 2201W. */
const NUMBERS: InputCase[] = [
	...[
		'0',
		'-1',
		'101',
		'1.5',
		'1e9',
		'99999999999999999999',
		'2147483648',
		'NaN',
		'Infinity',
		'-Infinity',
		'0x10',
		'١',
		'',
		' ',
		'1;',
		'null',
	].map((limit) => ({
		row: 40,
		id: `limit ${text(limit)}`,
		path: `/gateways?limit=${encodeURIComponent(limit)}`,
		...refused,
		names: 'query/limit',
	})),
	...['2147483648', '9223372036854775808', '1e400', '-1', '0', '1.5', '"60"', 'true', '[60]', '{"gt":0}'].map((limit) => ({
		row: 40,
		id: `rateLimit ${limit}`,
		method: 'PATCH',
		path: OPTIONS,
		body: `{"rateLimit":${limit}}`,
		...refused,
		names: '/rateLimit',
	})),
	...['maxConcurrent', 'minTimeMs', 'maxQueued', 'maxWaitMs'].map((field) => ({
		row: 40,
		id: `outbound.${field} of 2^53`,
		method: 'PATCH',
		path: `/apis/${IDS.api}`,
		body: { outbound: { maxConcurrent: 1, [field]: 2 ** 53 } },
		...refused,
		names: `/outbound/${field}`,
	})),
];

const LATE = [
	'+275760-09-13',
	'10000-01-01',
	'0000-01-01',
	'1969-12-31',
	'2026-02-30',
	'2026-13-01',
	'2026-01-01T24:00:01Z',
	'2026-01-01 12:00',
	'2026-01-01T12:00:00',
	'infinity',
	'now',
	'yesterday',
	'1767225600',
	'-1',
	"2026-01-01'",
	'٢٠٢٦-01-01',
];

/** Timestamps that are invalid or outside PostgreSQL's range: 22007, 22008. */
const TIMES: InputCase[] = [
	...LATE.map((at) => ({ ...posting(40, `expiresAt ${text(at)}`, { name: 'k', expiresAt: at }, '/expiresAt'), path: KEYS })),
	...[1767225600, true, {}, ['2099-01-01']].map((at) => ({
		...posting(40, `expiresAt ${text(at)}`, { name: 'k', expiresAt: at }, '/expiresAt'),
		path: KEYS,
	})),
	{ ...posting(40, 'expiresAt in the past', { name: 'k', expiresAt: '2020-01-01' }, '/expiresAt'), path: KEYS },
	...LATE.map((at) => ({
		row: 40,
		id: `since ${text(at)}`,
		path: `/audit-log?since=${encodeURIComponent(at)}`,
		...refused,
		names: 'query/since',
	})),
];

const long = (length: number): string => 'x'.repeat(length);

/** Texts that are longer than can be stored: 22001, 54000. */
const TEXTS: InputCase[] = [
	posting(40, 'a name of 201 characters', { ...GATEWAY, name: long(201) }, '/name'),
	posting(40, 'a name of blanks', { ...GATEWAY, name: '   ' }, '/name'),
	posting(40, 'an empty name', { ...GATEWAY, name: '' }, '/name'),
	posting(40, 'a description of 10,001 characters', { ...GATEWAY, description: long(10_001) }, '/description'),
	posting(40, 'an endpoint of 65 characters', { ...GATEWAY, endpoint: `/${long(65)}` }, '/endpoint'),
	...['/', '', '//', '/a b', '/ä', '/a?b', '/a#b', '/..', '/a%2fb', '/a\n'].map((endpoint) =>
		posting(40, `the endpoint ${text(endpoint)}`, { ...GATEWAY, endpoint }, '/endpoint'),
	),
	posting(40, 'a type of 100 KB', { ...GATEWAY, type: long(100_000) }, '/type'),
	{ ...posting(40, 'code of 262,145 characters', { ...TOOL, code: long(262_145) }, '/code'), path: TOOLS },
	{
		...posting(
			40,
			'a base URL of 3,000 characters',
			{ name: 'a', type: 'openapi', baseUrl: `https://example.com/${long(3000)}` },
			'/baseUrl',
		),
		path: '/apis',
	},
	{ ...posting(40, 'an address of 300 characters', { email: `${long(300)}@example.com` }, '/email'), path: '/auth/forgot-password' },
	{
		row: 40,
		id: 'a name for the gateway of 65 characters',
		method: 'PATCH',
		path: OPTIONS,
		body: { name: long(65) },
		...refused,
		names: '/name',
	},
	{ row: 40, id: 'words of 201 characters', path: `/gateways?q=${long(201)}`, ...refused, names: 'query/q' },
	{ row: 40, id: 'eleven words', path: '/gateways?q=a+b+c+d+e+f+g+h+i+j+k', ...refused, names: 'query/q' },
	{
		row: 40,
		id: 'an Idempotency-Key of 256 characters',
		method: 'POST',
		path: '/gateways',
		body: GATEWAY,
		headers: { 'idempotency-key': long(256) },
		...refused,
		names: 'header/idempotency-key',
	},
	{
		row: 40,
		id: 'an Idempotency-Key of nothing',
		method: 'POST',
		path: '/gateways',
		body: GATEWAY,
		headers: { 'idempotency-key': '' },
		...refused,
		names: 'header/idempotency-key',
	},
	...['"99999999999999999999"', '"-1"', '"1e3"', 'W/"1"', "'"].map((tag) => ({
		row: 40,
		id: `If-Match ${tag}`,
		method: 'PATCH',
		path: `/gateways/${IDS.gateway}`,
		body: { name: 'lost' },
		headers: { 'if-match': tag },
		status: 412,
		error: 'PRECONDITION_FAILED',
	})),
];

/** Values that an ORM would take for a condition, or that a driver would misread. */
const ODD: unknown[] = [{ like: '%' }, { $ne: null }, ['a'], [], 7, true, null];

const TYPES: InputCase[] = [
	...ODD.map((value) => posting(41, `name ${text(value)}`, { ...GATEWAY, name: value }, '/name')),
	...ODD.map((value) => posting(41, `endpoint ${text(value)}`, { ...GATEWAY, endpoint: value }, '/endpoint')),
	...ODD.map((value) => posting(41, `type ${text(value)}`, { ...GATEWAY, type: value }, '/type')),
	...ODD.map((value) => ({
		...posting(41, `email ${text(value)} at the login`, { email: value, password: 'x' }, '/email'),
		path: '/auth/login',
	})),
	...ODD.map((value) => ({
		...posting(41, `password ${text(value)} at the login`, { email: 'a@example.com', password: value }, '/password'),
		path: '/auth/login',
	})),
	...ODD.map((value) => ({
		...posting(41, `token ${text(value)} of an invitation`, { token: value }, '/token'),
		path: '/invitations/accept',
	})),
	...ODD.map((value) => ({
		...posting(41, `toolId ${text(value)}`, { toolId: value }, '/toolId'),
		path: `/gateways/${IDS.gateway}/tools`,
	})),
	...['{}', '"x"', '1', 'true', 'null']
		.map((value) =>
			posting(41, `configuration ${value}, if it is no object`, `{"name":"g","type":"mcp","endpoint":"/g","configuration":${value}}`),
		)
		.filter(({ id }) => !id.includes('{}')),
	...['[]', '"active"', '["active"]', '{"in":["active"]}', '1']
		.map((value) => ({
			row: 41,
			id: `status ${value}, if it is no status`,
			method: 'PATCH',
			path: `/gateways/${IDS.gateway}`,
			body: `{"status":${value}}`,
			...refused,
			names: '/status',
		}))
		.filter(({ body }) => body !== '{"status":"active"}'),
];

const ORDERS = [
	'sort=password_hash',
	'sort=id',
	'sort=name,createdAt',
	'sort=--name',
	'sort=%2Bname',
	'sort=NAME',
	'sort=name%20asc',
	'sort=name;drop%20table%20tools',
	'sort=1',
	'sort=',
	'sort=-',
	'sort=__proto__',
	'sort=toString',
	'sort=(select%201)',
];

const SORTS: InputCase[] = [
	...['/gateways', '/apis', TOOLS].flatMap((path) =>
		ORDERS.map((query) => ({ row: 42, id: `${query} of ${path}`, path: `${path}?${query}`, ...refused, names: 'query/sort' })),
	),
	...['/access-keys', '/audit-log', `/gateways/${IDS.gateway}/tools`].map((path) => ({
		row: 42,
		id: `sort=name of ${path}, which has none`,
		path: `${path}?sort=name`,
		...refused,
		names: 'query/sort',
	})),
	...['order=name', 'orderBy=name', 'sort_by=name', 'offset=1', 'page=2', 'fields=id', 'include=secrets', 'where=1'].map((query) => ({
		row: 42,
		id: query,
		path: `/gateways?${query}`,
		...refused,
		names: `query/${query.split('=')[0]}`,
	})),
];

export const INPUT_CASES: InputCase[] = [
	...ROUTING,
	...BODIES,
	...POLLUTION,
	...QUERIES,
	...IDENTIFIERS,
	...NUMBERS,
	...TIMES,
	...TEXTS,
	...TYPES,
	...SORTS,
];

// ── hosts that a request claims ── ─────────────────────────────────────────────────────────────────────────────────

/** The host of attackers, which must not appear in any address that the service returns. */
export const EVIL = 'evil.example';

export interface HostCase {
	row: number;
	id: string;
	host: string;
	/** The origin before the path, in the absolute form of the target. */
	origin?: string;
	headers?: string[];
}

export const HOST_CASES: HostCase[] = [
	{ row: 35, id: 'another Host', host: EVIL },
	{ row: 35, id: 'a Host with a port', host: `${EVIL}:443` },
	{ row: 35, id: 'a Host in capitals', host: EVIL.toUpperCase() },
	{ row: 35, id: 'a target of another origin', host: 'x', origin: `http://${EVIL}` },
	{ row: 35, id: 'a target of another origin with a password', host: 'x', origin: `https://a:b@${EVIL}:8443` },
	...[
		`x-forwarded-host: ${EVIL}`,
		`forwarded: host=${EVIL};proto=https`,
		`x-forwarded-server: ${EVIL}`,
		`x-host: ${EVIL}`,
		`x-original-host: ${EVIL}`,
		`x-http-host-override: ${EVIL}`,
		`x-forwarded-for: ${EVIL}`,
		`x-original-url: //${EVIL}/`,
		`x-forwarded-prefix: //${EVIL}`,
		`origin: https://${EVIL}`,
		`referer: https://${EVIL}/`,
	].map((header) => ({ row: 35, id: header, host: 'x', headers: [header] })),
	{
		row: 35,
		id: 'all of them at once',
		host: EVIL,
		origin: `http://${EVIL}`,
		headers: [`x-forwarded-host: ${EVIL}`, 'x-forwarded-proto: https', 'x-forwarded-port: 1'],
	},
];

// ── permissions of pages ── ────────────────────────────────────────────────────────────────────────────────────────

/** An origin derived from that of an allowed page. */
export interface OriginCase {
	row: number;
	id: string;
	make(own: URL): string;
}

/** Origins whose pages may neither read an answer with credentials nor change anything with the cookie. */
export const ORIGIN_CASES: OriginCase[] = [
	{ row: 43, id: 'a stranger', make: () => `https://${EVIL}` },
	{ row: 43, id: 'null', make: () => 'null' },
	{ row: 43, id: 'its own name below a stranger’s', make: ({ protocol, host }) => `${protocol}//${host}.${EVIL}` },
	{ row: 43, id: 'its own name at the end of a stranger’s', make: ({ protocol, host }) => `${protocol}//evil${host}` },
	{ row: 43, id: 'a subdomain', make: ({ protocol, host }) => `${protocol}//a.${host}` },
	{ row: 43, id: 'another port', make: ({ protocol, hostname }) => `${protocol}//${hostname}:1` },
	{ row: 43, id: 'no port', make: ({ protocol, hostname }) => `${protocol}//${hostname}` },
	{ row: 43, id: 'another scheme', make: ({ host }) => `https://${host}` },
	{ row: 43, id: 'no scheme', make: ({ host }) => host },
	{ row: 43, id: 'a scheme of one’s own', make: ({ host }) => `chrome-extension://${host}` },
	{ row: 43, id: 'capitals', make: ({ origin }) => origin.toUpperCase() },
	{ row: 43, id: 'a slash more', make: ({ origin }) => `${origin}/` },
	{ row: 43, id: 'a path', make: ({ origin }) => `${origin}/a` },
	{ row: 43, id: 'itself as a password', make: ({ protocol, host }) => `${protocol}//${host}@${EVIL}` },
	{ row: 43, id: 'itself and a stranger', make: ({ origin }) => `${origin}, https://${EVIL}` },
	{ row: 43, id: 'a stranger and itself', make: ({ origin }) => `https://${EVIL} ${origin}` },
	{ row: 43, id: 'a wildcard', make: () => '*' },
	{ row: 43, id: 'a file', make: () => 'file://' },
	{ row: 43, id: 'nothing', make: () => '' },
];

/** Parameter names that services commonly use for the address of a redirect. */
export const REDIRECT_NAMES = [
	'next',
	'redirect',
	'redirect_uri',
	'redirectUri',
	'return',
	'returnTo',
	'return_to',
	'continue',
	'url',
	'callback',
];
export const REDIRECT_TARGETS = [
	`//${EVIL}`,
	`/\\${EVIL}`,
	`https:${EVIL}`,
	`https://${EVIL}`,
	'%2f%2fevil.example',
	'javascript:alert(1)',
];

/** Requests with the cookie of a login that a form or script of another page can make a browser send. */
export const CSRF_METHODS: { method: string; path: string; body?: object }[] = [
	{ method: 'POST', path: '/gateways', body: { name: 'forged', type: 'mcp', endpoint: '/forged' } },
	{ method: 'PATCH', path: `/gateways/${IDS.gateway}`, body: { name: 'forged' } },
	{ method: 'DELETE', path: `/gateways/${IDS.gateway}` },
	{ method: 'POST', path: '/auth/logout' },
	{ method: 'PATCH', path: '/auth/profile', body: { firstName: 'Forged' } },
	{ method: 'POST', path: '/access-keys', body: { name: 'forged' } },
];

/** Content types of simple requests, which need no preflight, and types that resemble JSON. */
export const CSRF_TYPES: { row: number; type: string; body: string }[] = [
	{ row: 44, type: 'text/plain', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
	{ row: 44, type: 'text/plain; charset=application/json', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
	{ row: 44, type: 'application/x-www-form-urlencoded', body: 'name=forged&type=mcp&endpoint=%2Fforged' },
	{ row: 44, type: 'application/x-www-form-urlencoded', body: '{"name":"forged","type":"mcp","endpoint":"/forged","a":"="}' },
	{
		row: 44,
		type: 'multipart/form-data; boundary=x',
		body: '--x\r\ncontent-disposition: form-data; name="name"\r\n\r\nforged\r\n--x--\r\n',
	},
	{ row: 44, type: 'application/jsonp', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
	{ row: 44, type: 'application/vnd.api+json', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
	{ row: 44, type: 'text/json', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
	{ row: 44, type: 'application/xml', body: '<name>forged</name>' },
	{ row: 44, type: 'json', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
	{ row: 44, type: 'a/b, application/json', body: '{"name":"forged","type":"mcp","endpoint":"/forged"}' },
];
