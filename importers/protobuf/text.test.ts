// Texts that the parser alone would read slowly or wrongly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import protobuf from 'protobufjs';
import { asGatewayError, type JsonObject } from '../../core/index.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const SERVICE = 'service S { rpc Call(M) returns (M); }';
const read = (body: string, syntax = 'proto3'): Promise<Reading> => readWith(importer, `syntax = "${syntax}";\n${body}\n${SERVICE}`);
const listed = (count: number, make: (index: number) => string, by = ' '): string =>
	Array.from({ length: count }, (_, at) => make(at)).join(by);

async function refusal(body: string, syntax?: string): Promise<string> {
	const error = await read(body, syntax).then(
		() => assert.fail('it was read'),
		(reason: unknown) => asGatewayError(reason) ?? assert.fail(reason as Error),
	);
	assert.equal(error.code, 'schema_invalid');
	return error.message;
}

test('reserved numbers and names are not compared with every field and every value', async ({ mock }) => {
	let compared = 0;
	for (const name of ['isReservedId', 'isReservedName'] as const) {
		mock.method(protobuf.Namespace, name, (reserved: unknown[] | undefined) => {
			compared += reserved?.length ?? 0;
			return false;
		});
	}
	const reserved = `reserved ${listed(5000, (index) => String(10_000 + 2 * index), ',')}; reserved ${listed(100, (at) => `"r${at}"`, ',')};`;
	const fields = listed(1000, (index) => `string f${index} = ${index + 1};`);
	const values = listed(1000, (index) => `V${index} = ${index};`);
	const { operations } = await read(`message M { ${reserved} ${fields} } enum E { ${reserved} ${values} }`);
	assert.equal(Object.keys(operations[0]?.parameters['properties'] ?? {}).length, 1000);
	assert.ok(compared < 10_000, `${compared} comparisons`);
});

const RESERVED: [what: string, body: string, says: RegExp][] = [
	['a field’s number', 'reserved 9, 2 to 4, 3; string a = 4;', /the number 4 of “M.a” is reserved in “M”/],
	['a number within a longer range', 'reserved 5 to 100, 7; oneof o { string a = 50; }', /the number 50 of “M.a” is reserved/],
	['a number up to the highest', 'reserved 5 to max; string b = 4; string a = 536870911;', /the number 536870911 of “M.a” is reserved/],
	['a number after its field', 'string a = 4; reserved 4;', /the number 4 of “M.a” is reserved/],
	['a field’s name', 'reserved "b", "a"; map<string, string> a = 1;', /the name of “M.a” is reserved in “M”/],
	['a value’s number', 'enum E { reserved -5 to -1; A = 0; B = -3; }', /the number -3 of “M.E.B” is reserved in “M.E”/],
	['a value’s name', 'enum E { reserved "B"; A = 0; B = 1; }', /the name of “M.E.B” is reserved/],
];
for (const [what, body, says] of RESERVED)
	test(`${what} that is reserved is refused`, async () => assert.match(await refusal(`message M { ${body} }`), says));

test('numbers beside the reserved ones are free', async () => {
	const { operations } = await read('message M { reserved 2 to 4, 6, 9 to max; reserved "x"; string a = 1; string b = 5; string c = 8; }');
	assert.deepEqual(Object.keys(operations[0]?.parameters['properties'] ?? {}), ['a', 'b', 'c']);
});

test('a group in a oneof is a field of the oneof, and its type is one of the message', async () => {
	const { operations } = await read('message M { oneof o { string a = 1; group Point = 2 { optional int32 x = 1; } } }', 'proto2');
	const { parameters } = operations[0] ?? assert.fail('no operation');
	assert.equal(parameters['description'], 'At most one of a, point.');
	assert.deepEqual((parameters['properties'] as JsonObject)['point'], { $ref: '#/$defs/M.Point' });
	const { properties } = (parameters['$defs'] as JsonObject)['M.Point'] as JsonObject;
	assert.deepEqual(Object.keys(properties ?? {}), ['x']);
});

