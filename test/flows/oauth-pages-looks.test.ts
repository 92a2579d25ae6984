// Tests the looks of the login and consent pages: readable for everyone (axe), on a phone and a wide screen, in light and dark. With
// SHOTS=folder the pages are also saved there as pictures.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { OAuthClient } from '../helpers/oauth.ts';
import { sampled } from '../helpers/sampled.ts';
import { type Account, registerAccount } from '../helpers/service.ts';
import { allowButton, askingUrl, forgottenUrl, openScene, type Scene, type Visit } from './oauth-pages.ts';

const LONG = {
	client_name: `${'W'.repeat(60)} and a name that goes on for longer`,
	redirect_uris: [`https://${'a'.repeat(60)}.${'b'.repeat(60)}.client.example:8443/callback`],
};

let scene: Scene;
let client: OAuthClient;
let long: OAuthClient;
let program: OAuthClient;
let nameless: OAuthClient;
let stranger: Account;
before(async () => {
	scene = await openScene();
	[client, long] = [await scene.register({ client_name: 'Claude Code' }), await scene.register(LONG)];
	program = await scene.register({ client_name: 'Cursor', redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] });
	nameless = await scene.register({ client_name: '' });
	stranger = await registerAccount(scene.service.url);
});
after(() => scene.stop());

/** All pages, in the order in which one visit can see them. */
const PAGES: [name: string, go: (visit: Visit) => Promise<unknown>][] = [
	['login', ({ page }) => page.goto(askingUrl(scene.url, client))],
	[
		'login-with-fault',
		async ({ page, logIn }) => {
			await logIn({ email: scene.account.email, password: 'Wrong1Horse' });
			await page.getByRole('alert').waitFor();
		},
	],
	[
		'stranger',
		async ({ page, logIn }) => {
			await logIn(stranger);
			await page.getByRole('button', { name: 'Use another account' }).waitFor();
		},
	],
	[
		'consent',
		async ({ page, logIn }) => {
			await page.getByRole('button', { name: 'Use another account' }).click();
			await logIn();
			await allowButton(page).waitFor();
		},
	],
	[
		'consent-once-more',
		async ({ page }) => {
			await page.evaluate(`document.querySelector('[name=slip]').value = 'none'`);
			await allowButton(page).click();
			await page.getByRole('alert').waitFor();
		},
	],
	['consent-for-no-name', ({ page }) => page.goto(askingUrl(scene.url, nameless))],
	['consent-for-long-names', ({ page }) => page.goto(askingUrl(scene.url, long, { scope: 'tools:read tools:execute gateway:read' }))],
	['forgotten', ({ page }) => page.goto(forgottenUrl(askingUrl(scene.url, client)))],
	[
		'forgotten-with-fault',
		async ({ page }) => {
			await page.getByLabel('E-mail address').fill('ada@localhost,eve@localhost');
			await page.evaluate('document.forms[0].noValidate = true');
			await page.getByRole('button', { name: 'Send the mail' }).click();
			await page.getByRole('alert').waitFor();
		},
	],
	[
		'forgotten-sent',
		async ({ page }) => {
			await page.getByLabel('E-mail address').fill(scene.account.email);
			await page.getByRole('button', { name: 'Send the mail' }).click();
			await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
		},
	],
	['trouble', ({ page }) => showTrouble(page)],
	['fault', ({ page }) => page.goto(askingUrl(scene.url, client, { client_id: 'nobody' }))],
	['leaving', ({ page }) => showLeaving(page, client, 'Continue')],
	['consent-for-a-program', ({ page }) => page.goto(askingUrl(scene.url, program))],
	['leaving-for-a-program', ({ page }) => showLeaving(page, program, 'open it here')],
];

/** Shows the page that leads on at once, by keeping the browser from following it. */
async function showLeaving(page: Page, asking: OAuthClient, link: string): Promise<void> {
	await page.goto(askingUrl(scene.url, asking));
	await page.route('**/authorize?**', async (route) => {
		const response = await route.fetch({ maxRedirects: 0 });
		await route.fulfill({ response, body: (await response.text()).replace(/<meta http-equiv="refresh"[^>]*>/, '') });
	});
	await page.getByRole('button', { name: 'Deny' }).click();
	await page.getByRole('link', { name: link }).waitFor();
	await page.unroute('**/authorize?**');
}

/** Shows the answer to a form that no page of the service has. */
async function showTrouble(page: Page): Promise<void> {
	await page.goto('about:blank');
	const action = askingUrl(scene.url, client).replaceAll('&', '&amp;');
	await page.setContent(`<form method="post" action="${action}"><button name="action" value="deny">Win a prize</button></form>`);
	await page.getByRole('button').click();
	await page.getByRole('heading', { name: 'This did not work' }).waitFor();
}

interface Target {
	name: string;
	width: number;
	height: number;
}

/** Reads the sizes of all controls, except links within text (WCAG 2.5.8). */
const TARGETS = `[...document.querySelectorAll('button, input:not([type=hidden]), a.link, a.button')].map((one) => {
	const { width, height } = one.getBoundingClientRect();
	return { name: one.id || one.value || one.textContent, width, height };
})`;

async function assertGood(page: Page, name: string): Promise<void> {
	await page.evaluate(axe.source);
	// The names are those of axe's results.
	const { violations, incomplete } = (await page.evaluate('axe.run()')) as Pick<axe.AxeResults, 'violations' | 'incomplete'>;
	const found = [...violations, ...incomplete].map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
	assert.deepEqual(found, [], name);
	assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${name} scrolls sideways`);
	// The type is that of the values in TARGETS.
	const small = ((await page.evaluate(TARGETS)) as Target[]).filter(({ width, height }) => width < 44 || height < 44);
	assert.deepEqual(small, [], name);
}

const SCREENS = (['light', 'dark'] as const).flatMap((colorScheme) => [360, 1280].map((width) => ({ colorScheme, width })));

// Sampled are the first and the last, which have both schemes and both widths; a scheme changes colors only.
for (const { colorScheme, width } of sampled(SCREENS, 3)) {
	test(`no page has a fault that axe finds, a small target or a sideways scroll: ${colorScheme}, ${width} px`, async () => {
		const visit = await scene.open({ colorScheme, viewport: { width, height: 720 } });
		for (const [name, go] of PAGES) {
			await go(visit);
			await assertGood(visit.page, name);
			const folder = process.env['SHOTS'];
			if (folder) await visit.page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true });
		}
		assert.deepEqual(visit.troubles, []);
		await visit.close();
	});
}

test('dark is dark, and light is light', async () => {
	const visit = await scene.open();
	for (const [colorScheme, isDark] of [
		['light', false],
		['dark', true],
	] as const) {
		await visit.page.emulateMedia({ colorScheme });
		await visit.page.goto(askingUrl(scene.url, client));
		const color = await visit.page.evaluate(`getComputedStyle(document.querySelector('main')).backgroundColor`);
		const [red = 0] = /\d+/.exec(String(color))?.map(Number) ?? [];
		assert.equal(red < 128, isDark, String(color));
	}
	await visit.close();
});

test('text of twice the size fits a phone', async () => {
	const visit = await scene.open({ viewport: { width: 360, height: 720 } });
	for (const url of [client, long, program].flatMap((asked) => [askingUrl(scene.url, asked), forgottenUrl(askingUrl(scene.url, asked))])) {
		await visit.page.goto(url);
		await visit.page.evaluate(`document.documentElement.style.fontSize = '200%'`);
		assert.equal(await visit.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
	}
	await visit.close();
});
