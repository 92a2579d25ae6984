// Tests which documents are read and refused, where they are read from, and that none ends the process.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createEgress } from '../../core/egress/egress.ts';
import { asGatewayError, type ImportContext, type Operation } from '../../core/index.ts';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { content, documentOf, fixture, readFixture, shopFiles } from '../../test/helpers/soap.ts';
import { canary, httpUpstream } from '../../test/helpers/upstream.ts';
import importer from './index.ts';

const MINIMAL = documentOf(content(''));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** @returns the message of the refusal */
async function refusal(text: string, files: Map<string, Uint8Array> = new Map()): Promise<string> {
	const error = await readWith(importer, text, null, { files }).then(
		() => assert.fail(`read: ${text.slice(0, 100)}`),
		(thrown: unknown) => asGatewayError(thrown) ?? assert.fail(String(thrown)),
	);
	assert.equal(error.code, 'schema_invalid');
	assert.ok(error.message.length < 600, error.message);
	return error.message;
}

test('detect knows WSDL by its text, in time that grows with it', async () => {
	for (const text of [MINIMAL, fixture('weather.wsdl'), fixture('qbws.wsdl'), fixture('messages.wsdl')])
		assert.equal(importer.detect(text), 1, text.slice(0, 100));
	assert.equal(importer.detect('<description xmlns="http://www.w3.org/ns/wsdl"/>'), 0.9);
	for (const text of [
		'',
		'{"openapi":"3.1.0"}',
		'type Query { a: Int }',
		'<html>definitions</html>',
		'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>',
		'http://schemas.xmlsoap.org/wsdl/ <definitions',
	])
		assert.equal(importer.detect(text), 0, text);
	const cpuMs = await threadCpuMs(() => {
		for (const part of ['<', '<a:', ' ', '<definition']) importer.detect(part.repeat(1_000_000));
	});
	assert.ok(cpuMs < 2_000, `${cpuMs} ms`);
});

test('a document that is not WSDL 1.1 is refused with the reason and its position', async () => {
	const cases: [text: string, says: RegExp][] = [
		['', /cannot be read: line 1, column 0: document must contain a root element/],
		['{"a":1}', /line 1, column 7: text data outside of root node/],
		['<html/>', /not WSDL: its root is “html”/],
		['<description xmlns="http://www.w3.org/ns/wsdl"/>', /WSDL 2\.0, only WSDL 1\.1 is read/],
		[MINIMAL.replace('</types>', ''), /line 7, column \d+: unexpected close tag/],
		['<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>', /no operation with a SOAP binding over HTTP/],
		[
			MINIMAL.replace('http://schemas.xmlsoap.org/soap/http', 'http://schemas.xmlsoap.org/soap/jms'),
			/no operation with a SOAP binding over HTTP/,
		],
		['<\u0000/>', /cannot be read/],
	];
	for (const [text, says] of cases) assert.match(await refusal(text), says, text.slice(0, 80));
});

test('a DOCTYPE is refused before anything in it counts', async () => {
	const doctypes = [
		'<!DOCTYPE d SYSTEM "file:///etc/passwd">',
		'<!DOCTYPE d [<!ENTITY % x SYSTEM "http://127.0.0.1/"> %x;]>',
		'<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
		'<!DOCTYPE d>',
	];
	for (const doctype of doctypes) assert.match(await refusal(doctype + MINIMAL), /a DOCTYPE is not allowed/);
	assert.match(await refusal(MINIMAL.replace('urn:do', '&file;')), /undefined entity/);
});

test('depth, size and number of elements are bounded', async () => {
	assert.match(await refusal('<a>'.repeat(200_000)), /nested deeper than 100 levels/);
	assert.match(await refusal(`<a>${'<b/>'.repeat(1_000_001)}</a>`), /more than 1000000 elements and attributes/);
	assert.match(await refusal(`<a>${' '.repeat(33 * 1024 * 1024)}</a>`), /longer than 33554432 characters/);
});

