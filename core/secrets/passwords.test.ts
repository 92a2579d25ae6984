import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hash } from '@node-rs/bcrypt';
import { longestTurnMs, processCpuMs } from '../../test/helpers/clock.ts';
import { asGatewayError } from '../contract/errors.ts';
import { anyPassword, createPasswords, passwordRule } from './passwords.ts';

const RULE: [password: string, fault: RegExp | null][] = [
	['Correct1', null],
	['Übermut9', null],
	[`Aa1${'x'.repeat(69)}`, null],
	['Short1a', /at least 8/],
	['alllower1', /upper-case/],
	['ALLUPPER1', /lower-case/],
	['NoDigitsHere', /a digit/],
	[`Aa1${'x'.repeat(70)}`, /at most 72 bytes/],
	[`Aa1${'ü'.repeat(35)}`, /at most 72 bytes/],
];
for (const [password, fault] of RULE) {
	test(`as a new password, "${password.slice(0, 12)}" of ${Buffer.byteLength(password)} bytes is ${fault ? 'refused' : 'taken'}`, () => {
		const { error } = passwordRule.validate(password);
		if (fault) assert.match(error?.message ?? '', fault);
		else assert.equal(error, undefined);
	});
}

test('a password at login is checked for its length only', () => {
	assert.equal(anyPassword.validate('x').error, undefined);
	assert.match(anyPassword.validate('x'.repeat(73)).error?.message ?? '', /at most 72 bytes/);
});

test('two passwords are distinguished even when they differ only in bytes that bcrypt ignores', async () => {
	const passwords = createPasswords(4);
	const long = `Aa1${'x'.repeat(69)}`;
	const stored = await passwords.hash(long);
	assert.equal(await passwords.verify(long, stored), true);
	assert.equal(await passwords.verify(`${long}y`, stored), false);
	assert.equal(await passwords.verify('nobody has this password', null), false);
});

test('passwords are hashed at a cost of 12, unless another is configured', async () => {
	assert.match(await createPasswords().hash('Correct1'), /^\$2b\$12\$/);
	assert.match(await createPasswords(4).hash('Correct1'), /^\$2b\$04\$/);
});

for (const cost of [undefined, 10]) {
	test(`a password check takes as long for an unknown user, at ${cost ? `a cost of ${cost}` : 'the ordinary cost'}`, async () => {
		const passwords = createPasswords(cost);
		const stored = await passwords.hash('Correct1');
		const work = (against: string | null): Promise<number> =>
			processCpuMs(async () => assert.equal(await passwords.verify('Wrong1Horse', against), false));
		let [known, unknown] = [0, 0];
		// A check at the ordinary cost takes so long that one of each is enough.
		for (let round = 0; round < (cost ? 3 : 1); round++) {
			known += await work(stored);
			unknown += await work(null);
		}
		// A cost one lower or higher would take half or twice the time.
		assert.ok(unknown > known / 1.8 && unknown < known * 1.8, `${unknown} ms against ${known} ms`);
	});
}

test('two hundred checks wait, and further ones are refused as unavailable', async () => {
	const passwords = createPasswords();
	const cheap = await hash('Correct1', { cost: 4 });
	const refused: unknown[] = [];
	let checked = 0;
	const all = Array.from({ length: 210 }, () =>
		passwords.verify('Correct1', cheap).then(
			(matches) => matches && checked++,
			(error) => refused.push(error),
		),
	);
	await Promise.all(all);
	// Two of the 202 are running.
	assert.deepEqual([checked, refused.length], [202, 8]);
	const error = asGatewayError(refused[0]);
	assert.deepEqual([error?.code, error?.headers], ['rate_limited', { 'retry-after': '10' }]);
	assert.equal(await passwords.verify('Correct1', cheap), true, 'there is room again');
});

test('while passwords are hashed the event loop is free, however many wait', async () => {
	const passwords = createPasswords();
	const blockedMs = await longestTurnMs(() => Promise.all(Array.from({ length: 3 }, () => passwords.hash('Correct1'))));
	assert.ok(blockedMs < 100, `blocked for ${blockedMs} ms`);
});
