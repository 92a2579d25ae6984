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

/** Opens the page at `/docs` by way of the root, and collects the browser's complaints. With `only`, it reads these operations of the document alone. */
async function open(origin: string, only?: string[]): Promise<{ page: Page; complaints: string[] }> {
	const page = await browser.newPage();
	const complaints: string[] = [];
	page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
	page.on('pageerror', (error) => complaints.push(error.message));
	if (only) {
		await page.route('**/openapi.json', async (route) => {
			const response = await route.fetch();
			await route.fulfill({ response, json: partOf(await response.json(), only) });
		});
	}
	await page.goto(`${origin}/`);
	await page.locator('.opblock-tag').first().waitFor();
	return { page, complaints };
}

interface Document {
	paths: Record<string, Record<string, { operationId: string }>>;
	components: Record<string, Record<string, object>>;
}

/** Leaves out all operations but these, and the components that none of them needs. */
function partOf(document: Document, only: string[]): Document {
	const paths = Object.entries(document.paths).flatMap(([path, methods]) => {
		const own = Object.entries(methods).filter(([, { operationId }]) => only.includes(operationId));
		return own.length > 0 ? [[path, Object.fromEntries(own)] as const] : [];
	});
	const { securitySchemes = {}, ...others } = document.components;
	const components: Document['components'] = { securitySchemes };
	const follow = (text: string): void => {
		for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([^"/]+)"/g)) {
			const found = others[kind]?.[name];
			if (!found || components[kind]?.[name]) continue;
			components[kind] = { ...components[kind], [name]: found };
			follow(JSON.stringify(found));
		}
	};
	follow(JSON.stringify(paths));
	return { ...document, paths: Object.fromEntries(paths), components };
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

/** Gives the page the token that its requests carry. */
async function authorize(page: Page): Promise<void> {
	await page.locator('.auth-wrapper button.authorize').click();
	const dialog = page.locator('.modal-ux');
	await dialog.locator('input').first().fill(account.token);
	await dialog.locator('button.authorize').first().click();
	await dialog.locator('button.btn-done').first().click();
}

test('whoever types the address of the service reads the whole page, and tries an operation with a token', async () => {
	const [origin = ''] = origins;
	const { page, complaints } = await open(origin);
	assert.equal(page.url(), `${origin}/docs`);
	const tags = await page.locator('.opblock-tag-section').count();
	assert.ok(tags >= 10, `${tags} tags`);
	assert.equal(await page.locator('.opblock').count(), 0, 'no operation is unfolded');
	assert.match((await page.locator('#operations-tag-gateways').textContent()) ?? '', /Gateways with their tools/);
	await authorize(page);
	assert.match(await execute(page, { tag: 'plugins', id: 'listPlugins' }), /^200/);
	assert.deepEqual(complaints, []);
	await page.close();
});

test('under the other name, operations work with bodies, with a token and after a login', async () => {
	const { email, password } = account;
	const [, origin = ''] = origins;
	// A browser takes five seconds to draw all operations, and two to unfold one among so many.
	const { page, complaints } = await open(origin, ['logIn', 'createApi', 'listApis']);
	assert.equal(page.url(), `${origin}/docs`);
	await authorize(page);
	assert.match(await execute(page, { tag: 'apis', id: 'listApis' }), /^200/);
	assert.match(await execute(page, { tag: 'accounts', id: 'logIn', body: { email, password } }), /^200/);
	const api = { name: 'Tried', type: 'openapi', baseUrl: 'https://example.com' };
	assert.match(await execute(page, { tag: 'apis', id: 'createApi', body: api }), /^201/);
	assert.deepEqual(complaints, []);
	await page.close();
});
