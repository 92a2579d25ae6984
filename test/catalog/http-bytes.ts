// Expected parameters of the `http` executor: every location, style and explode, with every kind of value, as the bytes of the standards.
// They are the style examples of OpenAPI 3.1.1 §4.8.12.4 and 3.2.1 §4.12.4, and the expansions of RFC 6570 §3.2. Rows where OpenAPI says
// n/a are marked: the choice is ours.

import type { Json } from '../../core/contract/nouns.ts';

/** The parameter is not sent: RFC 6570 §2.3, "a variable that is undefined has no value and is ignored". */
export const NOTHING = null;
/** The call is a 400 that names the argument, and nothing is sent. */
export const REFUSED = Symbol('refused');
type Wire = string | typeof NOTHING | typeof REFUSED;

type ParameterLocation = 'path' | 'query' | 'querystring' | 'header' | 'cookie';

export interface ParameterCase {
	/** The source of the expectation, or the reason for it. */
	source: string;
	place: ParameterLocation;
	name: string;
	style?: string;
	explode?: boolean;
	allowReserved?: boolean;
	contentType?: string;
	value: Json;
	/** In the path: the text in place of the placeholder. In the query: the whole query. Else the value of the header. */
	wire: Wire;
}

/** Text with each reserved character of RFC 3986 §2.2, a space, a percent sign, and characters beyond ASCII. */
const RESERVED = ":/?#[]@!$&'()*+,;= %ü€";
const ENCODED = '%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%20%25%C3%BC%E2%82%AC';

/** The values of OpenAPI's table, and edge cases around them. `keys` is from RFC 6570. */
const VALUES = {
	undefined: null,
	empty: '',
	string: 'blue',
	number: 7,
	decimal: -0.5,
	truth: false,
	array: ['blue', 'black', 'brown'],
	object: { R: 100, G: 200, B: 150 },
	emptyArray: [],
	emptyObject: {},
	undefinedMembers: ['blue', null, 'brown'],
	reserved: RESERVED,
	reservedArray: ['a,b', 'c&d=e f', ''],
	keys: { semi: ';', dot: '.', comma: ',' },
	nested: [['x', 'y'], { a: 1 }],
} as const satisfies Record<string, Json>;
type Kind = keyof typeof VALUES;

interface Row {
	source: string;
	place: ParameterLocation;
	style: string;
	/** The values of `explode` for which the row holds. */
	explode: (boolean | undefined)[];
	allowReserved?: true;
	/** Expected text by kind of value; kinds that are missing are undefined, or the same as in another style. */
	wires: Partial<Record<Kind, Wire>>;
}

const TABLE = 'OpenAPI 3.1.1 §4.8.12.4, RFC 6570 §3.2';
const CHOICE = 'n/a in OpenAPI: as form writes it';

const path = {
	undefined: REFUSED,
	empty: REFUSED,
	emptyArray: REFUSED,
	emptyObject: REFUSED,
} satisfies Partial<Record<Kind, Wire>>;

const query = {
	undefined: NOTHING,
	empty: 'color=',
	string: 'color=blue',
	number: 'color=7',
	decimal: 'color=-0.5',
	truth: 'color=false',
	emptyArray: NOTHING,
	emptyObject: NOTHING,
	reserved: `color=${ENCODED}`,
} satisfies Partial<Record<Kind, Wire>>;

const flatQuery = {
	...query,
	array: 'color=blue,black,brown',
	object: 'color=R,100,G,200,B,150',
	undefinedMembers: 'color=blue,brown',
	reservedArray: 'color=a%2Cb,c%26d%3De%20f,',
	keys: 'color=semi,%3B,dot,.,comma,%2C',
	nested: 'color=%5B%22x%22%2C%22y%22%5D,%7B%22a%22%3A1%7D',
} satisfies Partial<Record<Kind, Wire>>;

const explodedQuery = {
	...query,
	array: 'color=blue&color=black&color=brown',
	object: 'R=100&G=200&B=150',
	undefinedMembers: 'color=blue&color=brown',
	reservedArray: 'color=a%2Cb&color=c%26d%3De%20f&color=',
	keys: 'semi=%3B&dot=.&comma=%2C',
	nested: 'color=%5B%22x%22%2C%22y%22%5D&color=%7B%22a%22%3A1%7D',
} satisfies Partial<Record<Kind, Wire>>;

