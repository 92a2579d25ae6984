// Tests of the search for texts, beside the one of the language.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holds, replaceText } from './text-search.ts';

const a = (count: number): string => 'a'.repeat(count);
const LONG = `${a(300)}b${a(300)}`;
const CASES: [title: string, text: string, sought: string][] = [
	['a short text', 'xyxyx', 'xyx'],
	['a short text that is absent', 'xyxy', 'z'],
	['a long text that is the whole', LONG, LONG],
	['a long text twice, without overlaps', `${LONG}${LONG}b${a(300)}`, LONG],
	['a long text behind its own beginning', `${a(900)}b${a(299)}${a(5)}b${LONG}c`, LONG],
	['a long text of one letter', a(1000), a(301)],
	['a long text that is absent', `${a(900)}b${a(299)}c`, LONG],
	['a text that is too short', 'x', LONG],
	['a long text with pairs', `😀${'é😀'.repeat(200)}`, '😀é'.repeat(130)],
];
for (const [title, text, sought] of CASES)
	test(`${title} is found and replaced as the language does it`, () => {
		assert.equal(holds(text, sought), text.includes(sought));
		assert.equal(replaceText(text, sought, '[$&]'), text.split(sought).join('[$&]'));
	});

test('a text that repeats itself takes no longer for what is sought in it', () => {
	const text = a(400_000);
	const sought = `${a(8)}b${a(20_000)}`;
	const cpuMicros = (work: () => unknown): number => {
		const before = process.cpuUsage();
		work();
		const { user, system } = process.cpuUsage(before);
		return user + system;
	};
	const native = cpuMicros(() => text.includes(sought.slice(0, 4_000)));
	const ours = cpuMicros(() => holds(text, sought));
	assert.ok(ours < native, `${ours} and ${native} µs`);
});