test('extensions do not look for their messages again with each message that follows', async ({ mock }) => {
	const { lookup } = protobuf.Namespace.prototype;
	const { mock: looked } = mock.method(protobuf.Namespace.prototype, 'lookup', function (this: protobuf.Namespace, ...given: unknown[]) {
		return Reflect.apply(lookup, this, given);
	});
	const missing = listed(60, (at) => `extend Missing${at} { optional string a${at} = 1; } message M${at} {}`);
	const defined = listed(60, (at) => `extend M { optional string b${at} = ${at + 1}; }`);
	const { operations } = await read(`message M { extensions 1 to max; } ${missing} ${defined}`, 'proto2');
	const { $defs } = (operations[0] ?? assert.fail()).parameters as { $defs: Record<string, { properties: object }> };
	assert.equal(Object.keys($defs['M']?.properties ?? {}).length, 60);
	assert.ok(looked.callCount() < 200, `${looked.callCount()} looks`);
});

const TAKEN: [what: string, body: string, says: RegExp][] = [
	['of a field', 'optional string a = 1; } extend M { optional string b = 1;', /“b” has the number 1 of “M.a”/],
	['of another extension', '} extend M { optional string b = 1; } extend M { optional string c = 1;', /“c” has the number 1 of “b”/],
];
for (const [what, body, says] of TAKEN)
	test(`an extension with the number ${what} is refused`, async () => assert.match(await refusal(`message M { ${body} }`, 'proto2'), says));

const DROPPED: [what: string, body: string, says: RegExp][] = [
	[
		'a field',
		'message M { message N { string __proto__ = 1; } }',
		/“schema.proto” cannot be read: the message “N” uses the name “__proto__” \(line 2\)/,
	],
	['a member of a oneof', 'message M { oneof o { string __proto__ = 1; } }', /the message “M” uses/],
	['a message', 'message M {} message __proto__ {}', /cannot be read: it uses/],
	['a value', 'message M {} enum E { A = 0; __proto__ = 1; }', /the enum “E” uses/],
	['a method', 'message M {} service T { rpc __proto__(M) returns (M); }', /the service “T” uses/],
];
for (const [what, body, says] of DROPPED)
	test(`${what} named __proto__, which the parser drops, is refused`, async () => assert.match(await refusal(body), says));

const AMBIGUOUS: [what: string, body: string, says: RegExp][] = [
	[
		'of one JSON name',
		'string foo_bar = 1; string fooBar = 2;',
		/the fields “foo_bar” and “fooBar”, both of which “fooBar” can mean in JSON/,
	],
	[
		'of one given JSON name',
		'string a = 1 [json_name = "x"]; string b = 2 [json_name = "x"];',
		/the fields “a” and “b”, both of which “x” can/,
	],
	['with the name of another in JSON', 'string a = 1 [json_name = "b"]; string b = 2 [json_name = "c"];', /the fields “a” and “b”/],
	['of one name in camel case', 'string foo_bar = 1 [json_name = "x"]; string fooBar = 2 [json_name = "y"];', /“foo_bar” and “fooBar”/],
	['named like a oneof', 'oneof foo_bar { string a = 1; } string fooBar = 2;', /the field “fooBar” and the oneof “foo_bar”/],
	['that JSON names __proto__', 'string a = 1 [json_name = "__proto__"];', /the field “a”, whose name in JSON is "__proto__"/],
];
for (const [what, body, says] of AMBIGUOUS)
	test(`methods that reach a message with fields ${what} are skipped`, async () => {
		const { operations } = await read(`message N { ${body} } message H { repeated N n = 1; } message M { string a = 1; }
			service T { rpc Takes(N) returns (M); rpc Gives(M) returns (H); }`);
		const skipped = operations.filter(({ outcome }) => outcome === 'skipped');
		assert.deepEqual(
			skipped.map(({ key }) => key),
			['T/Takes', 'T/Gives'],
		);
		for (const { reasons } of skipped) assert.match(reasons.join(), says);
		assert.match(skipped[0]?.reasons[0] ?? '', /^In “schema.proto”, the message “N” has /);
		const others = operations.filter(({ outcome }) => outcome === 'converted');
		assert.deepEqual(
			others.map(({ key }) => key),
			['S/Call'],
		);
	});

test('an upload of which every method reaches such a message is refused', async () => {
	assert.match(await refusal('message M { string foo_bar = 1; string fooBar = 2; }'), /the message “M” has the fields/);
});
