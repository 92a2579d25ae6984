import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Records, StoredRecord } from '../core/contract/nouns.ts';
import { createSecrets } from '../core/secrets/envelopes.ts';
import { createRecordServices, PluginRecords } from '../core/shared/plugin-records.ts';
import { addGateway, addTenant } from '../test/helpers/samples.ts';
import { testStore } from '../test/helpers/store.ts';
import { fakeCall } from './fake-call.ts';

const shown = (record: StoredRecord | null) =>
	record && {
		...{ key: record.key, value: record.value, tags: record.tags, revision: record.revision, sealed: record.sealed },
		...{ isTaken: record.takenAt !== null, expires: record.expiresAt !== null, isNew: record.createdAt <= record.updatedAt },
	};
const codeOf = (work: Promise<unknown>): Promise<string> =>
	work.then(
		() => 'done',
		(error: { code?: string; name: string }) => error.code ?? error.name,
	);
const keysOf = ({ records }: { records: StoredRecord[] }): string => records.map(({ key }) => key).join('');
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** Uses every verb. @returns what was seen */
async function story(records: Records): Promise<unknown[]> {
	const seen: unknown[] = [];
	for (const key of 'abcd') {
		await records.put(key, { n: key }, { tags: key === 'b' ? ['t', 'u'] : ['t'] });
		await tick();
	}
	const see = async (what: unknown) => seen.push(await what);
	await see(records.get('a').then(shown));
	await see(records.get('none').then(shown));
	await see(records.add('a', {}));
	await see(records.add('e', { n: 1 }, { tags: ['e'], ttlMs: 60_000 }));
	await see(records.update('b', 1, { n: 2 }, { tags: ['t', 'v'] }));
	await see(records.update('b', 1, { n: 3 }));
	await see(records.update('none', 1, {}));
	await see(records.get('b').then(shown));
	await tick();
	await see(records.take('c').then(shown));
	await see(records.take('c').then(shown));
	for (const sort of ['createdAt', '-createdAt', 'updatedAt', '-updatedAt']) await see(records.find('t', { sort }).then(keysOf));
	await see(records.find({ all: ['t', 'v'] }).then(keysOf));
	await see(records.find({ all: [] }).then(keysOf));
	const first = await records.find('t', { limit: 3, sort: '-updatedAt' });
	await see(keysOf(first));
	await see(records.find('t', { sort: '-updatedAt', cursor: first.nextCursor ?? assert.fail() }).then(keysOf));
	await see(codeOf(records.find('t', { sort: 'updatedAt', cursor: first.nextCursor ?? '' })));
	await see(codeOf(records.find('t', { cursor: 'nonsense' })));
	await see(codeOf(records.find('t', { sort: 'key' })));
	await see(records.count('t'));
	await see(records.count({ all: [] }, 2));
	await see(records.put('c', { n: 'again' }, {}).then(() => records.get('c').then(shown)));
	await see(records.remove('a'));
	await see(records.remove('a'));
	await see(records.put('old', {}, { tags: ['old'], ttlMs: 1 }).then(tick));
	await see(records.get('old'));
	await see(records.count('old'));
	await see(records.update('old', 1, {}));
	await see(records.add('old', { n: 'new' }).then(async (added) => [added, shown(await records.get('old'))]));
	await see(records.put('s', { token: 'canary', list: [{ key: 1 }] }, { sealed: ['/token', '/list/0/key'] }));
	await see(records.get('s').then(shown));
	await see(records.update('s', 1, { token: 'next', list: [{ key: 2 }] }));
	await see(codeOf(records.update('s', 2, { list: [] })));
	await see(records.get('s').then(shown));
	await see(codeOf(records.put('', {})));
	await see(codeOf(records.drop({ all: [] })));
	await see(records.drop({ all: ['t'] }));
	const leaving = new AbortController();
	await records.put('w', { n: 1 }, { watched: true });
	for await (const record of records.watch('w', leaving.signal)) {
		seen.push(shown(record));
		if (record === null) leaving.abort();
		else if (record.revision < 3) await records.update('w', record.revision, { n: record.revision + 1 });
		else await records.remove('w');
	}
	await records.put('quiet', {});
	await see(codeOf(records.watch('quiet', new AbortController().signal)[Symbol.asyncIterator]().next()));
	return seen;
}

test('records in memory tell the same story as those in the database', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const gatewayId = (await addGateway(store, organizationId)).id;
	const accountOf = async (): Promise<string> => 'account';
	const services = createRecordServices({ store, secrets: createSecrets('ab'.repeat(32)), accountOf });
	const stored = new PluginRecords({ store: store.records, services }, { organizationId, gatewayId, plugin: 'executor:fake' });
	await using fake = fakeCall();
	const expected = await story(stored);
	assert.deepEqual(await story(fake.call.records), expected);
	assert.ok(expected.length > 40);
	services.close();
});
