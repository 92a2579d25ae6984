import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTime, nextTimes, starts } from './schedules.ts';

const KYIV = 'Europe/Kyiv';
const times = (cron: string, from: string, count: number, timeZone = KYIV): (string | undefined)[] => {
	let at: Date | null = new Date(from);
	return Array.from({ length: count }, () => {
		at = at && nextTime({ cron, timeZone }, at);
		return at?.toISOString().slice(0, 16);
	});
};

test('a time is that of its zone, in summer and in winter', () => {
	assert.deepEqual(times('0 9 * * *', '2026-10-24T00:00:00Z', 2), ['2026-10-24T06:00', '2026-10-25T07:00']);
});

test('a time that the clocks repeat comes once, and one that they skip is not lost', () => {
	assert.deepEqual(times('30 3 * * *', '2026-10-24T12:00:00Z', 2), ['2026-10-25T00:30', '2026-10-26T01:30']);
	assert.equal(new Set(times('30 3 * * *', '2026-03-28T12:00:00Z', 3).map((time) => time?.slice(0, 10))).size, 3);
});

test('half hours have no hole when the clocks change', () => {
	const found = times('*/30 * * * *', '2026-03-28T23:00:00Z', 8).map((time) => Date.parse(`${time}Z`));
	assert.ok(found.slice(1).every((time, index) => time - (found[index] ?? 0) === 30 * 60_000));
});

test('a schedule without a further time has none', () => {
	assert.equal(nextTime({ cron: '0 0 30 2 *', timeZone: 'UTC' }, new Date('2026-01-01T00:00:00Z')), null);
});

test('a day that none of several months has is said to be none', () => {
	assert.throws(() => nextTime({ cron: '0 0 31 2,4,6,9,11 *', timeZone: 'UTC' }, new Date()), /a time that is still to come/);
});

test('an expression or a zone that is none is refused', () => {
	for (const [cron, timeZone] of [
		['every day', KYIV],
		['61 * * * *', KYIV],
		['* * * * *', 'Europe/Nowhere'],
	] as const)
		assert.throws(() => nextTime({ cron, timeZone }, new Date()), { code: 'validation_failed' }, `${cron} ${timeZone}`);
});

const DUE = { overlap: 'allow', missed: 'skip', isBusy: false, lateMs: 5 } as const;

test('a due time starts a run, a missed one only if the schedule says so, one of a busy schedule as it says', () => {
	assert.equal(starts(DUE), true);
	assert.equal(starts({ ...DUE, lateMs: 61_000 }), false);
	assert.equal(starts({ ...DUE, lateMs: 61_000, missed: 'once' }), true);
	assert.equal(starts({ ...DUE, isBusy: true }), true);
	assert.equal(starts({ ...DUE, isBusy: true, overlap: 'skip' }), false);
	assert.equal(starts({ ...DUE, lateMs: 61_000, overlap: 'queue' }), false);
});

test('a next time is after the one that it is asked about, in the hours that clocks repeat too', () => {
	for (const [timeZone, from] of [
		['Europe/Berlin', '2027-10-30T23:50:00Z'],
		['America/New_York', '2027-11-07T04:50:00Z'],
		['Australia/Lord_Howe', '2027-04-03T14:20:00Z'],
	] as const)
		for (const cron of ['* * * * *', '*/5 * * * *', '30 1 * * *', '30 2 * * *', '0 3 * * 0'])
			for (let minutes = 0; minutes < 200; minutes += 7) {
				const after = new Date(Date.parse(from) + minutes * 60_000);
				const [next, ...later] = nextTimes({ cron, timeZone }, after, 3);
				assert.ok(
					next && next > after && later.every((time, at) => time > (later[at - 1] ?? next)),
					`${cron} ${timeZone} ${after.toISOString()}`,
				);
				assert.deepEqual(nextTime({ cron, timeZone }, after), next);
			}
});
