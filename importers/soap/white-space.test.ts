// White space that is not part of an attribute's value, and ports without a binding or port type.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Operation } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import { content, documentOf, shopFiles } from '../../test/helpers/soap.ts';
import importer from './index.ts';

const MEMBERS = `<xs:sequence><xs:element name="a" type="t:A" minOccurs="0" form="unqualified"/></xs:sequence><xs:attribute name="b" use="required"/>`;
const TYPE = '<xs:simpleType name="A"><xs:restriction base="xs:string"><xs:enumeration value="x"/></xs:restriction></xs:simpleType>';
const PLAIN = documentOf(content(MEMBERS) + TYPE);

async function only(text: string): Promise<Operation> {
	const { operations, warnings } = await readWith(importer, text);
	assert.deepEqual([operations.length, warnings], [1, []]);
	return operations[0] ?? assert.fail('none');
}

test('white space around URIs, names and words of a document changes nothing', async () => {
	const expected = await only(PLAIN);
	assert.equal(expected.definition['action'], 'urn:do');
	const attributes = [
		'transport',
		'soapAction',
		'targetNamespace',
		'location',
		'elementFormDefault',
		'form',
		'use',
		'name',
		'element',
		'type',
	];
	for (const attribute of [...attributes, 'base', 'message', 'binding', 'minOccurs', 'xmlns:t']) {
		const spaced = PLAIN.replace(new RegExp(` ${attribute}="([^"]*)"`, 'g'), ` ${attribute}=" \n\t$1 "`);
		assert.notEqual(spaced, PLAIN, attribute);
		assert.deepEqual(await only(spaced), expected, attribute);
	}
	const rpc = PLAIN.replace('<soap:operation', '<soap:operation style=" rpc "').replace(
		'use="literal"',
		'use=" encoded " namespace=" urn:r\n"',
	);
	const { definition } = await only(rpc);
	assert.deepEqual([definition['style'], Object(definition['request'])['encoded']], ['rpc', true]);
	assert.ok(Object.values(Object(definition['namespaces'])).includes('urn:r'));
});

test('white space around the locations and namespaces of imports changes nothing', async () => {
	const read = async (files: Map<string, Uint8Array>) => (await readWith(importer, '', null, { files })).operations;
	const spaced = new Map(
		[...shopFiles()].map(([path, bytes]) => {
			const text = Buffer.from(bytes).toString();
			return [path, Buffer.from(text.replace(/ (location|schemaLocation|namespace|targetNamespace)="([^"]*)"/g, ' $1=" $2\n"'))];
		}),
	);
	assert.deepEqual(await read(spaced), await read(shopFiles()));
});

async function refusal(text: string): Promise<string> {
	const error = await readWith(importer, text).then(
		() => assert.fail('it was read'),
		(thrown: unknown) => asGatewayError(thrown) ?? assert.fail(String(thrown)),
	);
	assert.equal(error.code, 'schema_invalid');
	return error.message;
}

const NOTHING = 'The document has no operation with a SOAP binding over HTTP: there is nothing to call.';

test('a port without its binding, and a binding without its port type, are named if no operation is left', async () => {
	const port = (binding: string): string => PLAIN.replace('<port name="Q" binding="t:B">', `<port name="Q"${binding}>`);
	for (const [text, says] of [
		[port(' binding="t:Other"'), 'Line 7: the port “Q” names the binding “{urn:t}Other”, which nothing defines.'],
		[port(' binding="o:B"'), 'Line 7: the port “Q” names the binding “B”, which nothing defines.'],
		[port(''), 'Line 7: the port “Q” names no binding.'],
		[
			PLAIN.replace('<binding name="B" type="t:P">', '<binding name="B" type="t:Other">'),
			'Line 5: the binding “{urn:t}B” names the port type “{urn:t}Other”, which nothing defines.',
		],
	] as const)
		assert.equal(await refusal(text), `${NOTHING} ${says}`);
	assert.equal(await refusal(PLAIN.replace('soap/http', 'soap/jms')), NOTHING);
	const many = PLAIN.replace(/<port .*<\/port>/, '<port name="Q" binding="t:Other"/>'.repeat(1_000));
	assert.ok((await refusal(many)).length < 600);
});

test('a port without its binding is a warning if others are left', async () => {
	const { operations, warnings } = await readWith(importer, PLAIN.replace('</service>', '<port name="Lost" binding="t:Other"/></service>'));
	assert.equal(operations.length, 1);
	assert.deepEqual(warnings, [
		{ fields: { pointer: 'line 7' }, message: 'The port “Lost” names the binding “{urn:t}Other”, which nothing defines.' },
	]);
});
