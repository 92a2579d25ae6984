// Tests forgotten passwords at the login page: the mail, the way back into the client's request, and what an outsider can learn from
// either.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROUTE_WINDOWS } from '../catalog/limits.ts';
import { addMember } from '../helpers/members.ts';
import { pkce, redeem } from '../helpers/oauth.ts';
import { type Account, type Answer, must, send } from '../helpers/service.ts';
import { startSmtp, type TestSmtp } from '../helpers/smtp.ts';
import { allowButton, askingUrl, forgottenUrl, listen, openScene, type Scene, untilTitled, type Visit } from './oauth-pages.ts';

const NEW = 'Battery2Staple';

let smtp: TestSmtp;
let scene: Scene;
before(async () => {
	smtp = await startSmtp();
	scene = await openScene({ env: { ...smtp.env, FRONTEND_URL: 'https://console.example' } });
});
after(async () => {
	await scene.stop();
	await smtp.stop();
});

async function member(): Promise<Account> {
	const account = await addMember(scene.account, 'member');
	const { mail } = await smtp.next();
	assert.match(mail.subject ?? '', /^Invitation/);
	return account;
}

async function askForMail({ page }: Visit, email: string): Promise<void> {
	await page.getByLabel('E-mail address').fill(email);
	await page.getByRole('button', { name: 'Send the mail' }).click();
}

/** Sends the form of the page, as a browser without checks of its own does. */
const post = (asking: string, email: string, { accept = 'text/html', url = scene.service.url } = {}): Promise<Answer> =>
	send(forgottenUrl(asking), 'POST', {
		body: new URLSearchParams({ email, action: 'send' }).toString(),
		headers: { accept, origin: url, 'content-type': 'application/x-www-form-urlencoded' },
	});

