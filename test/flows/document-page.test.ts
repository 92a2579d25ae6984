// Tests the page over the document in a real browser, under every name by which people reach a service on their own machine.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openChromium } from '../helpers/chromium.ts';
import { freePort } from '../helpers/ports.ts';
import { type Account, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let account: Account;
let browser: Browser;
let origins: string[];
before(async () => {
	const port = await freePort();
	service = await startTestService({ env: { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` } });
	account = await registerAccount(service.url);
	browser = await openChromium();
	origins = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${port}`);
});
after(async () => {
	await browser?.close();
	await service.stop();
});

/** Opens the page at `/docs` by way of the root, and collects the browser's complaints. */
async function open(origin: string): Promise<{ page: Page; complaints: string[] }> {
	const page = await browser.newPage();
	const complaints: string[] = [];
	page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
	page.on('pageerror', (error) => complaints.push(error.message));
	await page.goto(`${origin}/`);
	await page.locator('.opblock-tag').first().waitFor();
	return { page, complaints };
}

/** Executes an operation of the page as a reader does. @returns the status that the page shows */
async function execute(page: Page, { tag, id, body }: { tag: string; id: string; body?: object }): Promise<string> {
	const block = page.locator(`#operations-${tag}-${id}`);
	if (!(await block.isVisible())) await page.locator(`#operations-tag-${tag}`).click();
	await block.locator('.opblock-summary-control').click();
	if (body) await block.locator('textarea.body-param__text').fill(JSON.stringify(body));
	await block.locator('button.execute').click();
	return (await block.locator('.live-responses-table .response-col_status').last().textContent()) ?? '';
}

test('whoever types the address of the service, under either name, reads the page and tries its operations, with a token and after a login', async () => {
	const { email, password, token } = account;
	for (const origin of origins) {
		// The page takes long to draw, so each name has one, which is first read and then used.
		const { page, complaints } = await open(origin);
		assert.equal(page.url(), `${origin}/docs`);
		const tags = await page.locator('.opblock-tag-section').count();
		assert.ok(tags >= 10, `${tags} tags`);
		assert.equal(await page.locator('.opblock').count(), 0, 'no operation is unfolded');
		assert.match((await page.locator('#operations-tag-gateways').textContent()) ?? '', /Gateways with their tools/);
		await page.locator('.auth-wrapper button.authorize').click();
		const dialog = page.locator('.modal-ux');
		await dialog.locator('input').first().fill(token);
		await dialog.locator('button.authorize').first().click();
		await dialog.locator('button.btn-done').first().click();
		assert.match(await execute(page, { tag: 'apis', id: 'listApis' }), /^200/, origin);
		// Each operation takes the browser two seconds, so the other name has one.
		if (origin === origins[0]) {
			assert.match(await execute(page, { tag: 'health', id: 'checkLiveness' }), /^200/, origin);
			assert.match(await execute(page, { tag: 'accounts', id: 'logIn', body: { email, password } }), /^200/, origin);
			const api = { name: 'Tried', type: 'openapi', baseUrl: 'https://example.com' };
			assert.match(await execute(page, { tag: 'apis', id: 'createApi', body: api }), /^201/, origin);
		}
		assert.deepEqual(complaints, []);
		await page.close();
	}
});