const header = {
	undefined: NOTHING,
	empty: '',
	string: 'blue',
	number: '7',
	decimal: '-0.5',
	truth: 'false',
	array: 'blue,black,brown',
	emptyArray: NOTHING,
	emptyObject: NOTHING,
	undefinedMembers: 'blue,brown',
	// The text has characters above U+00FF, which headers cannot carry.
	reserved: REFUSED,
	// "URI percent-encoding MUST NOT be applied" (§4.8.12.2).
	reservedArray: 'a,b,c&d=e f,',
} satisfies Partial<Record<Kind, Wire>>;

const ROWS: Row[] = [
	{
		source: TABLE,
		place: 'path',
		style: 'simple',
		explode: [undefined, false],
		wires: {
			...path,
			string: 'blue',
			number: '7',
			decimal: '-0.5',
			truth: 'false',
			array: 'blue,black,brown',
			object: 'R,100,G,200,B,150',
			undefinedMembers: 'blue,brown',
			reserved: ENCODED,
			reservedArray: 'a%2Cb,c%26d%3De%20f,',
			keys: 'semi,%3B,dot,.,comma,%2C',
			nested: '%5B%22x%22%2C%22y%22%5D,%7B%22a%22%3A1%7D',
		},
	},
	{
		source: TABLE,
		place: 'path',
		style: 'simple',
		explode: [true],
		wires: {
			...path,
			string: 'blue',
			array: 'blue,black,brown',
			object: 'R=100,G=200,B=150',
			reserved: ENCODED,
			reservedArray: 'a%2Cb,c%26d%3De%20f,',
			keys: 'semi=%3B,dot=.,comma=%2C',
		},
	},
	{
		source: TABLE,
		place: 'path',
		style: 'label',
		explode: [undefined, false],
		wires: {
			// The empty string would leave a lone dot, which is a segment with a meaning of its own.
			...path,
			string: '.blue',
			number: '.7',
			truth: '.false',
			array: '.blue,black,brown',
			object: '.R,100,G,200,B,150',
			undefinedMembers: '.blue,brown',
			reserved: `.${ENCODED}`,
			reservedArray: '.a%2Cb,c%26d%3De%20f,',
			keys: '.semi,%3B,dot,.,comma,%2C',
		},
	},
	{
		source: TABLE,
		place: 'path',
		style: 'label',
		explode: [true],
		wires: {
			...path,
			string: '.blue',
			array: '.blue.black.brown',
			object: '.R=100.G=200.B=150',
			undefinedMembers: '.blue.brown',
			reserved: `.${ENCODED}`,
			reservedArray: '.a%2Cb.c%26d%3De%20f.',
			keys: '.semi=%3B.dot=..comma=%2C',
		},
	},
	{
		source: TABLE,
		place: 'path',
		style: 'matrix',
		explode: [undefined, false],
		wires: {
			...path,
			empty: ';color',
			string: ';color=blue',
			number: ';color=7',
			truth: ';color=false',
			array: ';color=blue,black,brown',
			object: ';color=R,100,G,200,B,150',
			undefinedMembers: ';color=blue,brown',
			reserved: `;color=${ENCODED}`,
			reservedArray: ';color=a%2Cb,c%26d%3De%20f,',
			keys: ';color=semi,%3B,dot,.,comma,%2C',
		},
	},
	{
		source: TABLE,
		place: 'path',
		style: 'matrix',
		explode: [true],
		wires: {
			...path,
			empty: ';color',
			string: ';color=blue',
			array: ';color=blue;color=black;color=brown',
			object: ';R=100;G=200;B=150',
			undefinedMembers: ';color=blue;color=brown',
			reserved: `;color=${ENCODED}`,
			reservedArray: ';color=a%2Cb;color=c%26d%3De%20f;color',
			keys: ';semi=%3B;dot=.;comma=%2C',
		},
	},
	{ source: TABLE, place: 'query', style: 'form', explode: [false], wires: flatQuery },
	{ source: TABLE, place: 'query', style: 'form', explode: [undefined, true], wires: explodedQuery },
	{
		source: 'RFC 6570 §3.2.3, but for what would end the parameter; the apostrophe is written by WHATWG URL §4.3',
		place: 'query',
		style: 'form',
		explode: [undefined, true],
		allowReserved: true,
		wires: {
			...explodedQuery,
			reserved: 'color=:/?%23%5B%5D@!$%26%27()*%2B,;=%20%25%C3%BC%E2%82%AC',
			reservedArray: 'color=a,b&color=c%26d=e%20f&color=',
			keys: 'semi=;&dot=.&comma=,',
			nested: 'color=%5B%22x%22,%22y%22%5D&color=%7B%22a%22:1%7D',
		},
	},
	{
		source: TABLE,
		place: 'query',
		style: 'spaceDelimited',
		explode: [undefined, false],
		wires: {
			...query,
			array: 'color=blue%20black%20brown',
			object: 'color=R%20100%20G%20200%20B%20150',
			reservedArray: 'color=a%2Cb%20c%26d%3De%20f%20',
		},
	},
	{ source: CHOICE, place: 'query', style: 'spaceDelimited', explode: [true], wires: explodedQuery },
	{
		source: TABLE,
		place: 'query',
		style: 'pipeDelimited',
		explode: [undefined, false],
		wires: {
			...query,
			array: 'color=blue%7Cblack%7Cbrown',
			object: 'color=R%7C100%7CG%7C200%7CB%7C150',
			reservedArray: 'color=a%2Cb%7Cc%26d%3De%20f%7C',
		},
	},
	{ source: CHOICE, place: 'query', style: 'pipeDelimited', explode: [true], wires: explodedQuery },
	{
		source: TABLE,
		place: 'query',
		style: 'deepObject',
		explode: [undefined, false, true],
		wires: {
			undefined: NOTHING,
			object: 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150',
			emptyObject: NOTHING,
			keys: 'color%5Bsemi%5D=%3B&color%5Bdot%5D=.&color%5Bcomma%5D=%2C',
		},
	},
	{
		source: 'n/a in OpenAPI: as PHP, Rails and qs read it',
		place: 'query',
		style: 'deepObject',
		explode: [true],
		wires: {
			string: 'color=blue',
			array: 'color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown',
			nested: 'color%5B0%5D%5B0%5D=x&color%5B0%5D%5B1%5D=y&color%5B1%5D%5Ba%5D=1',
		},
	},
	{
		source: TABLE,
		place: 'header',
		style: 'simple',
		explode: [undefined, false],
		wires: { ...header, object: 'R,100,G,200,B,150', keys: 'semi,;,dot,.,comma,,' },
	},
	{
		source: TABLE,
		place: 'header',
		style: 'simple',
		explode: [true],
		wires: { ...header, object: 'R=100,G=200,B=150', keys: 'semi=;,dot=.,comma=,' },
	},
	{ source: TABLE, place: 'cookie', style: 'form', explode: [false], wires: flatQuery },
	{
		source: 'OpenAPI 3.1.1 appendix D: pairs of cookies are divided as RFC 6265 §4.2.1 has it',
		place: 'cookie',
		style: 'form',
		explode: [undefined, true],
		wires: {
			...explodedQuery,
			array: 'color=blue; color=black; color=brown',
			object: 'R=100; G=200; B=150',
			undefinedMembers: 'color=blue; color=brown',
			reservedArray: 'color=a%2Cb; color=c%26d%3De%20f; color=',
			keys: 'semi=%3B; dot=.; comma=%2C',
			nested: 'color=%5B%22x%22%2C%22y%22%5D; color=%7B%22a%22%3A1%7D',
		},
	},
	{
		source: 'OpenAPI 3.2.1 §4.12.4: "no percent-encoding or other escaping is applied"',
		place: 'cookie',
		style: 'cookie',
		explode: [undefined, true],
		wires: {
			undefined: NOTHING,
			empty: 'color=',
			string: 'color=blue',
			number: 'color=7',
			array: 'color=blue; color=black; color=brown',
			object: 'R=100; G=200; B=150',
			emptyArray: NOTHING,
			emptyObject: NOTHING,
			reserved: REFUSED,
			reservedArray: REFUSED,
			keys: REFUSED,
		},
	},
];