test('a document that begins with white space, a byte order mark or a comment is read', async () => {
	for (const before of ['\n\n', '\ufeff<?xml version="1.0"?>', '\n<!-- a --><!-- b -->\n<?xml version="1.0" encoding="utf-8"?>'])
		assert.equal((await readWith(importer, before + MINIMAL)).operations.length, 1, before);
	assert.equal((await readFixture('qbws.wsdl')).operations.length, 8);
	assert.match(await refusal(`<!--${'-->'.repeat(10)}<!--`), /cannot be read/);
});

test('imports are found among the files, by their path or their name, also where they import each other', async () => {
	const { operations, warnings } = await readFixture('shop.wsdl');
	assert.deepEqual(
		warnings.map(({ message }) => message),
		['The import of “http://www.w3.org/2001/xml.xsd” was left out: it did not come with the document.'],
	);
	const flat = new Map([...shopFiles()].map(([name, text]) => [name.replace('xsd/', 'deep/er/'), text]));
	const moved = await readWith(importer, fixture('shop.wsdl'), null, { path: 'shop.wsdl', files: flat });
	assert.deepEqual(moved.operations, operations);
	const unnamed = await readWith(importer, '', null, { files: shopFiles() });
	assert.deepEqual(
		unnamed.operations.map(({ key }) => key),
		operations.map(({ key }) => key),
	);
	assert.match(await refusal('', new Map([['a.txt', bytes('x')]])), /None of the files is a WSDL document/);
});

test('an import leads to no file outside of those that came with the document', async () => {
	for (const location of [
		'/etc/hostname',
		'file:///etc/hostname',
		'../../../../etc/hostname',
		'http://127.0.0.1:1/x.xsd',
		'%2e%2e/x',
		'%',
		'http://[',
	]) {
		const text = documentOf(`<xs:import namespace="urn:o" schemaLocation="${location}"/>${content('')}`);
		for (const more of [{}, { path: 'a/b.wsdl', files: new Map([['a/b.wsdl', bytes(text)]]) }]) {
			const { operations, warnings } = await readWith(importer, text, null, more);
			assert.equal(operations.length, 1);
			assert.match(
				warnings[0]?.message ?? '',
				/was left out: it did not come with the document\. Types that need it accept anything\.$/,
				location,
			);
		}
	}
});

/** Reads from a URL, with the real guard. */
async function readFrom(t: TestContext, url: string, text: string): Promise<Reading> {
	const egress = createEgress({ allow: ['127.0.0.1'] });
	t.after(() => egress.close());
	const warnings: Reading['warnings'] = [];
	const warn = (fields: object, message: string): void => void warnings.push({ fields, message });
	const quiet = (): void => undefined;
	const context: ImportContext = {
		log: { debug: quiet, info: quiet, warn, error: warn },
		fetch: egress.fetch,
		request: egress.request,
		signal: AbortSignal.timeout(20_000),
		operator: {},
	};
	const operations: Operation[] = [];
	const reading = importer.parse({ text, url, path: null, files: new Map() }, {}, context);
	let next = await reading.next();
	for (; !next.done; next = await reading.next()) operations.push(next.value);
	return { operations, summary: next.value, warnings };
}

test('the imports of a fetched document are fetched from their locations, each once', async (t) => {
	const asked: string[] = [];
	const files = shopFiles();
	const upstream = await httpUpstream(t, (request, response) => {
		asked.push(request.url ?? '');
		const file = files.get((request.url ?? '').replace('/ws/', ''));
		response.writeHead(file ? 200 : 404).end(file);
	});
	const text = fixture('shop.wsdl');
	const { operations, warnings } = await readFrom(t, `${upstream.origin}/ws/shop.wsdl`, text);
	const fromFiles = await readFixture('shop.wsdl');
	assert.deepEqual(operations, fromFiles.operations);
	assert.deepEqual(asked.toSorted(), ['/ws/messages.wsdl', '/ws/xsd/common.xsd', '/ws/xsd/parts.xsd', '/ws/xsd/shop.xsd']);
	assert.match(warnings[0]?.message ?? '', /^The import of “http:\/\/www\.w3\.org\/2001\/xml\.xsd” was left out: /);
});

