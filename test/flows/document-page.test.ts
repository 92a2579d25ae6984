// Tests the page over the document in a real browser, under every name by which people reach a service on their own machine.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openChromium } from '../helpers/chromium.ts';
import { freePort } from '../helpers/ports.ts';
import { type Account, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

/** Reading the whole document takes more calls of functions than that each time; the test makes about a third of them. */
const MANY_CALLS = 50_000_000;
const TELEPHONE = { width: 390, height: 844 };

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

interface Opened {
	page: Page;
	/** The browser's complaints. */
	complaints: string[];
	/** Counts the calls of functions of the page until now. */
	calls(): Promise<number>;
}

/** Opens the page at `/docs` by way of the root. */
async function open(origin: string): Promise<Opened> {
	const page = await browser.newPage();
	const complaints: string[] = [];
	page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
	page.on('pageerror', (error) => complaints.push(error.message));
	const profiled = await page.context().newCDPSession(page);
	await profiled.send('Profiler.enable');
	await profiled.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
	await page.goto(`${origin}/`);
	await page.locator('.opblock-tag').first().waitFor();
	const calls = async (): Promise<number> => {
		const { result } = await profiled.send('Profiler.takePreciseCoverage');
		const ranges = result.flatMap(({ functions }) => functions.flatMap((each) => each.ranges));
		return ranges.reduce((sum, { count }) => sum + count, 0);
	};
	return { page, complaints, calls };
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
	await page.setViewportSize(TELEPHONE);
	assert.match(await execute(page, { tag: 'plugins', id: 'listPlugins' }), /^200/);
	assert.equal(await page.evaluate('document.documentElement.scrollWidth'), TELEPHONE.width, 'nothing is wider than the window');
	assert.deepEqual(complaints, []);
	await page.close();
});

test('under the other name, operations work with bodies, with a token and after a login', async () => {
	const { email, password } = account;
	const [, origin = ''] = origins;
	const { page, complaints } = await open(origin);
	assert.equal(page.url(), `${origin}/docs`);
	await authorize(page);
	assert.match(await execute(page, { tag: 'apis', id: 'listApis' }), /^200/);
	assert.match(await execute(page, { tag: 'accounts', id: 'logIn', body: { email, password } }), /^200/);
	const api = { name: 'Tried', type: 'openapi', baseUrl: 'https://example.com' };
	assert.match(await execute(page, { tag: 'apis', id: 'createApi', body: api }), /^201/);
	assert.deepEqual(complaints, []);
	await page.close();
});

test('the work of the page depends on what is unfolded, not on the size of the document', async () => {
	const [origin = ''] = origins;
	const { page, complaints, calls } = await open(origin);
	await page.locator('#operations-tag-health').click();
	await page.locator('#operations-health-checkLiveness .opblock-summary-control').click();
	await page.locator('#operations-health-checkLiveness button.execute').waitFor();
	await page.locator('section.models .models-control').click();
	const model = page.locator('section.models .json-schema-2020-12', { has: page.getByText('Api', { exact: true }) }).first();
	await model.locator('.json-schema-2020-12-accordion').first().click();
	await model.getByText('baseUrl').first().waitFor();
	const made = await calls();
	assert.ok(made < MANY_CALLS, `${made} calls of functions`);
	assert.deepEqual(complaints, []);
	await page.close();
});
