// Tests of forgotten passwords: the mail, its token, and what an outsider can learn from either.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { elapsing, until } from '../../../test/helpers/clock.ts';
import { readDocument } from '../../../test/helpers/document.ts';
import { administer } from '../../../test/helpers/postgres.ts';
import { type Account, must, registerAccount, send, startTestService, type TestService } from '../../../test/helpers/service.ts';
import { startMuteSmtp, startSmtp, type TestSmtp } from '../../../test/helpers/smtp.ts';

const ENV = { PUBLIC_URL: 'https://gate.example,https://second.example', FRONTEND_URL: 'https://console.example' };
const NEW = 'Another1Horse';

let smtp: TestSmtp;
let service: TestService;
let account: Account;
before(async () => {
	smtp = await startSmtp();
	service = await startTestService({ env: { ...ENV, ...smtp.env } });
	account = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	await smtp.stop();
});

const forgot = (email: unknown) => send(`${service.url}/auth/forgot-password`, 'POST', { body: { email } });
const reset = (token: unknown, newPassword: unknown = NEW) =>
	send(`${service.url}/auth/reset-password`, 'POST', { body: { token, newPassword } });
const logIn = (email: string, password: string) => send(`${service.url}/auth/login`, 'POST', { body: { email, password } });
const tokenIn = (text: string | undefined): string => /svc_rst_[\w-]{43}/.exec(text ?? '')?.[0] ?? assert.fail('no token in the mail');
const query = (sql: string) => {
	assert.ok(service.config.database);
	return administer(service.config.database, sql);
};

/** Requests a reset and reads its token out of the mail. */
async function askFor({ email }: Account): Promise<string> {
	must(await forgot(email), 200);
	const { to, mail } = await smtp.next();
	assert.deepEqual(to, [email]);
	return tokenIn(mail.text);
}

test('the mail goes to the registered address and holds the link, for a browser and for a program', async () => {
	must(await forgot(account.email.toUpperCase()), 200);
	const { from, to, mail } = await smtp.next();
	assert.deepEqual([from, to], ['gatehouse@gate.example', [account.email]]);
	assert.equal(mail.subject, 'Reset your password');
	const lines = (mail.text ?? '').split('\n');
	assert.ok(lines.includes(`https://console.example/reset-password#token=${tokenIn(mail.text)}`));
	assert.ok(lines.includes('POST https://gate.example/auth/reset-password'));
});