const rows: ParameterCase[] = ROWS.flatMap(({ source, place, style, explode: explodes, allowReserved, wires }) =>
	explodes.flatMap((explode) =>
		Object.entries(wires).map(([kind, wire]) => ({
			source,
			place,
			name: 'color',
			style,
			...(explode === undefined ? {} : { explode }),
			...(allowReserved ? { allowReserved } : {}),
			// `kind` is a key of VALUES by the type of `wires`.
			value: VALUES[kind as Kind] as Json,
			wire,
		})),
	),
);

/** Parameters without a style take the default of their location. */
const DEFAULTS: ParameterCase[] = (
	[
		['path', 'blue,black,brown', 'R,100,G,200,B,150'],
		['query', 'color=blue&color=black&color=brown', 'R=100&G=200&B=150'],
		['header', 'blue,black,brown', 'R,100,G,200,B,150'],
		['cookie', 'color=blue; color=black; color=brown', 'R=100; G=200; B=150'],
	] as const
).flatMap(([place, array, object]) => [
	{ source: 'OpenAPI 3.1.1 §4.8.12.2, default of style', place, name: 'color', value: [...VALUES.array], wire: array },
	{ source: 'OpenAPI 3.1.1 §4.8.12.2, default of style', place, name: 'color', value: VALUES.object, wire: object },
]);

