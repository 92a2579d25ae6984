// Tests the page on which a user allows a program, in a real browser: each step, by keyboard, readable for everyone (axe), on a phone and a wide screen,
// in light and dark. With SHOTS=folder its steps are also saved there as pictures.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openChromium } from '../helpers/chromium.ts';
import { assertReadable, SCREENS } from '../helpers/readable-page.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, send, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let browser: Browser;
let gateway: { id: string };
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url, 'Acme <b>');
	gateway = await publishGateway(account, { endpoint: '/tools' });
	must(await account.post('/organizations', { name: 'Second' }), 201);
	browser = await openChromium();
});
after(async () => {
	await browser?.close();
	await service?.stop();
});

const begin = async (client = 'gatehouse-proxy') =>
	must(await send(`${service.url}/device/authorize`, 'POST', { body: { client_id: client, device_name: 'laptop' } }), 200).body;
const poll = (code: string) =>
	send(`${service.url}/device/token`, 'POST', { body: { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code } });

async function logIn(page: Page, password = account.password, email = account.email): Promise<void> {
	await page.getByLabel('E-mail address').fill(email);
	await page.getByLabel('Password').fill(password);
	await page.getByRole('button', { name: 'Log in' }).click();
}

/** Opens a page that must not fail, nor ask any other host for anything. */
async function open(options: object = {}): Promise<{ page: Page; faults: string[] }> {
	const context = await browser.newContext(options);
	const page = await context.newPage();
	const faults: string[] = [];
	page.on('pageerror', (error) => faults.push(String(error)));
	page.on('console', (message) => /Content Security|violates/.test(message.text()) && faults.push(message.text()));
	page.on('request', (request) => request.url().startsWith(service.url) || faults.push(request.url()));
	return { page, faults };
}

test('a user logs in, chooses the organization, a gateway and permissions, and allows the program', async () => {
	const { device_code, verification_uri_complete } = await begin('<img src=x onerror=alert(1)>');
	const { page, faults } = await open();
	await page.goto(verification_uri_complete);
	await logIn(page, 'Wrong1Horse');
	await page.getByRole('alert').filter({ hasText: 'E-mail address or password is wrong' }).waitFor();
	await logIn(page);
	await page.getByRole('heading', { name: /Give <img src=x onerror=alert\(1\)> on laptop an access key/ }).waitFor();
	await page.getByLabel(/Acme <b> \(/).check();
	await page.getByLabel('One gateway').check();
	await page.getByLabel('Which one?').selectOption(gateway.id);
	await page.getByLabel('Only what you choose').check();
	await page.getByLabel('tools:execute').check();
	await page.getByRole('button', { name: 'Allow' }).click();
	await page.getByRole('heading', { name: 'The program is logged in' }).waitFor();
	const { body } = await poll(device_code);
	assert.deepEqual([body.scope, body.organization.slug], ['tools:read tools:execute', account.organization.slug]);
	assert.deepEqual(faults, []);
});

test('whoever logs in after the login has ended chooses among what is theirs, once', async () => {
	const { device_code, verification_uri_complete } = await begin();
	const { page, faults } = await open();
	await page.goto(verification_uri_complete);
	await logIn(page);
	await page.getByLabel(/Second \(/).check();
	await page.getByLabel('One gateway').check();
	await page.getByLabel('Which one?').waitFor();
	await page.getByLabel('Only what you choose').check();
	await page.context().clearCookies();
	await page.getByRole('button', { name: 'Deny' }).click();
	await page.getByRole('alert').filter({ hasText: 'Your login has ended' }).waitFor();
	const other = await registerAccount(service.url, 'Third');
	await logIn(page, other.password, other.email);
	await page.getByRole('button', { name: 'Allow' }).waitFor();
	assert.deepEqual(
		await page.getByText(/Acme|Second|Third/).allTextContents(),
		[`Third (${other.organization.slug})`].map((text) => ` ${text}`),
	);
	assert.deepEqual([await page.getByLabel('Which one?').isVisible(), await page.locator('[name=permission]:visible').count()], [false, 0]);
	await page.getByLabel('Only what you choose').check();
	assert.equal(await page.getByLabel('tools:execute').count(), 1);
	await page.getByRole('button', { name: 'Allow' }).click();
	await page.getByRole('heading', { name: 'The program is logged in' }).waitFor();
	assert.equal((await poll(device_code)).body.organization.slug, other.organization.slug);
	assert.deepEqual(faults, []);
});

test('a mistyped code is told, and a denied program gets nothing', async () => {
	const { device_code, user_code } = await begin();
	const { page, faults } = await open();
	await page.goto(`${service.url}/device`);
	await page.getByLabel('Code').fill('BBBB-BBBB');
	await page.keyboard.press('Enter');
	await logIn(page);
	await page.getByRole('alert').filter({ hasText: 'No program waits with this code' }).waitFor();
	await page.getByLabel('Code').fill(user_code.toLowerCase());
	await page.keyboard.press('Enter');
	await page.getByRole('button', { name: 'Deny' }).click();
	await page.getByRole('heading', { name: 'The program was given nothing' }).waitFor();
	assert.equal((await poll(device_code)).body.error, 'access_denied');
	assert.deepEqual(faults, []);
});

for (const [name, options] of SCREENS) {
	test(`each step is readable for everyone: ${name}`, async () => {
		const { verification_uri_complete } = await begin('A program with a rather long name that goes on for a while');
		const { page, faults } = await open({ ...options, bypassCSP: true });
		const judge = (step: string): Promise<void> => assertReadable(page, `device-${step}-${name}`);
		await page.goto(`${service.url}/device`);
		await page.getByLabel('Code').waitFor();
		await judge('code');
		await page.goto(verification_uri_complete);
		await page.getByLabel('Password').waitFor();
		await judge('login');
		await logIn(page);
		await page.getByRole('button', { name: 'Allow' }).waitFor();
		await judge('consent');
		await page.getByLabel(/Acme/).check();
		await page.getByLabel('One gateway').check();
		await page.getByLabel('Only what you choose').check();
		await page.getByLabel('Which one?').waitFor();
		await judge('choices');
		await page.getByRole('button', { name: 'Allow' }).click();
		await page.getByRole('heading', { name: 'The program is logged in' }).waitFor();
		await judge('done');
		assert.deepEqual(faults, []);
	});
}
