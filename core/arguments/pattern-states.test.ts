// The estimate of a pattern's states compared with RE2's program.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RE2JS } from 're2js';
import { patternStates } from './pattern-states.ts';

/** Returns null if RE2 refuses the pattern. */
function realStates(pattern: string): number | null {
	try {
		return RE2JS.compile(RE2JS.translateRegExp(pattern)).programSize();
	} catch {
		return null;
	}
}

const WRITTEN = [
	...['', 'a', '^a$', '^(a|b0){1,900}$', '^a{1,900}$', '^[a-z]{100}$', '(abcdefgh){0,900}', '^(a{30}){30}$', '((a{2}){2}){2}'],
	...[
		'((a{0,10}){0,10}){0,10}',
		'\\p{L}{1,900}',
		'[\\p{L}\\p{N}]{1,500}',
		'(?:a|b|c|d)*(?:a|b)+',
		'\\u{1000}',
		'\\x{41}',
		'a{',
		'a{,3}',
		'[]a]{3}',
	],
	...[
		'[^]]{5}',
		'(?<n>a){3}',
		'\\Qa{9}\\E',
		'(a+){10}',
		'a{0}',
		'(){1000}',
		'(|){999}',
		'(?i)k{10}',
		'\\pL{10}',
		'\\b{10}',
		'^{10}',
		'$*',
		'\\',
	],
];

/** Yields the same numbers each time: a linear congruential generator. */
function* randomPatterns(count: number): Generator<string> {
	const parts = [
		'a',
		'b',
		'[a-z]',
		'\\d',
		'.',
		'(',
		'(',
		')',
		')',
		'|',
		'*',
		'+',
		'?',
		'{2}',
		'{1,3}',
		'{3,}',
		'{0,7}',
		'^',
		'$',
		'\\p{L}',
		'(?:',
	];
	let state = 1;
	const next = (below: number): number => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
		return (state >> 8) % below;
	};
	for (let made = 0; made < count; made++) yield Array.from({ length: 1 + next(14) }, () => parts[next(parts.length)]).join('');
}

test('the estimate of a pattern is never below RE2’s own count', () => {
	let compared = 0;
	for (const pattern of [...WRITTEN, ...randomPatterns(20_000)]) {
		const real = realStates(pattern);
		if (real === null) continue;
		compared++;
		assert.ok(patternStates(pattern) >= real, `${pattern}: ${patternStates(pattern)} estimated, ${real} made`);
	}
	assert.ok(compared > 1500, `${compared} patterns were compared`);
});

test('the estimate of a usual pattern is no more than three times RE2’s own count', () => {
	for (const pattern of ['^[a-z0-9-]{1,63}$', '^\\d{4}-\\d{2}-\\d{2}$', '^[\\p{L}\\p{N}_.:/=+@-]{1,256}$', '^(?:https?://)?[^\\s/]+/\\S*$'])
		assert.ok(patternStates(pattern) <= 3 * (realStates(pattern) ?? 0) + 100, `${pattern}: ${patternStates(pattern)}`);
});
