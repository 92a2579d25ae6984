// Tests the ways back to the client: every page that knows the client's address has one, which ends the request, and no other page has any.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { OAuthClient } from '../helpers/oauth.ts';
import { type Account, must, registerAccount, send } from '../helpers/service.ts';
import {
	allowButton,
	askingUrl,
	forgottenUrl,
	listen,
	openScene,
	reachConsent,
	type Scene,
	untilTitled,
	type Visit,
	WITH_SECRET,
} from './oauth-pages.ts';

let scene: Scene;
let client: OAuthClient;
let stranger: Account;
before(async () => {
	scene = await openScene();
	client = await scene.register({ client_name: 'Claude Code' });
	stranger = await registerAccount(scene.service.url);
});
after(() => scene.stop());

const STATE = 'a b&c="ü"';
const asking = (): string => askingUrl(scene.url, client, { state: STATE });
const wayBack = (page: Page) => page.getByRole('link', { name: 'Cancel and go back to the program' });

const PAGES: [title: string, go: (visit: Visit) => Promise<unknown>][] = [
	['the login', ({ page }) => page.goto(asking())],
	[
		'a wrong password',
		async ({ page, logIn }) => {
			await page.goto(asking());
			await logIn({ email: scene.account.email, password: 'Wrong1Horse' });
			await page.getByText('E-mail address or password is wrong.').waitFor();
		},
	],
	[
		'an account that is no member',
		async ({ page, logIn }) => {
			await page.goto(asking());
			await logIn(stranger);
			await page.getByRole('heading', { name: 'This account cannot decide' }).waitFor();
		},
	],
	['a forgotten password', ({ page }) => page.goto(forgottenUrl(asking()))],
	[
		'a mail that was asked for',
		async ({ page }) => {
			await page.goto(forgottenUrl(asking()));
			await page.getByLabel('E-mail address').fill('nobody@example.com');
			await page.getByRole('button', { name: 'Send the mail' }).click();
			await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
		},
	],
	[
		'a login that has ended',
		async (visit) => {
			await logInAndOut(visit);
			await visit.page.getByText('Your login has ended, and nothing was decided.').waitFor();
		},
	],
	[
		'a form of another page',
		async ({ page }) => {
			const form = `<form method="post" action="${asking().replaceAll('&', '&amp;')}"><button>Win a prize</button></form>`;
			const site = await listen((_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(form));
			await page.goto(site.origin);
			await page.getByRole('button').click();
			await page.getByRole('heading', { name: 'This did not work' }).waitFor();
			await site.stop();
		},
	],
];

/** Logs in to reach the consent page, whose form is sent after the login has ended. */
async function logInAndOut({ page, logIn }: Visit): Promise<void> {
	await page.goto(asking());
	await logIn();
	await allowButton(page).waitFor();
	await page.context().clearCookies();
	await allowButton(page).click();
}

for (const javaScriptEnabled of [true, false]) {
	for (const [title, go] of PAGES) {
		test(`who gives up at ${title} is sent back with access_denied, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
			const visit = await scene.open({ javaScriptEnabled });
			await go(visit);
			const troubles = visit.troubles.splice(0);
			assert.deepEqual(troubles, []);
			await wayBack(visit.page).click();
			await visit.page.getByRole('heading', { name: 'arrived' }).waitFor();
			const { origin, pathname, searchParams } = new URL(visit.page.url());
			assert.equal(origin + pathname, client.redirectUri);
			// RFC 6749 §4.1.2.1, RFC 9207 §2.
			assert.deepEqual(Object.fromEntries(searchParams), {
				error: 'access_denied',
				error_description: 'the user did not agree',
				state: STATE,
				iss: scene.url,
			});
			assert.deepEqual(visit.troubles, []);
			await visit.close();
		});
	}
}

test('the way back names the host elsewhere to which it leads, and keeps the parameters that the client registered', async () => {
	const uri = 'https://connect.client.example:8443/oauth/callback?from=gatehouse';
	const elsewhere = await scene.register({ redirect_uris: [uri] });
	const visit = await scene.open();
	await visit.page.goto(askingUrl(scene.url, elsewhere, { state: null }));
	const link = visit.page.getByRole('link', { name: 'Cancel and go back to connect.client.example:8443' });
	const href = (await link.getAttribute('href')) ?? '';
	assert.ok(href.startsWith(`${uri}&error=access_denied&`), href);
	assert.equal(new URL(href).searchParams.has('state'), false);
	await visit.close();
});

test('who goes back takes nothing from what they agreed to before', async () => {
	const visit = await scene.open();
	const url = await reachConsent(scene, visit, { metadata: { client_name: 'Former', ...WITH_SECRET } });
	await allowButton(visit.page).click();
	await visit.page.getByRole('heading', { name: 'arrived' }).waitFor();
	await visit.page.context().clearCookies();
	await visit.page.goto(url);
	await wayBack(visit.page).click();
	await visit.page.getByRole('heading', { name: 'arrived' }).waitFor();
	await visit.page.goto(url);
	await visit.logIn();
	await visit.page.getByRole('heading', { name: 'arrived' }).waitFor();
	assert.ok(new URL(visit.page.url()).searchParams.has('code'));
	await visit.close();
});

for (const [title, parameters] of [
	['whose client is not known', { client_id: 'nobody' }],
	['whose redirect is not registered', { redirect_uri: 'https://evil.example/callback' }],
	['whose redirect is a script', { redirect_uri: 'javascript:alert(1)' }],
] as const) {
	test(`a request ${title} leads nowhere: the page says what to do and has nothing to press`, async () => {
		const visit = await scene.open();
		for (const url of [askingUrl(scene.url, client, parameters), forgottenUrl(askingUrl(scene.url, client, parameters))]) {
			const answer = await visit.page.goto(url);
			assert.equal(answer?.status(), 400);
			await untilTitled(visit.page, 'This link does not work – Gatehouse');
			await visit.page.getByText('Close this page, go back to the program and connect it again.').waitFor();
			assert.equal(await visit.page.locator('a, form, button, meta[http-equiv]').count(), 0);
		}
		assert.deepEqual(visit.troubles, []);
		await visit.close();
	});
}

test('an answer that comes twice, or too late, is asked for anew, and the page says why', async () => {
	const visit = await scene.open();
	await reachConsent(scene, visit);
	await visit.page.evaluate(`document.querySelector('[name=slip]').value = 'none'`);
	await allowButton(visit.page).click();
	await visit.page.getByText('This page was answered before, or was open for too long. Please decide again.').waitFor();
	await untilTitled(visit.page, 'Allow or deny access: not decided yet – Gatehouse');
	await visit.page.getByRole('button', { name: 'Deny' }).click();
	await visit.page.getByRole('heading', { name: 'arrived' }).waitFor();
	await visit.close();
});

test('who has logged out before they decide is told so, and decides after logging in again', async () => {
	const visit = await scene.open();
	await logInAndOut(visit);
	await visit.page.getByText('Your login has ended, and nothing was decided. Log in again.').waitFor();
	await untilTitled(visit.page, 'Log in again – Gatehouse');
	await visit.logIn();
	await allowButton(visit.page).waitFor();
	await visit.close();
});

test('a program that sends a form from elsewhere gets the error as JSON', async () => {
	for (const url of [asking(), forgottenUrl(asking())]) {
		const answer = await send(url, 'POST', {
			body: new URLSearchParams({ email: scene.account.email }).toString(),
			headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example' },
		});
		assert.equal(must(answer, 403).body.error, 'FORBIDDEN');
	}
});
