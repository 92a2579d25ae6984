// Tests the page behind a link in a mail, in a real browser: its form, its faults, and that it is readable for everyone (axe), on a phone and a wide
// screen, in light and dark. With SHOTS=folder its steps are also saved there as pictures.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openChromium } from '../helpers/chromium.ts';
import { until } from '../helpers/clock.ts';
import { assertReadable, SCREENS } from '../helpers/readable-page.ts';
import { type Account, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { startSmtp, type TestSmtp } from '../helpers/smtp.ts';

let smtp: TestSmtp;
let service: TestService;
let account: Account;
let browser: Browser;
before(async () => {
	browser = await openChromium();
	smtp = await startSmtp();
	service = await startTestService({ env: smtp.env });
	account = await registerAccount(service.url);
});
after(async () => {
	await browser?.close();
	await service?.stop();
	await smtp?.stop();
});

const LONG = 'x'.repeat(80);
const SCHEMA = {
	type: 'object',
	properties: {
		approved: { type: 'boolean', title: 'Freigeben?', description: 'Whether it is paid. '.repeat(10) },
		extent: { enum: ['delete everything', 'keep'] },
		speed: { enum: ['fast', 'slow'] },
		reason: { type: 'string', title: 'סיבה' },
		amount: { type: 'integer', maximum: 10 },
		names: { type: 'array', items: { type: 'string' } },
		[LONG]: { type: 'string' },
	},
	required: ['approved', 'extent', 'reason'],
};

interface Asked {
	link: string;
	/** Returns what the person has answered. */
	answer(): Promise<unknown>;
}

/** Starts an agent that asks the account by mail. */
async function begin(schema: object): Promise<Asked> {
	const nodes = [
		{ id: 'in', type: 'input', data: { schema: { type: 'object' } } },
		{
			id: 'ask',
			type: 'approval',
			data: { message: `Pay <b>1,000</b> to מיכאל?\nhttps://example.com/${LONG}`, schema, approvers: { emails: [account.email] } },
		},
		{ id: 'out', type: 'output', data: { mapping: { answer: '{{nodes.ask.output}}' } } },
	];
	const edges = nodes.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: nodes[at]?.id ?? '', target: id }));
	const { id } = must(await account.post('/agents', { name: `סוכן ${LONG}`, pipeline: { nodes, edges } }), 201).body.data;
	const { url } = must(await account.post(`/agents/${id}/invoke?async=true`, { input: {} }), 202).body.data;
	const [link = ''] = /\S+\/approvals#token=\S+/.exec((await smtp.next()).mail.text ?? '') ?? [];
	const ended = async () => must(await account.get(url), 200).body.data;
	return {
		link,
		async answer() {
			await until(async () => (await ended()).status !== 'running', 'the end');
			return (await ended()).output.answer;
		},
	};
}

/** Opens a page that must not fail, nor ask any other host for anything. */
async function open(options: object = {}): Promise<{ page: Page; faults: string[] }> {
	const page = await (await browser.newContext(options)).newPage();
	const faults: string[] = [];
	page.on('pageerror', (error) => faults.push(String(error)));
	page.on('console', (message) => /Content Security|violates/.test(message.text()) && faults.push(message.text()));
	page.on('request', (request) => request.url().startsWith(service.url) || faults.push(request.url()));
	return { page, faults };
}

test('nothing is chosen for the person, a field that was left empty is not sent, and what cannot be read is told at its field', async () => {
	const asked = await begin(SCHEMA);
	const { page, faults } = await open();
	await page.goto(asked.link);
	const send = page.getByRole('button', { name: 'Send' });
	await send.click();
	const focused = () => page.evaluate('document.activeElement.labels?.[0].textContent');
	assert.equal(await focused(), 'Freigeben?');
	await page.getByLabel('Freigeben?').selectOption('Yes');
	await send.click();
	assert.equal(await focused(), 'extent');
	await page.getByLabel('extent').selectOption('keep');
	await page.getByLabel('סיבה').fill('paid before');
	await page.getByLabel('names (JSON) (optional)').fill('Ada');
	await send.click();
	assert.equal(await focused(), 'names (JSON) (optional)');
	assert.match(String(await page.evaluate('document.activeElement.validationMessage')), /^Write JSON, such as/);
	await page.getByLabel('names (JSON) (optional)').fill('[1]');
	await send.click();
	await page.getByRole('alert').filter({ hasText: '/answer/names/0 must be string' }).waitFor();
	await page.getByLabel('names (JSON) (optional)').fill('["Ada"]');
	await send.click();
	await page.getByRole('status').filter({ hasText: 'Your answer was sent' }).waitFor();
	assert.deepEqual(await asked.answer(), { approved: true, extent: 'keep', reason: 'paid before', names: ['Ada'] });
	assert.deepEqual(faults, []);
});

test('an answer without named members is written as JSON', async () => {
	const asked = await begin({ type: 'object' });
	const { page, faults } = await open();
	await page.goto(asked.link);
	await page.getByLabel('Your answer').fill('{"a":1}');
	await page.getByRole('button', { name: 'Send' }).click();
	await page.getByRole('status').filter({ hasText: 'Your answer was sent' }).waitFor();
	assert.deepEqual(await asked.answer(), { a: 1 });
	assert.deepEqual(faults, []);
});

for (const [name, options] of SCREENS) {
	test(`each step is readable for everyone: ${name}`, async () => {
		const { link } = await begin(SCHEMA);
		const { page, faults } = await open({ ...options, bypassCSP: true });
		const judge = (step: string): Promise<void> => assertReadable(page, `approval-${step}-${name}`);
		await page.goto(`${service.url}/approvals#token=x`);
		await page.getByRole('alert').filter({ hasText: 'not valid any more' }).waitFor();
		await judge('over');
		await page.goto('about:blank');
		await page.goto(`${service.url}/approvals`);
		await page.getByRole('alert').filter({ hasText: 'A part of the link is missing' }).waitFor();
		await page.goto('about:blank');
		await page.goto(link);
		await page.getByRole('button', { name: 'Send' }).waitFor();
		await judge('question');
		await page.getByLabel('Freigeben?').selectOption('Yes');
		await page.getByLabel('extent').selectOption('keep');
		await page.getByLabel('סיבה').fill('x');
		await page.getByLabel('names (JSON) (optional)').fill('[1]');
		await page.getByRole('button', { name: 'Send' }).click();
		await page.getByRole('alert').filter({ hasText: '/answer/names/0' }).waitFor();
		await judge('fault');
		await page.getByLabel('names (JSON) (optional)').fill('');
		await page.getByRole('button', { name: 'Send' }).click();
		await page.getByRole('status').filter({ hasText: 'Your answer was sent' }).waitFor();
		await judge('done');
		assert.deepEqual(faults, []);
	});
}