test('imports go through the guard, and those that it refuses are left out, with a warning', async (t) => {
	const watched = await canary(t);
	const upstream = await httpUpstream(t, (request, response) => {
		if (request.url === '/redirect') return void response.writeHead(302, { location: `http://127.0.0.2:${watched.port}/` }).end();
		if (request.url === '/bomb') return void response.end('<!DOCTYPE a><a/>');
		if (request.url === '/html') return void response.end('<html/>');
		response.writeHead(404).end();
	});
	const locations = [
		`http://127.0.0.2:${watched.port}/`,
		`http://2130706434:${watched.port}/`,
		'http://169.254.169.254/latest',
		'file:///etc/passwd',
		'gopher://x/',
		'/redirect',
		'/bomb',
		'/html',
		'/none',
	];
	for (const location of locations) {
		const text = documentOf(
			`<xs:import namespace="urn:o" schemaLocation="${location}"/>${content('<xs:sequence><xs:element name="a" xmlns:o="urn:o" type="o:T"/></xs:sequence>')}`,
		);
		const { operations, warnings } = await readFrom(t, `${upstream.origin}/a.wsdl`, text);
		assert.match(warnings[0]?.message ?? '', /was left out: .*Types that need it accept anything\.$/, location);
		assert.deepEqual(
			operations.map(({ outcome, reasons }) => [outcome, ...reasons]),
			[['degraded', 'The type “{urn:o}T” is not defined: it accepts anything.']],
		);
	}
	assert.equal(watched.connections(), 0);
});

