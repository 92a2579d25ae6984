import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { elapsing, isBeforeTimer, until } from '../../test/helpers/clock.ts';
import { startMuteSmtp, startSmtp } from '../../test/helpers/smtp.ts';
import { loadConfig } from '../config/config.ts';
import type { Log } from '../contract/nouns.ts';
import { createMail, type Mail } from './mail.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mail-'));
after(() => rmSync(folder, { recursive: true }));

const LETTER = { to: 'ada@example.com', subject: 'Secret subject', text: 'Secret text\n' };

/** Creates a mail queue and collects its log lines; closed at the end of the block. */
function openMail(env: Record<string, string>): { mail: Mail; logged: string[]; [Symbol.asyncDispose]: () => Promise<void> } {
	const logged: string[] = [];
	const keep = (fields: object, message?: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
	const log: Log = { debug: keep, info: keep, warn: keep, error: keep };
	const mail = createMail(loadConfig({ SVC_DATA_DIR: folder, ...env }), log);
	return { mail, logged, [Symbol.asyncDispose]: () => mail.close() };
}

const quiet = (logged: string[]): void => assert.doesNotMatch(logged.join('\n'), /ada@|example\.com|Secret/);

test('a mail reaches its one recipient over SMTP, from MAIL_FROM, as plain text that no machine shall answer', async () => {
	await using smtp = await startSmtp();
	await using opened = openMail({ ...smtp.env, MAIL_FROM: 'door@gatehouse.example' });
	const link = `http://localhost:3002/reset-password#token=svc_rst_${'x'.repeat(43)}`;
	assert.equal(opened.mail.send({ to: 'ada@example.com', subject: 'Grüße', text: `Ein Wörtchen:\n\n${link}\n` }, null), true);
	const { from, to, mail, raw } = await smtp.next();
	assert.deepEqual([from, to], ['door@gatehouse.example', ['ada@example.com']]);
	assert.deepEqual([mail.from?.address, mail.to?.map(({ address }) => address), mail.subject], [from, to, 'Grüße']);
	assert.equal(mail.text, `Ein Wörtchen:\n\n${link}\n`);
	assert.equal(mail.html, undefined);
	assert.match(raw, /^auto-submitted: auto-generated\r$/im);
});

const LOGIN = { user: 'gate@example.com', pass: 'smtp-secret' };

test('the mail server’s user logs in over TLS, and mails come from its address', async () => {
	await using smtp = await startSmtp({ login: LOGIN, tls: true });
	await using opened = openMail(smtp.env);
	opened.mail.send(LETTER, null);
	const { secure, user, from } = await smtp.next();
	assert.deepEqual([secure, user, from], [true, LOGIN.user, LOGIN.user]);
});

/** An address of this machine that the service takes for a remote one. */
const outer = Object.values(networkInterfaces())
	.flat()
	.find((address) => address && !address.internal && address.family === 'IPv4')?.address;

for (const [offer, tls] of [
	['offers no TLS', false],
	['shows a self-signed certificate', true],
] as const) {
	test(`a mail server across the network that ${offer} is sent no password`, { skip: outer === undefined }, async () => {
		await using smtp = await startSmtp({ host: outer ?? '', login: LOGIN, tls });
		await using opened = openMail(smtp.env);
		opened.mail.send(LETTER, null);
		await sleep(500);
		await opened.mail.close();
		assert.match(opened.logged.join('\n'), /could not be sent .*"error":"(ETLS|ESOCKET)"/);
		assert.deepEqual([smtp.logins, smtp.tries], [0, 0]);
	});
}

test('without MAIL_HOST a mail is a file in the data folder that only the service’s user can read', async () => {
	await using opened = openMail({});
	const link = `https://console.example/#token=${'x'.repeat(80)}`;
	opened.mail.send({ ...LETTER, text: `Secret text: ü\n\n${link}\n` }, null);
	await opened.mail.close();
	const mails = join(folder, 'mail');
	const [name = ''] = readdirSync(mails);
	assert.match(name, /^\d{8}T\d{9}Z-[0-9a-f]{16}\.eml$/);
	assert.equal(statSync(mails).mode & 0o777, 0o700);
	assert.equal(statSync(join(mails, name)).mode & 0o777, 0o600);
	const text = readFileSync(join(mails, name), 'utf8');
	assert.match(text, /^To: ada@example\.com$/m);
	assert.match(text, /^From: Gatehouse <gatehouse@localhost>$/m);
	assert.ok(text.split('\n').includes(link), 'a link can be copied out of it as it is');
	assert.equal((await PostalMime.parse(text)).text, `Secret text: ü\n\n${link}\n`);
	quiet(opened.logged);
});

const NO_ADDRESSES = [
	'',
	'ada',
	'@example.com',
	'ada@',
	'a@x.example\r\nBcc: evil@x.example',
	'a@x.example\nBcc: evil@x.example',
	'a@x.example\rBcc: evil@x.example',
	'a@x.example, evil@x.example',
	'a@x.example,evil@x.example',
	'a@x.example;evil@x.example',
	'a@x.example evil@x.example',
	'a@evil@x.example',
	'Ada <a@x.example>',
	'<a@x.example>',
	'"a b"@x.example',
	'a(comment)@x.example',
	'friends: a@x.example, evil@x.example;',
	'a@[127.0.0.1]',
	'a@x.example\0',
	'a@x.example\u2028evil@x.example',
	'a\u202e@x.example',
	`${'a'.repeat(250)}@x.example`,
];

test('a recipient that is not one bare address is refused and nothing is sent (catalog 87)', async () => {
	await using smtp = await startSmtp();
	await using opened = openMail(smtp.env);
	for (const to of NO_ADDRESSES) {
		assert.throws(() => opened.mail.send({ ...LETTER, to }, null), { code: 'validation_failed' }, JSON.stringify(to));
	}
	assert.ok(opened.mail.send(LETTER, null));
	assert.deepEqual((await smtp.next()).to, [LETTER.to], 'the control arrives, and alone');
	assert.deepEqual([smtp.tries, smtp.waiting], [1, 0]);
});

test('a name in the subject or the text cannot add a header, a line or a direction', async () => {
	await using smtp = await startSmtp();
	await using opened = openMail(smtp.env);
	const subject = 'Join A\r\nBcc: evil@x.example\r\n\r\nBody\u2028\u202eB\x07';
	opened.mail.send({ ...LETTER, subject, text: 'Dear\x00\x1b[31m you,\r\n.\r\nQUIT\n' }, null);
	const { to, mail, raw } = await smtp.next();
	assert.deepEqual(to, [LETTER.to]);
	assert.equal(mail.subject, 'Join A Bcc: evil@x.example Body B');
	assert.doesNotMatch(raw, /^bcc:/im);
	assert.equal(mail.text, 'Dear[31m you,\n.\nQUIT\n');
});

test('a mail that the server defers is tried three times in all', async () => {
	// Two mails of three tries each: the last of the six goes through.
	await using smtp = await startSmtp({ refusals: [451, 451, 451, 451, 451] });
	await using opened = openMail(smtp.env);
	const areOver = elapsing(4900);
	opened.mail.send(LETTER, null);
	opened.mail.send(LETTER, null);
	assert.equal((await smtp.next()).to[0], LETTER.to);
	assert.ok(areOver(), 'after growing pauses');
	assert.equal(smtp.tries, 6);
	assert.match(opened.logged.join('\n'), /^a mail could not be sent \{"mailId":"[0-9a-f]{16}","tries":3,"error":"EENVELOPE"\}$/);
	quiet(opened.logged);
});

test('a mail that the server refuses permanently is not retried, and is logged without its address or text', async () => {
	await using smtp = await startSmtp({ refusals: [550] });
	await using opened = openMail(smtp.env);
	opened.mail.send(LETTER, null);
	await until(() => opened.logged.length > 0, 'it is logged');
	assert.match(opened.logged.join('\n'), /^a mail could not be sent \{"mailId":"[0-9a-f]{16}","tries":1,"error":"EENVELOPE"\}$/);
	quiet(opened.logged);
	assert.equal(smtp.tries, 1);
});

test('a mail server that is down does not fail the sender', async () => {
	const smtp = await startSmtp();
	await smtp.stop();
	await using opened = openMail(smtp.env);
	assert.equal(opened.mail.send(LETTER, null), true);
	await sleep(300);
	await opened.mail.close();
	assert.match(opened.logged.join('\n'), /"tries":2,"error":"ESOCKET"/);
	quiet(opened.logged);
});

test('a silent mail server delays no sender; the queue is bounded, and so is closing', async () => {
	await using mute = await startMuteSmtp();
	const { mail, logged } = openMail(mute.env);
	// Each is taken or not in the turn in which it is handed over.
	const accepted = Array.from({ length: 150 }, () => mail.send(LETTER, null)).filter(Boolean).length;
	assert.equal(accepted, 102, 'two under way, a hundred waiting');
	await until(() => mute.connections() === 2, 'two are under way');
	assert.ok(await isBeforeTimer(9_000, mail.close()), 'closing waits five seconds at most, and not for the ten of a silent connection');
	assert.equal(mail.send(LETTER, null), false, 'nothing is taken after the end');
	assert.match(logged.join('\n'), /stopped with mails unsent/);
	quiet(logged);
});

test('one account has a quarter of the queue, and mails of others find a place', async () => {
	await using mute = await startMuteSmtp();
	await using opened = openMail(mute.env);
	const { mail, logged } = opened;
	assert.equal(Array.from({ length: 60 }, () => mail.send(LETTER, 'one')).filter(Boolean).length, 27, 'two under way, 25 waiting');
	assert.deepEqual([mail.send(LETTER, 'other'), mail.send(LETTER, null), mail.send(LETTER, 'one')], [true, true, false]);
	assert.match(logged.join('\n'), /too many wait .*"isShareFull":true/);
});

test('closing gives mails that wait for a retry their last try', async () => {
	await using smtp = await startSmtp({ refusals: [451] });
	const { mail } = openMail(smtp.env);
	mail.send(LETTER, null);
	await until(() => smtp.tries === 1, 'it was tried');
	await sleep(100);
	await mail.close();
	assert.equal((await smtp.next()).to[0], LETTER.to);
});