const JSON_VALUE = { a: ['ü "'], b: null };
/** JSON text with escapes beyond ASCII: RFC 8259 §7 allows them anywhere, and headers carry only ASCII. */
const JSON_TEXT = '{"a":["\\u00fc \\""],"b":null}';
const JSON_ENCODED = '%7B%22a%22%3A%5B%22%5Cu00fc%20%5C%22%22%5D%2C%22b%22%3Anull%7D';

const CONTENT = 'OpenAPI 3.1.1 §4.8.12.2, parameters with content';
const CONTENTS: ParameterCase[] = [
	{ source: CONTENT, place: 'path', name: 'c', contentType: 'application/json', value: JSON_VALUE, wire: JSON_ENCODED },
	{ source: CONTENT, place: 'query', name: 'c', contentType: 'application/json', value: JSON_VALUE, wire: `c=${JSON_ENCODED}` },
	{ source: CONTENT, place: 'header', name: 'c', contentType: 'application/vnd.x+json', value: JSON_VALUE, wire: JSON_TEXT },
	{ source: CONTENT, place: 'cookie', name: 'c', contentType: 'application/json', value: JSON_VALUE, wire: `c=${JSON_ENCODED}` },
	{ source: CONTENT, place: 'query', name: 'c', contentType: 'text/plain', value: 'a b&c', wire: 'c=a%20b%26c' },
	{ source: CONTENT, place: 'query', name: 'c', contentType: 'application/json', value: 'text', wire: 'c=%22text%22' },
	{ source: CONTENT, place: 'query', name: 'c', contentType: 'application/json', value: null, wire: NOTHING },
	{
		source: 'OpenAPI 3.2.1 §4.12.5, coordinates',
		place: 'query',
		name: 'coordinates',
		contentType: 'application/json',
		value: { lat: 40.6, long: -73.9 },
		wire: 'coordinates=%7B%22lat%22%3A40.6%2C%22long%22%3A-73.9%7D',
	},
	{
		source: 'OpenAPI 3.2.1 §4.12.5, querystring of JSON',
		place: 'querystring',
		name: 'json',
		contentType: 'application/json',
		value: { numbers: [1, 2], flag: null },
		wire: '%7B%22numbers%22%3A%5B1%2C2%5D%2C%22flag%22%3Anull%7D',
	},
	{
		// The standard's example has `+`: "percent-encoding it as %20 also meets the above requirements" (§4.12.3).
		source: 'OpenAPI 3.2.1 §4.12.5, querystring of a form',
		place: 'querystring',
		name: 'metadata',
		contentType: 'application/x-www-form-urlencoded',
		value: { foo: 'a + b', bar: true },
		wire: 'foo=a%20%2B%20b&bar=true',
	},
	{
		source: 'OpenAPI 3.2.1 §4.12.5, querystring of a text',
		place: 'querystring',
		name: 's',
		contentType: 'text/plain',
		value: '$.a.b[1:1]',
		wire: '%24.a.b%5B1%3A1%5D',
	},
];

const example = (
	source: string,
	place: ParameterLocation,
	name: string,
	value: Json,
	wire: Wire,
	more: Partial<ParameterCase> = {},
): ParameterCase => ({ source, place, name, value, wire, ...more });

