// Tests clients that are programs with an address scheme of their own (RFC 8252 §7.1), such as Cursor on the desktop, in a real Chromium:
// the page tells the user so, and the browser passes the answer to the program.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pkce, redeem } from '../helpers/oauth.ts';
import { must } from '../helpers/service.ts';
import { allowButton, askingUrl, openScene, type Scene, type Visit, WITH_SECRET } from './oauth-pages.ts';

const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';

let scene: Scene;
before(async () => {
	scene = await openScene();
});
after(() => scene.stop());

const registerCursor = (metadata = {}) => scene.register({ client_name: 'Cursor', redirect_uris: [CURSOR], ...metadata });

/**
 * Resolves with the address that the browser passes to the operating system: there the navigation ends, and the browser asks its user, or
 * would report that it is "Not allowed to launch" it.
 */
async function handedOver(page: Page, act: () => Promise<unknown>): Promise<URL> {
	const refusals: string[] = [];
	page.on('console', (message) => {
		if (message.text().includes('Not allowed to launch')) refusals.push(message.text());
	});
	const [request] = await Promise.all([page.waitForEvent('requestfailed', (one) => one.url().startsWith('cursor:')), act()]);
	assert.equal(request.failure()?.errorText, 'net::ERR_ABORTED');
	assert.deepEqual(refusals, []);
	return new URL(request.url());
}

async function reachProgramConsent(visit: Visit, url: string): Promise<void> {
	await visit.page.goto(url);
	await visit.logIn();
	await allowButton(visit.page).waitFor();
}

for (const javaScriptEnabled of [true, false]) {
	test(`who allows Cursor is told that it is an unchecked program here, and it gets a code, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
		const visit = await scene.open({ javaScriptEnabled });
		const client = await registerCursor();
		const { verifier, challenge } = pkce();
		await reachProgramConsent(visit, askingUrl(scene.url, client, { code_challenge: challenge }));
		assert.equal(await visit.page.locator('.host').textContent(), 'cursor://anysphere.cursor-mcp');
		assert.equal(await visit.page.locator('.host + dd').textContent(), 'a program on this computer (not checked)');
		const address = await handedOver(visit.page, () => allowButton(visit.page).click());
		assert.ok(address.href.startsWith(`${CURSOR}?`));
		assert.deepEqual([address.searchParams.get('state'), address.searchParams.get('iss')], ['some state', scene.url]);
		must(await redeem(scene.url, client, { code: address.searchParams.get('code') ?? '', verifier }), 200);
		// The page stays for users whose program did not open.
		assert.equal(await visit.page.getByRole('link', { name: 'open it here' }).getAttribute('href'), address.href);
		assert.deepEqual(visit.troubles, []);
		await visit.close();
	});
}

test('who denies Cursor has it told so', async () => {
	const visit = await scene.open();
	await reachProgramConsent(visit, askingUrl(scene.url, await registerCursor()));
	const address = await handedOver(visit.page, () => visit.page.getByRole('button', { name: 'Deny' }).click());
	assert.deepEqual([address.searchParams.get('error'), address.searchParams.has('code')], ['access_denied', false]);
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

test('who gives up at the login has Cursor told so', async () => {
	const visit = await scene.open();
	await visit.page.goto(askingUrl(scene.url, await registerCursor()));
	const address = await handedOver(visit.page, () => visit.page.getByRole('link', { name: 'Cancel and go back to the program' }).click());
	assert.deepEqual([address.searchParams.get('error'), address.searchParams.get('state')], ['access_denied', 'some state']);
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

test('who has allowed Cursor before is asked again, since another program may have taken its scheme', async () => {
	const visit = await scene.open();
	const url = askingUrl(scene.url, await registerCursor());
	await reachProgramConsent(visit, url);
	await handedOver(visit.page, () => allowButton(visit.page).click());
	const next = await visit.page.context().newPage();
	await next.goto(url);
	const address = await handedOver(next, () => allowButton(next).click());
	assert.ok(address.searchParams.has('code'));
	assert.deepEqual(visit.troubles, []);
	await visit.close();
});

test('who has allowed a program with a secret before is led to it at once, after a login and without one', async () => {
	const visit = await scene.open();
	const url = askingUrl(scene.url, await registerCursor(WITH_SECRET));
	await reachProgramConsent(visit, url);
	await handedOver(visit.page, () => allowButton(visit.page).click());
	const again = await scene.open();
	await again.page.goto(url);
	const afterLogin = await handedOver(again.page, () => again.logIn());
	const next = await again.page.context().newPage();
	const atOnce = await handedOver(next, () => next.goto(url).catch(() => 'it leads to no page'));
	for (const { searchParams } of [afterLogin, atOnce]) assert.ok(searchParams.has('code'));
	assert.deepEqual([...visit.troubles, ...again.troubles], []);
	for (const one of [visit, again]) await one.close();
});
