import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaTypeOf } from './media-type.ts';

const TYPES: [header: string | undefined, type: string][] = [
	['application/json', 'application/json'],
	[' Application/JSON ; charset="utf-8"', 'application/json'],
	['application/json;charset=a;charset=b', 'application/json'],
	['application/json x', 'application/json x'],
	['multipart/form-data', 'multipart/form-data'],
	[';', ''],
	['', ''],
	[undefined, ''],
];
for (const [header, type] of TYPES) {
	test(`${header} is of the type "${type}"`, () => assert.equal(mediaTypeOf(header), type));
}