const LIST = ['red', 'green', 'blue'];
/** Examples that the standards print, beyond those of the tables. */
const EXAMPLES: ParameterCase[] = [
	example('RFC 6570 §3.2.2', 'path', 'hello', 'Hello World!', 'Hello%20World%21'),
	example('RFC 6570 §3.2.2', 'path', 'half', '50%', '50%25'),
	example('RFC 6570 §3.2.5', 'path', 'half', '50%', '.50%25', { style: 'label' }),
	example('RFC 6570 §3.2.5', 'path', 'list', LIST, '.red,green,blue', { style: 'label' }),
	example('RFC 6570 §3.2.5', 'path', 'list', LIST, '.red.green.blue', { style: 'label', explode: true }),
	example('RFC 6570 §3.2.7', 'path', 'who', 'fred', ';who=fred', { style: 'matrix' }),
	example('RFC 6570 §3.2.7', 'path', 'empty', '', ';empty', { style: 'matrix' }),
	example('RFC 6570 §3.2.7', 'path', 'list', LIST, ';list=red;list=green;list=blue', { style: 'matrix', explode: true }),
	example('RFC 6570 §3.2.8', 'query', 'half', '50%', 'half=50%25'),
	example('RFC 6570 §3.2.8', 'query', 'list', LIST, 'list=red,green,blue', { explode: false }),
	example('RFC 6570 §3.2.3', 'query', 'hello', 'Hello World!', 'hello=Hello%20World!', { allowReserved: true }),
	example('RFC 6570 §3.2.3', 'query', 'path', '/foo/bar', 'path=/foo/bar', { allowReserved: true }),
	example('OpenAPI 3.1.1 §4.8.12.2.2, percent-encoded triples pass', 'query', 'q', '50%20%2Fx 100%', 'q=50%20%2Fx%20100%25', {
		allowReserved: true,
	}),
	example('OpenAPI 3.2.1 §4.12.5, X-Token', 'header', 'X-Token', [12345678, 90099], '12345678,90099'),
	example('OpenAPI 3.2.1 §4.12.5, username', 'path', 'username', 'diṅnāga', 'di%E1%B9%85n%C4%81ga'),
	example(
		'OpenAPI 3.2.1 §4.12.5, username',
		'path',
		'username',
		'الخوارزميّ',
		'%D8%A7%D9%84%D8%AE%D9%88%D8%A7%D8%B1%D8%B2%D9%85%D9%8A%D9%91',
	),
	example('OpenAPI 3.2.1 §4.12.5, thing', 'query', 'thing', ['one thing', 'another thing'], 'thing=one%20thing&thing=another%20thing'),
	example('OpenAPI 3.2.1 §4.12.5, freeForm', 'query', 'freeForm', { page: 4, pageSize: 50 }, 'page=4&pageSize=50'),
	example('OpenAPI 3.2.1 §4.12.5, greeting', 'cookie', 'greeting', 'Hello, world!', 'greeting=Hello%2C%20world%21'),
	example(
		'OpenAPI 3.2.1 §4.12.5, cookie',
		'cookie',
		'cookie',
		{ greeting: 'Hello%2C%20world!', code: 42 },
		'greeting=Hello%2C%20world!; code=42',
		{ style: 'cookie' },
	),
	example('OpenAPI 3.1.1 §4.8.12.2, names of parameters are encoded', 'query', 'a b[]', 'x', 'a%20b%5B%5D=x'),
	example('RFC 9110 §5.5, quotes stay as they are', 'header', 'x-a', 'a b%20c; "d"', 'a b%20c; "d"'),
	example('RFC 9110 §5.5, no line breaks', 'header', 'x-a', 'a\r\nX-Injected: 1', REFUSED),
	example('RFC 9110 §5.5, obs-text', 'header', 'x-a', 'ü', 'ü'),
	example('ECMA-262, number to string', 'query', 'n', 1e21, 'n=1e%2B21'),
	// For security, `.`, `..` and the empty string are refused as values in the path.
	...['.', '..', ''].map((value) => example('RFC 3986 §5.2.4', 'path', 'p', value, REFUSED)),
	...(
		[
			['%2e%2e', '%252e%252e'],
			['a/b', 'a%2Fb'],
			['a?x', 'a%3Fx'],
			['a#b', 'a%23b'],
			['\\', '%5C'],
			['\u0000\r\n', '%00%0D%0A'],
			['a;b@c', 'a%3Bb%40c'],
		] as const
	).map(([value, wire]) => example('RFC 3986 §3.3, stays one segment', 'path', 'p', value, wire)),
	...(['path', 'query', 'cookie'] as const).map((place) => example('RFC 3629 §3, no half of a pair', place, 'p', 'a\ud800', REFUSED)),
];

export const PARAMETERS: readonly ParameterCase[] = [...rows, ...DEFAULTS, ...CONTENTS, ...EXAMPLES];
