// Values that are qualified names: arguments and results hold `{namespace}local`, and messages a prefix that is declared.

import assert from 'node:assert/strict';
import { text as textOf } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { compileArguments, type JsonObject, type ToolResult } from '../../../core/index.ts';
import importer from '../../../importers/soap/index.ts';
import { apiAt, loopbackCall } from '../../../test/helpers/executor.ts';
import { content, documentOf, readOne } from '../../../test/helpers/soap.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import soap from './index.ts';

const FAULTS = `<xs:simpleType name="Known"><xs:restriction base="xs:QName"><xs:enumeration value="t:NoSuchTopic"/>
	<xs:enumeration value="xs:string"/><xs:pattern value="t:.*"/></xs:restriction></xs:simpleType>
	<xs:simpleType name="Fault"><xs:union memberTypes="t:Known xs:QName"/></xs:simpleType>
	<xs:simpleType name="Topics"><xs:list itemType="xs:QName"/></xs:simpleType>`;
const SCHEMA =
	content(`<xs:sequence><xs:element name="topic" type="xs:QName" minOccurs="0"><xs:annotation><xs:documentation>The topic.</xs:documentation>
	</xs:annotation></xs:element><xs:element name="known" type="t:Known" minOccurs="0"/><xs:element name="fault" type="t:Fault" minOccurs="0"/>
	<xs:element name="topics" type="t:Topics" minOccurs="0"/><xs:element name="sort" type="xs:QName" fixed="t:Plain"/></xs:sequence>
	<xs:attribute name="kind" type="xs:QName"/><xs:attribute name="role" type="xs:QName" use="required" fixed="xs:token"/>`);

interface Called {
	sent: string;
	result: ToolResult;
}

/** Calls a service that gives back the body that it gets, unless `answer` is another. */
async function call(t: TestContext, args: JsonObject, answer?: string): Promise<Called> {
	let sent = '';
	const upstream = await httpUpstream(t, async (request, response) => {
		sent = await textOf(request);
		response.setHeader('content-type', 'text/xml').end(answer ?? sent);
	});
	const api = apiAt(`${upstream.origin}/`);
	const { executionConfig, parameters } = importer.tool(await readOne(documentOf(FAULTS + SCHEMA)), api);
	assert.deepEqual(compileArguments(parameters)(structuredClone(args)), []);
	const result = await soap.execute(args, await soap.config.validateAsync(executionConfig), loopbackCall(t, { api }));
	return { sent, result };
}

/** Returns the prefix by which a message declares a namespace. */
const prefixOf = (message: string, uri: string): string => new RegExp(`xmlns:(\\w+)="${uri}"`).exec(message)?.[1] ?? assert.fail(uri);

test('a name is sent with a prefix that is declared, and comes back in the form in which it was given', async (t) => {
	const elements = {
		topic: '{http://topics.example/}Sold',
		known: '{urn:t}NoSuchTopic',
		fault: '{urn:other}Odd',
		topics: ['{urn:a}One', 'Two'],
	};
	const kind = '{http://topics.example/}Kind';
	const { sent, result } = await call(t, { ...elements, kind });
	const [own, topics] = [prefixOf(sent, 'urn:t'), prefixOf(sent, 'http://topics.example/')];
	for (const written of [
		`<${own}:topic>${topics}:Sold</${own}:topic>`,
		`<${own}:known>${own}:NoSuchTopic</${own}:known>`,
		`<${own}:fault>${prefixOf(sent, 'urn:other')}:Odd</${own}:fault>`,
		`<${own}:topics>${prefixOf(sent, 'urn:a')}:One Two</${own}:topics>`,
		`<${own}:sort>${own}:Plain</${own}:sort>`,
		`kind="${topics}:Kind"`,
		`role="${prefixOf(sent, 'http://www.w3.org/2001/XMLSchema')}:token"`,
	])
		assert.ok(sent.includes(written), `${written} in ${sent}`);
	assert.deepEqual(result.structured, {
		...elements,
		'@kind': kind,
		sort: '{urn:t}Plain',
		'@role': '{http://www.w3.org/2001/XMLSchema}token',
	});
});

test('a name without a namespace has no prefix, and what is no name is refused by its field', async (t) => {
	assert.match((await call(t, { topic: 'Sold' })).sent, /:topic>Sold</);
	assert.match((await call(t, { topic: '{}Sold' })).sent, /:topic>Sold</);
	for (const topic of ['p:Sold', '{urn:x}p:Sold', '{urn:x}', '', 'a b', '{urn:x"><evil/>}Sold', '{http://www.w3.org/2000/xmlns/}x'])
		await assert.rejects(call(t, { topic }), { code: 'validation_failed', message: /^\/topic must be a qualified name/ }, topic);
	await assert.rejects(call(t, { topics: ['Sold', 'p:Sold'] }), { message: /^\/topics\/1 must be a qualified name/ });
});

test('a name of an answer is resolved where it stands, by the default namespace too; one with an unknown prefix is kept', async (t) => {
	const body = (inside: string): string =>
		`<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:p="urn:outer"><e:Body><Do xmlns="urn:t" kind="p:K">${inside}</Do></e:Body></e:Envelope>`;
	const inside = `<topic xmlns:p="urn:inner"> p:Sold </topic><known>p:Old</known><fault>Bare</fault><topics xmlns="">q:One Two p:Three</topics>`;
	assert.deepEqual((await call(t, {}, body(inside))).result.structured, {
		'@kind': '{urn:outer}K',
		topic: '{urn:inner}Sold',
		known: '{urn:outer}Old',
		fault: '{urn:t}Bare',
		topics: ['q:One', 'Two', '{urn:outer}Three'],
	});
	const long = `urn:${'x'.repeat(100_000)}`;
	const many = `<topics xmlns:p="${long}">${'p:a '.repeat(1_000)}</topics>`;
	const { result } = await call(t, {}, body(many));
	assert.equal(result.isError, true, 'a namespace is not repeated without bound');
	assert.match(JSON.stringify(result.content), /more than \d+ characters/);
});

test('the schemas say the form of a name, and list values in it', async () => {
	const { parameters, outputSchema } = await readOne(documentOf(FAULTS + SCHEMA));
	const properties = Object(parameters['properties']);
	const form = 'A qualified name: {namespace}local, or local where it has no namespace.';
	assert.deepEqual(properties['topic'], { type: 'string', description: `The topic. ${form}` });
	assert.deepEqual(properties['known'], {
		type: 'string',
		description: form,
		enum: ['{urn:t}NoSuchTopic', '{http://www.w3.org/2001/XMLSchema}string'],
	});
	assert.match(properties['sort'].description, /Always: \{urn:t\}Plain\./);
	assert.equal(Object(outputSchema?.['properties'])['topic'].description, form);
});
