// Configs that a tool of type `soap` may be saved with.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { JsonObject, ToolDraft } from '../../../core/index.ts';
import { toolFrom } from '../../../test/helpers/soap.ts';
import soap from './index.ts';

let OK: ToolDraft['executionConfig'];
before(async () => {
	({ executionConfig: OK } = await toolFrom('shop.wsdl', '/PlaceOrder', 'https://shop.example/soap'));
});

const REFUSED: [what: string, more: JsonObject, says: RegExp][] = [
	['an endpoint with a user name', { endpoint: 'https://a:b@x.example/' }, /without user name/],
	['an endpoint of another scheme', { endpoint: 'ftp://x.example/' }, /http or https/],
	['an endpoint that is another host by two slashes', { endpoint: '//evil.example/' }, /path that begins with one slash/],
	['an endpoint that is another host by a backslash', { endpoint: '/\\evil.example/' }, /path that begins with one slash/],
	['another version', { version: '1.3' }, /"version"/],
	['types that are none', { types: [] }, /"types" must be an object of types/],
	['a type that is none', { types: { T: 'x' } }, /holds "T", which is not the model of a type/],
	['an element whose name would be markup', { types: { T: { of: [{ name: 'a><b', type: 'xs:int' }] } } }, /not the model of a type/],
	[
		'an attribute whose name would be markup',
		{ types: { T: { attributes: [{ name: 'a="1" b', type: 'xs:int' }] } } },
		/not the model of a type/,
	],
	[
		'groups that are nested too deeply',
		{ types: { T: { of: [Array.from({ length: 300 }).reduce<JsonObject>((inside) => ({ sequence: [inside] }), {})] } } },
		/not the model of a type/,
	],
	['a message without its element', { request: { root: 'content' } }, /"request" must have an element/],
	['a message without its type', { request: { root: 'elements' } }, /"request" must have a type/],
	['a reserved header', { headers: { Host: 'x' } }, /set by the gateway itself/],
	['a header with a line break', { headers: { a: 'b\r\nc: d' } }, /text of one line/],
	['an unknown field', { wsdl: 'x' }, /"wsdl" is not allowed/],
	['another kind of token', { wsSecurity: 'x509' }, /"wsSecurity"/],
	['too much patience', { timeoutMs: 120_001 }, /"timeoutMs"/],
];

for (const [what, more, says] of REFUSED)
	test(`A config with ${what} is refused`, () => {
		const { error } = soap.config.validate({ ...OK, ...more });
		assert.match(error?.message ?? 'accepted', says);
		assert.ok((error?.message.length ?? 0) < 500);
	});

test('The importer’s config is accepted, with an endpoint, headers, security and timeout set by a person', () => {
	const more = { endpoint: '/other?x=1', headers: { 'x-team': 'a' }, wsSecurity: 'digest', timeoutMs: 5 };
	assert.equal(soap.config.validate({ ...OK, ...more }, { convert: false }).error, undefined);
});

test('A soap tool cannot be created by hand, and every field has a description', () => {
	assert.equal(soap.creatable, false);
	const keys: object = soap.config.describe().keys ?? {};
	for (const [name, described] of Object.entries(keys) as [string, { flags?: { description?: string } }][])
		assert.ok(described.flags?.description, name);
});
