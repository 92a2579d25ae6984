// Tests the login and consent pages as users meet them, in a real Chromium: every path, with mouse and keyboard, with and without scripts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { limitTable } from '../../core/limits/table.ts';
import { openBrowser } from '../helpers/browser.ts';
import { until } from '../helpers/clock.ts';
import { pkce, redeem } from '../helpers/oauth.ts';
import { must, registerAccount } from '../helpers/service.ts';
import { allowButton, askingUrl, listen, openScene, reachConsent, type Scene, WITH_SECRET } from './oauth-pages.ts';

let scene: Scene;
before(async () => {
	scene = await openScene();
});
after(() => scene.stop());

const arrived = (page: Page) => page.getByRole('heading', { name: 'arrived' });
const arrival = (page: Page) => arrived(page).waitFor();
const codesAt = (heard: URL[]): string[] => heard.flatMap(({ searchParams }) => searchParams.get('code') ?? []);

for (const javaScriptEnabled of [true, false]) {
	test(`login and consent lead to the client with a code, the state and the issuer, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
		const visit = await scene.open({ javaScriptEnabled });
		const client = await scene.register();
		const { verifier, challenge } = pkce();
		await visit.page.goto(askingUrl(scene.url, client, { code_challenge: challenge, state: 'a b&c="ü"' }));
		await visit.logIn();
		await allowButton(visit.page).click();
		await arrival(visit.page);
		const { origin, pathname, searchParams } = new URL(visit.page.url());
		assert.equal(origin + pathname, client.redirectUri);
		assert.deepEqual([searchParams.get('state'), searchParams.get('iss')], ['a b&c="ü"', scene.url]);
		const code = searchParams.get('code') ?? '';
		must(await redeem(scene.url, client, { code, verifier }), 200);
		assert.deepEqual(visit.troubles, []);
		await visit.close();
	});
}

test('who denies is sent back with access_denied, and is asked again the next time', async () => {
	const visit = await scene.open();
	const url = await reachConsent(scene, visit);
	await visit.page.getByRole('button', { name: 'Deny' }).click();
	await arrival(visit.page);
	const { searchParams } = new URL(visit.page.url());
	assert.deepEqual(
		['error', 'code', 'state', 'iss'].map((name) => searchParams.get(name)),
		['access_denied', null, 'some state', scene.url],
	);
	await visit.page.goto(url);
	await allowButton(visit.page).waitFor();
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

test('a wrong password is said on the page, which keeps the address and not the password', async () => {
	const visit = await scene.open();
	await visit.page.goto(askingUrl(scene.url, await scene.register()));
	await visit.logIn({ email: scene.account.email, password: 'Wrong1Horse' });
	await visit.page.getByRole('alert').waitFor();
	assert.equal(await visit.page.getByRole('alert').textContent(), 'E-mail address or password is wrong.');
	assert.equal(await visit.page.getByLabel('E-mail address').inputValue(), scene.account.email);
	assert.equal(await visit.page.getByLabel('Password').inputValue(), '');
	assert.doesNotMatch(await visit.page.content(), /Wrong1Horse/);
	await visit.logIn();
	await allowButton(visit.page).waitFor();
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

test('too many attempts are said on the page, with the time to wait', async (t) => {
	const limits = {
		...limitTable({ rateLimit: { max: 1000, windowSeconds: 60 } }),
		routes: { 'POST /auth/login': { max: 1, seconds: 300 } },
	};
	const strict = await openScene({ limits });
	t.after(() => strict.stop());
	const visit = await strict.open();
	await visit.page.goto(askingUrl(strict.url, await strict.register()));
	await visit.logIn({ email: strict.account.email, password: 'Wrong1Horse' });
	await visit.page.getByRole('alert').waitFor();
	const [response] = await Promise.all([visit.page.waitForResponse(`${strict.url}/**`), visit.logIn()]);
	assert.equal(response.status(), 429);
	const seconds = Number(response.headers()['retry-after']);
	assert.ok(seconds > 0);
	const minutes = Math.ceil(seconds / 60);
	await visit.page.getByText(`Too many attempts. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`).waitFor();
	assert.equal(await visit.page.getByLabel('E-mail address').inputValue(), strict.account.email);
});

test('an account of another organization is told so, with 403, and may make way for one that belongs', async () => {
	const visit = await scene.open();
	const url = askingUrl(scene.url, await scene.register());
	await visit.page.goto(url);
	await visit.logIn(await registerAccount(scene.service.url));
	const other = visit.page.getByRole('button', { name: 'Use another account' });
	await other.waitFor();
	assert.equal((await visit.page.goto(url))?.status(), 403);
	assert.equal(await allowButton(visit.page).count(), 0);
	await other.click();
	await visit.logIn();
	await allowButton(visit.page).click();
	await arrival(visit.page);
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

test('who has agreed to a client is not asked again by it, and is by another one of the same name', async () => {
	const visit = await scene.open();
	const url = await reachConsent(scene, visit, { metadata: WITH_SECRET });
	await allowButton(visit.page).click();
	await arrival(visit.page);
	const former = scene.callback.heard.length;
	await visit.page.goto(url);
	assert.ok(visit.page.url().startsWith(scene.callback.origin));
	assert.equal(codesAt(scene.callback.heard.slice(former)).length, 1);
	await visit.page.goto(askingUrl(scene.url, await scene.register(WITH_SECRET)));
	await allowButton(visit.page).waitFor();
	await visit.close();
});

for (const [name, host] of [
	['localhost', '127.0.0.1'],
	['[::1]', '::1'],
] as const) {
	test(`a program that listens at ${name} hears its answer`, async () => {
		const callback = await listen(undefined, host);
		const visit = await scene.open();
		await reachConsent(scene, visit, { metadata: { redirect_uris: [`http://${name}:${callback.port}/callback`] } });
		assert.equal(await visit.page.locator('.host').textContent(), `${name}:${callback.port}`);
		await allowButton(visit.page).click();
		await arrival(visit.page);
		assert.equal(codesAt(callback.heard).length, 1);
		assert.deepEqual(visit.troubles, []);
		await visit.close();
		await callback.stop();
	});
}

test('a callback that leads on to another site gets the user there, after login and after consent', async () => {
	const end = await listen();
	const callback = await listen((_request, response) => void response.writeHead(302, { location: `${end.origin}/done` }).end());
	const visit = await scene.open();
	const url = await reachConsent(scene, visit, { metadata: { redirect_uris: [`${callback.origin}/callback`], ...WITH_SECRET } });
	await allowButton(visit.page).click();
	await arrival(visit.page);
	assert.equal(visit.page.url(), `${end.origin}/done`);
	await visit.page.context().clearCookies();
	await visit.page.goto(url);
	await visit.logIn();
	await arrival(visit.page);
	assert.equal(visit.page.url(), `${end.origin}/done`);
	assert.deepEqual(visit.troubles, []);
	await visit.close();
	for (const { stop } of [callback, end]) await stop();
});

test('a client that opens the pages in a window of its own hears from its callback there', async () => {
	const visit = await scene.open();
	const url = askingUrl(scene.url, await scene.register());
	await visit.page.goto(scene.callback.origin);
	const [opened] = await Promise.all([visit.page.waitForEvent('popup'), visit.page.evaluate(`void window.open(${JSON.stringify(url)})`)]);
	await opened.getByLabel('E-mail address').fill(scene.account.email);
	await opened.getByLabel('Password').fill(scene.account.password);
	await opened.getByRole('button', { name: 'Log in' }).click();
	await allowButton(opened).click();
	await arrival(opened);
	assert.equal(await opened.evaluate('window.opener !== null'), true);
	await visit.close();
});

test('a host elsewhere is shown larger than all text around it', async () => {
	const visit = await scene.open();
	await reachConsent(scene, visit, { metadata: { redirect_uris: ['https://connect.client.example:8443/oauth/callback?from=gatehouse'] } });
	const host = visit.page.locator('.host');
	assert.equal(await host.textContent(), 'connect.client.example:8443');
	const sizes = await visit.page.evaluate(
		`[...document.querySelectorAll('main *')].map((one) => [one.className, parseFloat(getComputedStyle(one).fontSize)])`,
	);
	// The script returned pairs of class and size.
	const [largest] = (sizes as [string, number][]).sort(([, one], [, other]) => other - one);
	assert.equal(largest?.[0], 'host');
	await visit.close();
});

test('reloading and going back show a page that works, and no answer is sent twice', async () => {
	const visit = await scene.open();
	await reachConsent(scene, visit);
	const former = scene.callback.heard.length;
	await visit.page.reload();
	await allowButton(visit.page).click();
	await arrival(visit.page);
	await visit.page.goBack();
	assert.ok(visit.page.url().startsWith(scene.service.url) || visit.page.url().startsWith(scene.callback.origin), visit.page.url());
	// The request was approved meanwhile, but any program on this computer may ask in the name of the client: so the page asks again.
	await allowButton(visit.page).click();
	await arrival(visit.page);
	const codes = codesAt(scene.callback.heard.slice(former));
	assert.equal(new Set(codes).size, codes.length);
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

for (const name of ['Allow', 'Deny']) {
	test(`a double click on ${name} shows no error, and brings one answer at most for each click`, async () => {
		const visit = await scene.open();
		await reachConsent(scene, visit);
		const former = scene.callback.heard.length;
		const statuses: number[] = [];
		visit.page.on('response', (response) => statuses.push(response.status()));
		await visit.page.getByRole('button', { name }).dblclick();
		await visit.page.waitForLoadState('networkidle');
		// The second click may precede the first answer: then the page is shown once more, unless it is just being left.
		const again = visit.page.getByRole('button', { name });
		let clicks = 2;
		await until(
			async () => {
				if (await arrived(visit.page).isVisible()) return true;
				const isClicked = await again.click({ timeout: 5_000 }).then(
					() => true,
					() => false,
				);
				clicks += Number(isClicked);
				return false;
			},
			() => `the client: ${visit.page.url()} ${statuses}`,
		);
		const answers = scene.callback.heard.slice(former).map(({ search }) => search);
		assert.ok(answers.length > 0 && answers.length <= clicks, answers.join('\n'));
		assert.equal(new Set(codesAt(scene.callback.heard.slice(former))).size, name === 'Allow' ? answers.length : 0);
		assert.deepEqual(
			statuses.filter((status) => status >= 400),
			[],
		);
		await visit.close();
	});
}

test('a form that comes twice is no error: after Allow it leads to the client again, with another code, after Deny it is asked anew', async () => {
	const client = await scene.register();
	const browser = openBrowser();
	const login = await browser.open(askingUrl(scene.url, client));
	const { email, password } = scene.account;
	const asked = await browser.press(login, 'login', { email, password });
	assert.ok((await browser.press(asked, 'deny')).url.searchParams.has('error'));
	const anew = await browser.press(asked, 'deny');
	assert.deepEqual([anew.status, anew.left, anew.html.includes('value="allow"')], [200, false, true]);
	const answers = [await browser.press(anew, 'allow'), await browser.press(anew, 'allow')];
	assert.equal(new Set(answers.map(({ left, url }) => left && url.searchParams.get('code'))).size, 2);
	assert.ok(answers.every(({ left }) => left));
	const denied = await browser.press(anew, 'deny');
	assert.deepEqual([denied.status, denied.left, denied.html.includes('value="allow"')], [200, false, true], 'only Allow agrees');
});

const focused = (page: Page): Promise<string> => page.evaluate(`document.activeElement.id || document.activeElement.value`);
const isOutlined = (page: Page): Promise<boolean> =>
	page.evaluate(
		`(({ outlineStyle, outlineWidth }) => outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2)(getComputedStyle(document.activeElement))`,
	);

test('the keyboard is enough, and where it is can be seen', async () => {
	const visit = await scene.open();
	const { keyboard } = visit.page;
	await visit.page.goto(askingUrl(scene.url, await scene.register()));
	for (const [id, text] of [
		['email', scene.account.email],
		['password', scene.account.password],
	] as const) {
		await keyboard.press('Tab');
		assert.deepEqual([await focused(visit.page), await isOutlined(visit.page)], [id, true]);
		await keyboard.type(text);
	}
	await keyboard.press('Enter');
	await allowButton(visit.page).waitFor();
	for (const action of ['allow', 'deny', 'switch']) {
		await keyboard.press('Tab');
		assert.deepEqual([await focused(visit.page), await isOutlined(visit.page)], [action, true]);
	}
	for (let back = 0; back < 2; back++) await keyboard.press('Shift+Tab');
	await keyboard.press('Enter');
	await arrival(visit.page);
	assert.ok(new URL(visit.page.url()).searchParams.has('code'));
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});