for (const javaScriptEnabled of [true, false]) {
	test(`who forgot their password gets a mail, chooses another one, and is back in the same request, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
		const person = await member();
		const visit = await scene.open({ javaScriptEnabled });
		const { page } = visit;
		const client = await scene.register({ client_name: 'Claude Code' });
		const { verifier, challenge } = pkce();
		await page.goto(askingUrl(scene.url, client, { code_challenge: challenge, state: 'a b&c="ü"' }));
		await page.getByRole('link', { name: 'Forgot your password?' }).click();
		await untilTitled(page, 'Reset your password – Gatehouse');
		await askForMail(visit, person.email);
		await page.getByText(`If there is an account with the address ${person.email}, a mail is on its way to it.`).waitFor();
		await page.getByText('If “Claude Code” has stopped waiting by then, connect it again.').waitFor();
		await untilTitled(page, 'Check your mail – Gatehouse');
		const { to, mail } = await smtp.next();
		assert.deepEqual(to, [person.email]);
		const [, token = ''] = /https:\/\/console\.example\/reset-password#token=(\S+)/.exec(mail.text ?? '') ?? [];
		must(await send(`${scene.service.url}/auth/reset-password`, 'POST', { body: { token, newPassword: NEW } }), 200);
		await page.getByRole('link', { name: 'Back to the login' }).click();
		await visit.logIn({ email: person.email, password: NEW });
		await allowButton(page).click();
		await page.getByRole('heading', { name: 'arrived' }).waitFor();
		const { searchParams } = new URL(page.url());
		assert.equal(searchParams.get('state'), 'a b&c="ü"');
		must(await redeem(scene.url, client, { code: searchParams.get('code') ?? '', verifier }), 200);
		assert.deepEqual(visit.troubles, []);
		await visit.close();
	});
}

test('the page is the same for an address that nobody has, and only who has one gets a mail', async () => {
	const person = await member();
	const asking = askingUrl(scene.url, await scene.register());
	const unknown = `${'0'.repeat(12)}@example.com`;
	const [one, other] = [must(await post(asking, person.email), 200), must(await post(asking, unknown), 200)];
	assert.equal(one.body.replaceAll(person.email, unknown), other.body);
	// The excluded headers identify requests, and count them.
	const told = ({ headers }: Answer) => [...headers].filter(([name]) => !/^(date|x-request-id|x-ratelimit-re.*)$/.test(name));
	assert.deepEqual(told(one), told(other));
	assert.deepEqual((await smtp.next()).to, [person.email]);
	await sleep(200);
	assert.equal(smtp.waiting, 0);
});

const NO_ADDRESSES = ['', 'ada', 'ada@example.com, eve@example.com', 'ada@example.com\r\nBcc: eve@example.com', '\0@example.com'];

for (const email of [...NO_ADDRESSES, '"><script>alert(1)</script>', `${'a'.repeat(60_000)}@example.com`]) {
	test(`${JSON.stringify(email.slice(0, 50))} is no address to ask for: the page says so with 400, keeps it, and sends nothing`, async () => {
		const { body } = must(await post(askingUrl(scene.url, await scene.register()), email), 400);
		assert.match(body, /role="alert" id="alert">This is not an e-mail address\. One looks like ada@example\.com\.</);
		assert.doesNotMatch(body, /<script/);
		assert.ok(body.includes(email.slice(0, 20).replaceAll(/[<>"]/g, (one: string) => `&${{ '<': 'lt', '>': 'gt', '"': 'quot' }[one]};`)));
		await sleep(50);
		assert.equal(smtp.waiting, 0);
	});
}

test('five an hour are asked for from an address, on pages and over the API together; then the page says how long to wait', async (t) => {
	const wide = { max: 10_000, seconds: 60 };
	const limits = { global: wide, categories: { health: null }, invoke: wide, gateways: wide, routes: ROUTE_WINDOWS };
	const strict = await openScene({ limits });
	t.after(() => strict.stop());
	const { url } = strict.service;
	const asking = askingUrl(strict.url, await strict.register());
	const api = () => send(`${url}/auth/forgot-password`, 'POST', { body: { email: 'nobody@example.com' } });
	const page = (accept?: string) => post(asking, 'nobody@example.com', { url, ...(accept && { accept }) });
	for (const answer of [await page(), await api(), await page(), await api(), await page()]) must(answer, 200);
	const refused = must(await page(), 429);
	const seconds = Number(refused.headers.get('retry-after'));
	assert.equal(refused.headers.get('x-ratelimit-limit'), '5');
	assert.match(refused.body, new RegExp(`Too many attempts\\. Try again in ${Math.ceil(seconds / 60)} minutes\\.<`));
	assert.deepEqual(Object.keys(must(await page('application/json'), 429).body), ['success', 'message', 'error', 'statusCode']);
	must(await api(), 429);
	// The page and the login are still allowed.
	must(await send(forgottenUrl(asking), 'GET'), 200);
	const visit = await strict.open();
	await visit.page.goto(forgottenUrl(asking));
	await askForMail(visit, strict.account.email);
	await visit.page.getByRole('alert').waitFor();
	await visit.page.getByRole('link', { name: 'Back to the login' }).click();
	await visit.logIn(strict.account);
	await allowButton(visit.page).waitFor();
	await visit.close();
});

test('a form on another page has no mail sent to anybody', async () => {
	const visit = await scene.open();
	const action = forgottenUrl(askingUrl(scene.url, await scene.register())).replaceAll('&', '&amp;');
	const form = `<form method="post" action="${action}"><input name="email" value="${scene.account.email}"><button>Win a prize</button></form>`;
	const site = await listen((_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(form));
	await visit.page.goto(site.origin);
	const [response] = await Promise.all([visit.page.waitForResponse(`${scene.url}/**`), visit.page.getByRole('button').click()]);
	assert.equal(response.status(), 403);
	await sleep(200);
	assert.equal(smtp.waiting, 0);
	await site.stop();
	await visit.close();
});

test('what is wrong with the request is told to the client from here, too, and no mail is sent', async () => {
	const asking = askingUrl(scene.url, await scene.register(), { response_type: 'token' });
	const visit = await scene.open();
	await visit.page.goto(forgottenUrl(asking));
	await visit.page.getByRole('heading', { name: 'arrived' }).waitFor();
	assert.equal(new URL(visit.page.url()).searchParams.get('error'), 'unsupported_response_type');
	// The answer is a page with a link, since `form-action` would block a redirect here.
	const { body } = must(await post(asking, scene.account.email), 200);
	assert.match(body, /http-equiv="refresh" content="0;url=[^"]*unsupported_response_type/);
	await sleep(200);
	assert.equal(smtp.waiting, 0);
	await visit.close();
});

test('the keyboard is enough to get there and back', async () => {
	const visit = await scene.open();
	const { page } = visit;
	await page.goto(askingUrl(scene.url, await scene.register()));
	const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent.trim() || document.activeElement.id');
	for (const expected of ['email', 'password', 'Log in', 'Forgot your password?']) {
		await page.keyboard.press('Tab');
		assert.equal(await focused(), expected);
	}
	await page.keyboard.press('Enter');
	await page.getByRole('heading', { name: 'Reset your password' }).waitFor();
	await page.keyboard.press('Tab');
	await page.keyboard.type('nobody@example.com');
	await page.keyboard.press('Enter');
	await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
	await page.keyboard.press('Tab');
	assert.equal(await focused(), 'Back to the login');
	await page.keyboard.press('Enter');
	await page.getByRole('heading', { name: 'Log in' }).waitFor();
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});
