// Tests which tags of a request stand for what the client has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knowsTag } from './conditions.ts';

for (const [given, tag, expected] of [
	[undefined, '"a"', false],
	['', '"a"', false],
	['"a"', '"a"', true],
	['W/"a"', '"a"', true],
	['"a"', 'W/"a"', true],
	['W/"a"', 'W/"a"', true],
	['"b" , W/"a"', '"a"', true],
	['*', '"a"', true],
	['"b", "W/a"', '"a"', false],
	['a', '"a"', false],
	['w/"a"', '"a"', false],
] as const)
	test(`${given} ${expected ? 'knows' : 'does not know'} ${tag}`, () => assert.equal(knowsTag(given, tag), expected));
