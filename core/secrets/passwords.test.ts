import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hash } from '@node-rs/bcrypt';
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

test('a password that somebody logs in with follows no rule but that of its length', () => {
	assert.equal(anyPassword.validate('x').error, undefined);
	assert.match(anyPassword.validate('x'.repeat(73)).error?.message ?? '', /at most 72 bytes/);
});

test('a password is told from another, also where bcrypt would read no further', async () => {
	const passwords = createPasswords();
	const long = `Aa1${'x'.repeat(69)}`;
	const stored = await passwords.hash(long);
	assert.equal(await passwords.verify(long, stored), true);
	assert.equal(await passwords.verify(`${long}y`, stored), false);
	assert.equal(await passwords.verify('nobody has this password', null), false);
});

test('a password is checked as long where there is no such user', async () => {
	const passwords = createPasswords();
	const stored = await passwords.hash('Correct1');
	const work = async (against: string | null): Promise<number> => {
		const before = process.cpuUsage();
		assert.equal(await passwords.verify('Wrong1Horse', against), false);
		return process.cpuUsage(before).user;
	};
	const [known, unknown] = [await work(stored), await work(null)];
	assert.ok(unknown > known / 2 && unknown < known * 2, `${unknown} µs against ${known} µs`);
});

test('two hundred wait, and whoever comes then is told to come back', async () => {
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
	// Two are under way.
	assert.deepEqual([checked, refused.length], [202, 8]);
	const error = asGatewayError(refused[0]);
	assert.deepEqual([error?.code, error?.headers], ['rate_limited', { 'retry-after': '10' }]);
	assert.equal(await passwords.verify('Correct1', cheap), true, 'there is room again');
});

test('while passwords are hashed the event loop is free, however many wait', async () => {
	const passwords = createPasswords();
	const all = Array.from({ length: 4 }, () => passwords.hash('Correct1'));
	let blockedMs = 0;
	let last = performance.now();
	const timer = setInterval(() => {
		blockedMs = Math.max(blockedMs, performance.now() - last);
		last = performance.now();
	}, 5);
	await Promise.all(all);
	clearInterval(timer);
	assert.ok(blockedMs < 100, `blocked for ${blockedMs} ms`);
});
