// Tests of work that another request ends, over two replicas that share announcements.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryRecords } from '../../testing/memory-records.ts';
import type { Caller } from '../contract/nouns.ts';
import { NamedWorks, type WorkScope } from './named-work.ts';

const caller = (change: Partial<Caller> = {}): Caller => ({ method: 'key', subject: 'key:1', scopes: [], ...change });
const scope = (change: Partial<WorkScope> = {}): WorkScope => ({
	...{ plugin: 'transport:mcp', organizationId: 'o', gateway: { id: 'g' }, caller: caller() },
	...change,
});

function replicas(): { here: NamedWorks; there: NamedWorks } {
	const changes = new MemoryRecords();
	return { here: new NamedWorks(changes), there: new NamedWorks(changes) };
}

test('work ends on whichever replica it was begun, and nothing is kept of what is finished', () => {
	const { here, there } = replicas();
	const [one, two] = [here.of(scope()).begin('n'), here.of(scope()).begin('n')];
	there.of(scope()).end('n');
	assert.deepEqual([one.signal.aborted, two.signal.aborted], [true, true]);
	one.finish();
	assert.equal(here.size, 1);
	two.finish();
	two.finish();
	assert.equal(here.size, 0);
});

test('nobody ends the work of another caller, credential, gateway, organization, plugin or name', () => {
	const { here, there } = replicas();
	const { signal } = here.of(scope()).begin('n');
	const others: WorkScope[] = [
		scope({ caller: caller({ subject: 'key:2' }) }),
		scope({ caller: caller({ credential: 'login:1' }) }),
		scope({ caller: null }),
		scope({ gateway: { id: 'other' } }),
		scope({ gateway: null }),
		scope({ organizationId: 'other' }),
		scope({ plugin: 'transport:other' }),
	];
	for (const other of others) there.of(other).end('n');
	there.of(scope()).end('m');
	assert.equal(signal.aborted, false);
});

test('an end that comes first is remembered, by an organization that floods only for itself', () => {
	const { here, there } = replicas();
	there.of(scope()).end('early');
	for (let at = 0; at < 1_000; at++) there.of(scope({ organizationId: 'other' })).end(`flood ${at}`);
	assert.equal(here.of(scope()).begin('early').signal.aborted, true);
	assert.equal(here.of(scope({ organizationId: 'other' })).begin('flood 1').signal.aborted, false);
	assert.equal(here.of(scope({ organizationId: 'other' })).begin('flood 999').signal.aborted, true);
});

test('a name of any length and content is one topic that any channel carries', () => {
	const changes = new MemoryRecords();
	const heard: string[] = [];
	changes.subscribe((topics) => heard.push(...topics));
	new NamedWorks(changes).of(scope()).end(`${'x'.repeat(100_000)}\nwork:o:y`);
	assert.match(heard.join(), /^work:o:[\w-]{32}$/);
});