test('imports are followed five deep and fifty wide, and an endless chain ends', async (t) => {
	let count = 0;
	const upstream = await httpUpstream(t, (request, response) => {
		count++;
		const depth = Number(/\d+/.exec(request.url ?? '')?.[0] ?? 0);
		response.end(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:include schemaLocation="/d${depth + 1}.xsd"/></xs:schema>`);
	});
	const chain = await readFrom(t, `${upstream.origin}/d0.wsdl`, documentOf(`<xs:include schemaLocation="/d1.xsd"/>${content('')}`));
	assert.equal(count, 5);
	assert.match(chain.warnings[0]?.message ?? '', /more than 5 imports away/);
	count = 0;
	const wide = Array.from({ length: 60 }, (_, index) => `<xs:import namespace="urn:${index}" schemaLocation="/w?${index}"/>`).join('');
	const flat = await httpUpstream(t, (_request, response) => {
		count++;
		response.end('<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>');
	});
	const { warnings } = await readFrom(t, `${flat.origin}/d0.wsdl`, documentOf(wide + content('')));
	assert.deepEqual([count, warnings.length], [50, 10]);
	assert.match(warnings[0]?.message ?? '', /only 50 documents are read/);
});

const schemaOf = (inside: string, attributes = ''): string =>
	`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" ${attributes}>${inside}</xs:schema>`;
const IN_T = 'targetNamespace="urn:t" xmlns:t="urn:t" elementFormDefault="qualified"';

/** Imports the one operation of `a.wsdl`, with other schemas beside it. */
async function readBeside(schema: string, others: Record<string, string>): Promise<Operation> {
	const text = documentOf(schema);
	const files = new Map([['a.wsdl', bytes(text)], ...Object.entries(others).map(([path, other]) => [path, bytes(other)] as const)]);
	const { operations, warnings } = await readWith(importer, text, null, { path: 'a.wsdl', files });
	assert.deepEqual(warnings, []);
	assert.equal(operations.length, 1);
	return operations[0] ?? assert.fail();
}

test('the depth of a document is that of its shortest path', async () => {
	const chain = Object.fromEntries(
		[1, 2, 3, 4, 5].map((at) => [`d${at}.xsd`, schemaOf(`<xs:include schemaLocation="d${at + 1}.xsd"/>`, IN_T)]),
	);
	const { outcome } = await readBeside(
		`<xs:include schemaLocation="d1.xsd"/><xs:include schemaLocation="d6.xsd"/><xs:element name="Do" type="t:T"/>`,
		{ ...chain, 'd6.xsd': schemaOf('<xs:include schemaLocation="d7.xsd"/>', IN_T), 'd7.xsd': schemaOf('<xs:complexType name="T"/>', IN_T) },
	);
	assert.equal(outcome, 'converted');
});

test('a schema without a namespace can be imported as it is and included in others', async () => {
	const { outcome, definition } = await readBeside(
		'<xs:import schemaLocation="plain.xsd"/><xs:include schemaLocation="plain.xsd"/><xs:element name="Do"><xs:complexType><xs:sequence><xs:element ref="E" xmlns=""/><xs:element ref="t:E"/></xs:sequence></xs:complexType></xs:element>',
		{ 'plain.xsd': schemaOf('<xs:element name="E" type="T"/><xs:simpleType name="T"><xs:restriction base="xs:int"/></xs:simpleType>') },
	);
	assert.equal(outcome, 'converted');
	const { of } = (definition['types'] as { Do: { of: object[] } }).Do;
	assert.deepEqual(of, [
		{
			sequence: [
				{ name: 'E', type: 'xs:int' },
				{ name: 'E', key: 'E_2', ns: 0, type: 'xs:int' },
			],
		},
	]);
});

test('an import that does not say where its schema lies finds it among the files by its namespace', async () => {
	const inside = '<xs:complexType name="T"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType>';
	const schema = `<xs:import namespace="urn:u"/><xs:element name="Do" xmlns:u="urn:u" type="u:T"/>`;
	const { outcome, parameters } = await readBeside(schema, {
		'any.xsd': `\ufeff<?xml version="1.0"?>\n<!-- <a> -->${schemaOf(inside, "targetNamespace = 'urn:u'")}`,
		'other.xsd': schemaOf(inside.replace('name="a"', 'name="b"'), 'targetNamespace="urn:v"'),
		'other.wsdl': documentOf(inside).replaceAll('urn:t', 'urn:u'),
	});
	assert.deepEqual([outcome, parameters['required']], ['converted', ['a']]);
	const cpuMs = await threadCpuMs(async () => {
		for (const text of [' '.repeat(1e6), '<!--'.repeat(1e5), '<?'.repeat(1e5), '<!---->'.repeat(1e5), `<schema ${'a '.repeat(1e5)}`])
			await readBeside(schema.replace('u:T', 'xs:int'), { 'a.xsd': text });
	});
	assert.ok(cpuMs < 5_000, `${cpuMs} ms`);
});

test('files may be named like their URLs', async () => {
	const inside = '<xs:complexType name="T"/>';
	const location = 'http://old.example/Shop.svc?xsd=xsd0';
	const files = { 'x/Shop.svc?xsd=xsd0': schemaOf(inside, IN_T), 'x/Shop.svc?xsd=xsd1': schemaOf('', IN_T) };
	assert.equal(
		(await readBeside(`<xs:include schemaLocation="${location}"/><xs:element name="Do" type="t:T"/>`, files)).outcome,
		'converted',
	);
	const beside = { 'b.xsd?v=1#2/c.xsd': schemaOf(inside, IN_T) };
	const relative = `<xs:include schemaLocation="b.xsd%3Fv=1%232/c.xsd"/><xs:element name="Do" type="t:T"/>`;
	assert.equal((await readBeside(relative, beside)).outcome, 'converted');
	const cpuMs = await threadCpuMs(async () => {
		for (const one of ['a'.repeat(1_000_000), '/'.repeat(1_000_000), '?'.repeat(1_000_000)]) {
			const text = documentOf(`<xs:include schemaLocation="${one}/"/>${content('')}`);
			await readWith(importer, text, null, { path: 'a.wsdl', files: new Map([['a.wsdl', bytes(text)]]) });
		}
	});
	assert.ok(cpuMs < 5_000, `${cpuMs} ms`);
});

test('imports are resolved against the URL after redirects', async (t) => {
	const upstream = await httpUpstream(t, ({ url }, response) => {
		if (url === '/old/a.xsd') return void response.writeHead(302, { location: '/new/deep/a.xsd' }).end();
		const text = { '/new/deep/a.xsd': '<xs:include schemaLocation="b.xsd"/>', '/new/deep/b.xsd': '<xs:complexType name="T"/>' }[url ?? ''];
		response.writeHead(text === undefined ? 404 : 200).end(schemaOf(text ?? '', IN_T));
	});
	const text = documentOf('<xs:include schemaLocation="old/a.xsd"/><xs:element name="Do" type="t:T"/>');
	const { operations, warnings } = await readFrom(t, `${upstream.origin}/a.wsdl`, text);
	assert.deepEqual([operations[0]?.outcome, warnings], ['converted', []]);
});

test('a redefinition applies even if its document was read before, has its own form, and can be redefined again', async () => {
	const type = (name: string, inside: string): string =>
		`<xs:complexType name="T"><xs:complexContent><xs:extension base="t:T"><xs:sequence><xs:element name="${name}" type="xs:int"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>${inside}`;
	const redefine = (file: string, name: string): string => `<xs:redefine schemaLocation="${file}">${type(name, '')}</xs:redefine>`;
	const { outcome, definition } = await readBeside(
		`<xs:include schemaLocation="old.xsd"/><xs:include schemaLocation="new.xsd"/>${redefine('new.xsd', 'c')}<xs:element name="Do" type="t:T"/>`,
		{
			'old.xsd': schemaOf('<xs:include schemaLocation="older.xsd"/>', IN_T),
			'older.xsd': schemaOf(
				'<xs:complexType name="T"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType>',
				IN_T,
			),
			'new.xsd': schemaOf(redefine('old.xsd', 'b'), IN_T.replace('qualified', 'unqualified')),
		},
	);
	assert.equal(outcome, 'converted');
	const { of } = (definition['types'] as { T: { of: { sequence: { name: string; ns?: number }[] }[] } }).T;
	assert.deepEqual(
		of.flatMap(({ sequence }) => sequence.map(({ name, ns }) => [name, ns === undefined ? '' : 't'])),
		[
			['a', 't'],
			['b', ''],
			['c', 't'],
		],
	);
});

test('a redefinition of a group, of attributes and of text is based on the component of its name', async () => {
	const group = (inside: string): string => `<xs:group name="G"><xs:sequence>${inside}</xs:sequence></xs:group>`;
	const attributes = (inside: string): string => `<xs:attributeGroup name="A">${inside}</xs:attributeGroup>`;
	const text = (base: string, facet: string): string =>
		`<xs:simpleType name="S"><xs:restriction base="${base}"><xs:${facet}/></xs:restriction></xs:simpleType>`;
	const redefined = [
		group('<xs:group ref="t:G"/><xs:element name="b" type="xs:int"/>'),
		attributes('<xs:attributeGroup ref="t:A"/><xs:attribute name="d" type="t:S"/>'),
		text('t:S', 'maxLength value="9"'),
	].join('');
	const { outcome, parameters, reasons } = await readBeside(
		`<xs:redefine schemaLocation="old.xsd">${redefined}</xs:redefine>${content('<xs:group ref="t:G"/><xs:attributeGroup ref="t:A"/>')}`,
		{
			'old.xsd': schemaOf(
				group('<xs:element name="a" type="xs:int"/>') + attributes('<xs:attribute name="c"/>') + text('xs:string', 'minLength value="2"'),
				IN_T,
			),
		},
	);
	assert.deepEqual([outcome, reasons], ['converted', []]);
	const properties = parameters['properties'] as Record<string, object>;
	assert.deepEqual(Object.keys(properties).toSorted(), ['a', 'b', 'c', 'd']);
	assert.deepEqual(properties['d'], { type: 'string', minLength: 2, maxLength: 9 });
});

test('a redefinition replaces the component that it is based on', async () => {
	const old =
		'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified"><xs:complexType name="T"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType></xs:schema>';
	const text = documentOf(
		`<xs:redefine schemaLocation="old.xsd"><xs:complexType name="T"><xs:complexContent><xs:extension base="t:T"><xs:sequence><xs:element name="b" type="xs:int"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType></xs:redefine><xs:element name="Do" type="t:T"/>`,
	);
	const { operations } = await readWith(importer, text, null, {
		path: 'a.wsdl',
		files: new Map([
			['a.wsdl', bytes(text)],
			['old.xsd', bytes(old)],
		]),
	});
	assert.deepEqual(
		operations.map(({ outcome, parameters }) => [outcome, parameters['required']]),
		[['converted', ['a', 'b']]],
	);
});
