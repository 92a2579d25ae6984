// Tests many clients at once over two replicas on one PostgreSQL and Redis (rows 90 and 91): one gets what only one can have, the others
// get an error, and the data stay consistent. On a slow machine a racer may learn that the database is busy, and retries.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HELD_ELSEWHERE, OUTAGES, RACES } from '../catalog/concurrency.ts';
import { type Answer, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

let replicas: [TestService, TestService];
before(async () => {
	const first = await startTestService();
	replicas = [first, await startTestService({ replicaOf: first })];
});
after(async () => {
	const [first, second] = replicas;
	await second.stop();
	await first.stop();
});

/** Repeats a request until its answer is not the 503 of a busy database, whose sentence and `Retry-After` are checked each time. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
	for (;;) {
		const answer = await ask();
		if (answer.status !== 503) return answer;
		const { error, message } = answer.body;
		const told = [error, message, answer.headers.get('retry-after')];
		assert.deepEqual(told, ['UNAVAILABLE', 'The database is busy at the moment. Try again shortly.', '1']);
		await sleep(1_000);
	}
}

for (const { row, id, times, arrange, won, winners, lost, left, leaves } of RACES) {
	const how = winners === null ? 'one is done and the rest hear of it' : `${winners} of ${times}`;
	test(`${row}: ${times} ${id} at once: ${how}`, async () => {
		const account = await registerAccount(replicas[0].url);
		const racer = await arrange(account);
		const answers = await Promise.all(
			Array.from({ length: times }, (_none, at) => {
				const { method, path, body, headers } = racer(at);
				const service = replicas[at % 2 === 0 ? 0 : 1];
				const sent = { body, headers: { authorization: `Bearer ${account.token}`, ...headers } };
				return answered(() => send(service.url + path, method, sent));
			}),
		);
		const good = answers.filter(({ status }) => status === won);
		const bad = answers.filter(({ status }) => status !== won);
		const odd = bad.find(({ status }) => !lost.includes(status));
		assert.equal(odd, undefined, JSON.stringify(odd?.body));
		if (winners === null) assert.ok(good.length > 0);
		else assert.equal(good.length, winners);
		for (const { status, body } of bad.filter((answer) => answer.status >= 400))
			assert.deepEqual([body.success, body.statusCode, typeof body.message], [false, status, 'string']);
		if (left) assert.deepEqual(await left(account, good), leaves);
	});
}

test('rows 90, 91, 95 and 96 are here, and what holds them elsewhere is there', () => {
	const rows = [...RACES, ...OUTAGES].map(({ row }) => row);
	assert.deepEqual([...new Set(rows)].sort(), [90, 91, 95, 96]);
	assert.ok(rows.length >= 35, `${rows.length} cases`);
	for (const file of Object.values(HELD_ELSEWHERE).flat()) assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), file);
	const names = RACES.map(({ id }) => id);
	assert.equal(new Set(names).size, names.length);
});
