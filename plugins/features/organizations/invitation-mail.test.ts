// Tests of the mail of an invitation, received by a real mail server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Account, must, registerAccount, send, startTestService, type TestService } from '../../../test/helpers/service.ts';
import { startMuteSmtp, startSmtp, type TestSmtp } from '../../../test/helpers/smtp.ts';

let smtp: TestSmtp;
let service: TestService;
let owner: Account;

before(async () => {
	smtp = await startSmtp();
	service = await startTestService({
		env: { ...smtp.env, FRONTEND_URL: 'https://console.example', PUBLIC_URL: 'https://gatehouse.example' },
	});
	owner = await registerAccount(service.url, 'Acme');
});
after(async () => {
	await service.stop();
	await smtp.stop();
});

const path = (organization = owner.organization.id): string => `/organizations/${organization}/invitations`;

test('the mail goes to the invited address alone, and says who invites where, as what, and how to accept', async () => {
	const { token, url } = must(await owner.post(path(), { email: 'Bob@example.com', role: 'viewer' }), 201).body.data;
	const { to, mail } = await smtp.next();
	assert.deepEqual(to, ['Bob@example.com']);
	assert.equal(mail.subject, 'Invitation to Acme');
	const text = mail.text ?? '';
	for (const part of ['Ada Byron', owner.email, '"Acme"', 'viewer', 'seven days', 'Bob@example.com']) assert.ok(text.includes(part), part);
	assert.equal(url, `https://console.example/invitation#token=${token}`);
	assert.ok(text.split('\n').includes(url), 'the link stands on a line of its own');
	assert.ok(text.includes('POST https://gatehouse.example/invitations/accept'));
	assert.ok(text.includes(`{"token":"${token}"}`));
	assert.equal(mail.html, undefined);
});

test('whoever got the mail registers with its address and joins by its token', async () => {
	must(await owner.post(path(), { email: 'new.one@example.com', role: 'admin' }), 201);
	const [token] = /svc_inv_[\w-]+/.exec((await smtp.next()).mail.text ?? '') ?? assert.fail('no token in the mail');
	const body = { email: 'new.one@example.com', password: 'Correct1Horse', firstName: 'New', lastName: 'One', organizationName: 'Own' };
	const made = must(await send(`${service.url}/auth/register`, 'POST', { body }), 201).body.data;
	const headers = { authorization: `Bearer ${made.token}` };
	const joined = must(await send(`${service.url}/invitations/accept`, 'POST', { body: { token }, headers }), 200).body.data;
	assert.deepEqual([joined.name, joined.role], ['Acme', 'admin']);
});

test('names cannot write lines of their own into the mail, nor turn its text around', async () => {
	const name = 'Evil\r\nBcc: evil@example.com\r\n\r\nhttps://evil.example\u2028\u202Ednim';
	const { id } = must(await owner.post('/organizations', { name }), 201).body.data;
	must(await owner.patch(`/organizations/${id}`, { name }), 200);
	must(await owner.post(path(id), { email: 'victim@example.com' }), 201);
	const { to, mail, raw } = await smtp.next();
	assert.deepEqual(to, ['victim@example.com']);
	assert.equal(mail.bcc, undefined);
	assert.doesNotMatch(raw, /^bcc:/im);
	assert.doesNotMatch(mail.subject ?? '', /[\p{Cc}\u2028\u202E]/u);
	const lines = (mail.text ?? '').split('\n').filter((line) => line.includes('evil'));
	assert.equal(lines.length, 1);
	assert.match(lines[0] ?? '', /^Ada Byron .* "Evil Bcc: evil@example\.com https:\/\/evil\.example dnim" /);
});

test('a forged Host changes no link', async () => {
	const forged = {
		'x-forwarded-host': 'evil.example',
		'x-forwarded-proto': 'http',
		forwarded: 'host=evil.example',
		origin: 'https://evil.example',
	};
	const { url } = must(await owner.post(path(), { email: 'forged@example.com' }, forged), 201).body.data;
	assert.ok(url.startsWith('https://console.example/'));
	assert.ok(!(await smtp.next()).raw.includes('evil'));
});

test('what is refused is not mailed', async () => {
	must(await owner.post(path(), { email: 'a@example.com\r\nBcc: evil@example.com' }), 400);
	must(await owner.post(path(), { email: owner.email }), 409);
	const tries = smtp.tries;
	must(await owner.post(path(), { email: 'last@example.com' }), 201);
	assert.deepEqual((await smtp.next()).to, ['last@example.com']);
	assert.deepEqual([smtp.tries, smtp.waiting], [tries + 1, 0]);
});

test('an unresponsive mail server slows no invitation, and `mailed` is false when too many mails wait, or a person had too many sent', async (t) => {
	const mute = await startMuteSmtp();
	const muted = await startTestService({ env: mute.env });
	t.after(async () => {
		await mute.stop();
		await muted.stop();
	});
	const host = await registerAccount(muted.url);
	const mailed: boolean[] = [];
	for (let number = 0; number < 110; number++) {
		const { body } = must(await host.post(path(host.organization.id), { email: `p${number}@example.com` }), 201);
		mailed.push(body.data.mailed);
		assert.match(body.data.url, /#token=svc_inv_/);
	}
	assert.deepEqual([mailed[0], mailed[50], mailed.at(-1)], [true, false, false]);
	const invitedBy = async (account: Account, organization: string): Promise<boolean> =>
		must(await account.post(path(organization), { email: 'other@example.com' }), 201).body.data.mailed;
	const more = must(await host.post('/organizations', { name: 'More' }), 201).body.data;
	assert.equal(await invitedBy(host, more.id), false, 'the hundred of an hour are used up in all organizations');
	const stranger = await registerAccount(muted.url);
	assert.equal(await invitedBy(stranger, stranger.organization.id), true);
});