test('a reset sets the password, ends every login and every other reset, and works once', async () => {
	const person = await registerAccount(service.url);
	const other = must(await logIn(person.email, person.password), 200).body.data.token;
	const [first, second] = [await askFor(person), await askFor(person)];
	assert.deepEqual(must(await reset(second), 200).body, { success: true, data: { reset: true } });
	for (const token of [person.token, other]) {
		must(await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${token}` } }), 401);
	}
	must(await logIn(person.email, person.password), 401);
	must(await logIn(person.email, NEW), 200);
	for (const used of [first, second]) assert.equal(must(await reset(used, 'Third1Horse'), 400).body.details[0].path, '/token');
});

test('a reset that is used twice at once works once', async () => {
	const person = await registerAccount(service.url);
	const token = await askFor(person);
	const wanted = Array.from({ length: 5 }, (_, at) => `Horse${at}Correct`);
	const statuses = (await Promise.all(wanted.map((password) => reset(token, password)))).map(({ status }) => status);
	assert.deepEqual([...statuses].sort(), [200, 400, 400, 400, 400]);
	must(await logIn(person.email, wanted[statuses.indexOf(200)] ?? ''), 200);
});

test('a change of the password ends the resets that were asked for', async () => {
	const person = await registerAccount(service.url);
	const token = await askFor(person);
	must(await person.patch('/auth/change-password', { currentPassword: person.password, newPassword: NEW }), 200);
	must(await reset(token, 'Third1Horse'), 400);
});

test('after an hour a reset is over', async () => {
	const person = await registerAccount(service.url);
	const token = await askFor(person);
	const [left] = await query(
		"SELECT max(expires_at) - now() BETWEEN interval '59 minutes' AND interval '1 hour' AS \"isHour\" FROM password_resets",
	);
	assert.equal(left?.['isHour'], true);
	await query("UPDATE password_resets SET expires_at = now() - interval '1 second' WHERE used_at IS NULL");
	assert.equal(must(await reset(token), 400).body.details[0].path, '/token');
	must(await logIn(person.email, person.password), 200);
});

test('a token lies in the database as a hash only', async () => {
	const token = await askFor(account);
	const rows = JSON.stringify(await query("SELECT encode(hash, 'escape') AS hash, t.* FROM password_resets t"));
	assert.ok(!rows.includes(token) && !rows.includes(token.slice(8)));
});

const BAD: [id: string, body: unknown, field: string][] = [
	['an unknown token', { token: `svc_rst_${'A'.repeat(43)}`, newPassword: NEW }, '/token'],
	['no token', { newPassword: NEW }, '/token'],
	['an empty token', { token: '', newPassword: NEW }, '/token'],
	['a token of a megabyte', { token: 'x'.repeat(900_000), newPassword: NEW }, '/token'],
	['a list for a token', { token: ['x'], newPassword: NEW }, '/token'],
	['no password', { token: 'x' }, '/newPassword'],
	['a weak password', { token: 'x', newPassword: 'weak' }, '/newPassword'],
	['more than 72 bytes', { token: 'x', newPassword: `Aa1${'x'.repeat(70)}` }, '/newPassword'],
	['an address', { token: 'x', newPassword: NEW, email: 'a@example.com' }, '/email'],
];
for (const [id, body, field] of BAD) {
	test(`a reset with ${id} is a 400 that names ${field}`, async () => {
		const answer = must(await send(`${service.url}/auth/reset-password`, 'POST', { body }), 400);
		assert.ok(
			answer.body.details.some(({ path }: { path: string }) => path === field),
			JSON.stringify(answer.body),
		);
	});
}

const NO_ADDRESSES = [
	undefined,
	'',
	'ada',
	['ada@example.com'],
	'ada@example.com\r\nBcc: evil@example.com',
	'ada@example.com,evil@example.com',
	'ada@example.com evil@example.com',
	'Ada <ada@example.com>',
	'"ada@example.com" <evil@example.com>',
];
for (const email of NO_ADDRESSES) {
	test(`${JSON.stringify(email)} is no address to ask for: 400, and no mail`, async () => {
		const answer = must(await forgot(email), 400);
		assert.equal(answer.body.details[0].path, '/email');
		await sleep(50);
		assert.equal(smtp.waiting, 0);
	});
}

test('five resets of an account are valid at a time; further requests get the same answer and no mail', async () => {
	const person = await registerAccount(service.url);
	const bodies = [];
	for (let asked = 0; asked < 7; asked++) bodies.push(must(await forgot(person.email), 200).body);
	assert.equal(new Set(bodies.map((body) => JSON.stringify(body))).size, 1);
	for (let mailed = 0; mailed < 5; mailed++) assert.deepEqual((await smtp.next()).to, [person.email]);
	await sleep(200);
	assert.equal(smtp.waiting, 0);
});

test('a forged Host changes no link', async () => {
	const forged = {
		host: 'evil.example',
		'x-forwarded-host': 'evil.example',
		'x-forwarded-proto': 'http',
		forwarded: 'host=evil.example',
		origin: 'https://evil.example',
		referer: 'https://evil.example/',
	};
	const person = await registerAccount(service.url);
	const status = await new Promise((resolve, reject) => {
		const headers = { ...forged, 'content-type': 'application/json' };
		const sent = request(`${service.url}/auth/forgot-password`, { method: 'POST', headers }, (answer) => {
			answer.resume();
			resolve(answer.statusCode);
		});
		sent.on('error', reject).end(JSON.stringify({ email: person.email }));
	});
	assert.equal(status, 200);
	const { raw, mail } = await smtp.next();
	assert.ok(!raw.includes('evil'));
	assert.ok(mail.text?.includes('https://gate.example/auth/reset-password'));
});

test('known and unknown addresses get the same answer, not before 100 ms have passed', async () => {
	for (const email of [(await registerAccount(service.url)).email, `${randomBytes(4).toString('hex')}@example.com`]) {
		const isTime = elapsing(100);
		assert.deepEqual(must(await forgot(email), 200).body, { success: true, data: { requested: true } });
		assert.ok(isTime(), 'what happens behind the answer is over by then');
	}
	await smtp.next();
});

test('an unresponsive mail server slows no request, and does not keep the service from stopping', async () => {
	await using mute = await startMuteSmtp();
	const muted = await startTestService({ env: mute.env });
	const person = await registerAccount(muted.url);
	for (let asked = 0; asked < 3; asked++)
		must(await send(`${muted.url}/auth/forgot-password`, 'POST', { body: { email: person.email } }), 200);
	must(await person.get('/auth/profile'), 200);
	// The mail server has not answered by then, and does not until the service has stopped.
	await until(() => mute.connections() > 0, 'it was tried');
	await muted.stop();
});

test('without a mail server the mail is a file in the data folder', async () => {
	const silent = await startTestService();
	const person = await registerAccount(silent.url);
	must(await send(`${silent.url}/auth/forgot-password`, 'POST', { body: { email: person.email } }), 200);
	const folder = join(silent.config.dataDir, 'mail');
	const mails = (): string[] => (existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.eml')) : []);
	await until(() => mails().length === 1, 'the mail is there');
	const [name = ''] = mails();
	const token = tokenIn(readFileSync(join(folder, name), 'utf8'));
	must(await send(`${silent.url}/auth/reset-password`, 'POST', { body: { token, newPassword: NEW } }), 200);
	must(await send(`${silent.url}/auth/login`, 'POST', { body: { email: person.email, password: NEW } }), 200);
	await silent.stop();
});

test('its answers are what the document says', async () => {
	const person = await registerAccount(service.url);
	const judge = await readDocument(service.url);
	const token = await askFor(person);
	for (const given of [token, token, 'x']) assert.equal(judge.fault('POST /auth/reset-password', await reset(given)), null);
	for (const email of [person.email, 'nobody']) assert.equal(judge.fault('POST /auth/forgot-password', await forgot(email)), null);
});
