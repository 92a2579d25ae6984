// Tests the two ways of announcements of runs: Redis, and PostgreSQL while it is away.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createCarrier } from '../../core/shared/carrier.ts';
import type { Carrier } from '../../core/store/carrier.ts';
import type { Topic } from '../../core/store/store.ts';
import { openStore } from '../../db/index.ts';
import { until } from '../helpers/clock.ts';
import { startRedis } from '../helpers/redis.ts';
import { addTenant } from '../helpers/samples.ts';
import { silent } from '../helpers/silent.ts';
import { PATIENT, testStore } from '../helpers/store.ts';

const USUAL = { definition: null, input: null, trigger: 'manual', priority: 0, deadlineMs: null, parentId: null, dedupe: null } as const;
const KIND = { kind: 'carried', perAccount: null, perAccountUnfinished: null, maxLosses: 5 };

test('runs are announced over Redis, by PostgreSQL while it is away, and nothing else is heard there', async () => {
	const redis = await startRedis();
	const keyPrefix = `gatehouse-test-${randomBytes(6).toString('hex')}:`;
	await using base = await testStore();
	const { organizationId } = await addTenant(base);
	const sent: boolean[] = [];
	const replica = async () => {
		const carrier = createCarrier({ host: redis.host, port: redis.port, keyPrefix }, silent);
		const watched: Carrier = {
			...carrier,
			async send(texts) {
				const isSent = await carrier.send(texts);
				sent.push(isSent);
				return isSent;
			},
		};
		const store = await openStore({ database: base.database, dataDir: '', migrate: false, log: silent, waits: PATIENT, carrier: watched });
		const heard: Topic[] = [];
		store.changes.subscribe((topics) => void heard.push(...topics));
		const close = async (): Promise<void> => {
			await store.close();
			await carrier.close();
		};
		return { store, carrier, heard, close };
	};
	const [one, other] = [await replica(), await replica()];
	const add = async (): Promise<string> => {
		const added = await one.store.runQueue.add({ ...USUAL, organizationId, kind: 'carried', here: false, onLoss: 'resume' }, KIND);
		const { id } = added?.run ?? assert.fail();
		await one.store.runQueue.cancel(organizationId, id, 'no more');
		return id;
	};
	const hears = (id: string): Promise<void> => until(() => other.heard.includes(`run:ended:${id}`), 'the other replica hears of it');
	try {
		await until(() => one.carrier.send(['run:x']), 'the first is connected');
		await until(() => other.carrier.send(['run:x']), 'the other is connected');
		await hears(await add());
		assert.deepEqual(new Set(sent), new Set([true]));
		await one.carrier.send(['*\norg:1\nuser:2\nrun:here']);
		await until(() => other.heard.includes('run:here'), 'the run is heard');
		assert.ok(!other.heard.includes('*') && !other.heard.some((topic) => topic.startsWith('org:1')));
		await redis.stop();
		sent.length = 0;
		await hears(await add());
		assert.ok(sent.length > 0 && sent.every((isSent) => !isSent));
	} finally {
		await one.close();
		await other.close();
		await redis.stop();
	}
});
