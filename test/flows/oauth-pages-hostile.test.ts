// Tests attempts to get a member's consent without their knowledge: pages that frame, send or steal forms, and clients whose text would be
// more than text (notes/security.md, rows 44, 53, 61 and 62).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Browser, openBrowser, type Visited } from '../helpers/browser.ts';
import { addMember } from '../helpers/members.ts';
import { approve, type Person } from '../helpers/oauth.ts';
import { must, registerAccount } from '../helpers/service.ts';
import { allowButton, askingUrl, type Listener, listen, openScene, reachConsent, type Scene, type Visit } from './oauth-pages.ts';

let scene: Scene;
let visit: Visit;
before(async () => {
	scene = await openScene();
	visit = await scene.open();
	await reachConsent(scene, visit);
});
after(() => scene.stop());

const consents = async (): Promise<string[]> => {
	const { body } = must(await scene.account.get(`/gateways/${scene.gatewayId}/oauth/consents`), 200);
	return body.data.consents.map(({ clientId }: { clientId: string }) => clientId);
};

/** Publishes a site with one page, at an address that is the same site for cookies (127.0.0.1) or another one (localhost). */
async function publish(page: string, name = '127.0.0.1'): Promise<Listener & { url: string }> {
	const site = await listen((_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(page));
	return { ...site, url: `http://${name}:${site.port}/` };
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

// ── 61: framed ─────────────────────────────────────────────────────────────────────────────────────────────────────

test('61: no other page shows ours in a frame', async () => {
	const url = askingUrl(scene.url, await scene.register());
	const { page } = visit;
	const answer = await page.goto(url);
	const { 'x-frame-options': framing, 'content-security-policy': policy = '' } = answer?.headers() ?? {};
	assert.equal(framing, 'DENY');
	assert.match(policy, /frame-ancestors 'none'/);
	const site = await publish(`<iframe src="${escaped(url)}"></iframe>`);
	await page.goto(site.url, { waitUntil: 'networkidle' });
	const [, framed] = page.frames();
	assert.equal(await framed?.getByRole('button').count(), 0);
	assert.doesNotMatch((await framed?.content()) ?? '', /Gatehouse/);
	assert.match(visit.troubles.splice(0).join(), /frame-ancestors 'none'/);
	await site.stop();
});

// ── 44, 61: forged ─────────────────────────────────────────────────────────────────────────────────────────────────

const forms = (action: string, fields: Record<string, string>, attributes = ''): string =>
	`<form method="post" action="${escaped(action)}" ${attributes}>${Object.entries(fields)
		.map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
		.join('')}<button>Win a prize</button></form>`;

for (const [title, name, head] of [
	['of another port, which has the cookie sent', '127.0.0.1', ''],
	['of another port that hides its name', '127.0.0.1', '<meta name="referrer" content="no-referrer">'],
	['of another site', 'localhost', ''],
] as const) {
	test(`44, 61: a form on a page ${title}, lets nobody in, even with the slip of a real page`, async () => {
		const { page } = visit;
		const client = await scene.register();
		const url = askingUrl(scene.url, client);
		await page.goto(url);
		const slip = await page.locator('input[name=slip]').inputValue();
		const former = scene.callback.heard.length;
		for (const action of ['allow', 'deny', 'switch']) {
			const site = await publish(head + forms(url, { slip, action }), name);
			await page.goto(site.url);
			const [response] = await Promise.all([page.waitForResponse(`${scene.url}/**`), page.getByRole('button').click()]);
			const cookie = (await response.request().allHeaders())['cookie'];
			assert.deepEqual([response.status(), cookie !== undefined], [403, name === '127.0.0.1']);
			await site.stop();
		}
		assert.equal(scene.callback.heard.length, former);
		assert.ok(!(await consents()).includes(client.id));
		// The slip is still valid, since the forged requests were refused before it was read.
		const answer = await page.context().request.post(url, { form: { slip, action: 'deny' }, headers: { origin: scene.service.url } });
		assert.match(await answer.text(), /access_denied/);
	});
}

test('44: a form on another page logs nobody in as somebody else', async () => {
	const stranger = await registerAccount(scene.service.url);
	const { page } = visit;
	const url = askingUrl(scene.url, await scene.register());
	const site = await publish(forms(url, { email: stranger.email, password: stranger.password, action: 'login' }));
	await page.goto(site.url);
	const [response] = await Promise.all([page.waitForResponse(`${scene.url}/**`), page.getByRole('button').click()]);
	assert.equal(response.status(), 403);
	await page.goto(url);
	await page.getByText(scene.account.email).waitFor();
	await site.stop();
});

// ── 61: replayed ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Opens the consent page of a request, in a browser of its own unless one is given. */
async function ask(url: string, { person = scene.account, browser = openBrowser() }: { person?: Person; browser?: Browser } = {}) {
	const login = await browser.open(url);
	const { email, password } = person;
	const page = login.html.includes('value="login"') ? await browser.press(login, 'login', { email, password }) : login;
	return { browser, page, slip: slipOf(page) };
}

const slipOf = ({ html }: Visited): string => /name="slip" value="([^"]+)"/.exec(html)?.[1] ?? assert.fail(html);

test('61: a slip is worth nothing in another login, of another user or the same', async () => {
	const client = await scene.register();
	const url = askingUrl(scene.url, client);
	const mine = await ask(url);
	for (const person of [scene.account, await addMember(scene.account, 'member')]) {
		const other = await ask(url, { person });
		const answer = await mine.browser.press(mine.page, 'allow', { slip: other.slip });
		assert.ok(!answer.left);
		assert.notEqual(slipOf(answer), other.slip);
	}
	assert.ok(!(await consents()).includes(client.id));
});

test('61: a slip is worth nothing for another request, of another client or the same', async () => {
	const [client, other] = [await scene.register(), await scene.register({ client_name: 'Other' })];
	const { browser, page } = await ask(askingUrl(scene.url, client));
	for (const asked of [other, client]) {
		const { slip } = await ask(askingUrl(scene.url, asked), { browser });
		const answer = await browser.press(page, 'allow', { slip });
		assert.ok(!answer.left, answer.url.href);
	}
	assert.deepEqual(
		(await consents()).filter((id) => [client.id, other.id].includes(id)),
		[],
	);
});

test('61: a slip is good once: after the consent is withdrawn, it does not bring it back', async () => {
	const client = await scene.register();
	const { browser, page, slip } = await ask(askingUrl(scene.url, client));
	assert.ok((await browser.press(page, 'allow')).left);
	const { body } = must(await scene.account.get(`/gateways/${scene.gatewayId}/oauth/consents`), 200);
	const { consentId } = body.data.consents.find(({ clientId }: { clientId: string }) => clientId === client.id);
	must(await scene.account.del(`/gateways/${scene.gatewayId}/oauth/consents/${consentId}`), 200);
	const again = await browser.press(page, 'allow', { slip });
	assert.ok(!again.left);
	assert.ok(!(await consents()).includes(client.id));
});

// ── 53, 62: text as markup ── ──────────────────────────────────────────────────────────────────────────────────────

const MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(2)>';

async function assertPlain(): Promise<void> {
	const { page, troubles } = visit;
	assert.equal(await page.locator('script, img, iframe, svg, object, [onerror], [onfocus]').count(), 0);
	assert.deepEqual(troubles, []);
}

const NAMES: [title: string, name: string, shown: string][] = [
	// A quotation mark in a name could end the quotation.
	['markup', MARKUP, MARKUP.replace('"', '’')],
	['the end of an attribute', "x' onfocus='alert(1)' autofocus='", "x' onfocus='alert(1)' autofocus='"],
	['an entity', '&lt;b&gt;', '&lt;b&gt;'],
	['the name of another', 'Claude', 'Claude'],
	['characters that turn what follows', '\u202eedualC\u2066\u200f', 'edualC'],
	['a script from right to left', 'קלוד', 'קלוד'],
	['200 characters', 'W'.repeat(200), 'W'.repeat(100)],
	['characters for lines and pages', 'Claude \n\u2028\t (checked)', 'Claude (checked)'],
];

for (const [title, name, shown] of NAMES) {
	test(`53, 62: a client's name with ${title} is text, said to be unchecked, below the host`, async () => {
		const { page } = visit;
		await page.setViewportSize({ width: 360, height: 720 });
		await page.goto(askingUrl(scene.url, await scene.register({ client_name: name })));
		await allowButton(page).waitFor();
		assert.equal(await page.locator('q bdi').textContent(), shown);
		await assertPlain();
		const [host, said, note] = [await box('.host'), await box('q'), await box('dd .note')];
		assert.ok(host.y < said.y && said.x === host.x, 'what is said is below what is known, and begins where it does');
		// The note may also be on the next line.
		assert.ok(note.x > said.x || note.y > said.y, 'the remark follows the name');
		assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
	});
}

const box = async (selector: string) => (await visit.page.locator(selector).boundingBox()) ?? assert.fail(selector);

test('53: the host of a client that has the name of another is what tells them apart', async () => {
	const { page } = visit;
	await page.goto(
		askingUrl(scene.url, await scene.register({ client_name: 'Claude', redirect_uris: ['https://claude.ai.evil.example/callback'] })),
	);
	assert.equal(await page.locator('.host').textContent(), 'claude.ai.evil.example');
	await assertPlain();
});

test('62: a state with markup goes back to the client as it is, and is nothing but text on the pages', async () => {
	const { page } = visit;
	const client = await scene.register();
	await page.goto(askingUrl(scene.url, client, { state: MARKUP, error: MARKUP, error_description: MARKUP }));
	await assertPlain();
	await allowButton(page).click();
	await page.waitForURL(`${scene.callback.origin}/**`);
	assert.equal(new URL(page.url()).searchParams.get('state'), MARKUP);
	// The second approval needs no form.
	const end = await approve(new URL(askingUrl(scene.url, client, { state: MARKUP })), scene.account);
	assert.equal(end.url.searchParams.get('state'), MARKUP);
});

test('62: an address with markup that nobody has comes back as text, and no password with it', async () => {
	const other = await scene.open();
	await other.page.goto(askingUrl(scene.url, await scene.register()));
	await other.page.evaluate('document.querySelector("#email").type = "text"');
	await other.logIn({ email: MARKUP, password: MARKUP });
	await other.page.getByRole('alert').waitFor();
	assert.equal(await other.page.getByLabel('E-mail address').inputValue(), MARKUP);
	assert.equal(await other.page.getByLabel('Password').inputValue(), '');
	assert.equal(await other.page.locator('script, img').count(), 0);
	assert.deepEqual(other.troubles, []);
	await other.close();
});

for (const [title, parameters] of [
	['an unknown client', { client_id: MARKUP }],
	['a redirect that is a script', { redirect_uri: 'javascript:alert(1)' }],
	['a redirect with markup', { redirect_uri: `https://client.example/${MARKUP}` }],
	['a redirect that is not registered', { redirect_uri: 'https://evil.example/callback' }],
] as const) {
	test(`62: ${title} is told to the user on a page with 400, and nowhere else`, async () => {
		const { page } = visit;
		const former = scene.callback.heard.length;
		const answer = await page.goto(askingUrl(scene.url, await scene.register(), { ...parameters, scope: MARKUP, state: MARKUP }));
		assert.equal(answer?.status(), 400);
		await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
		assert.ok(page.url().startsWith(scene.url));
		assert.equal(scene.callback.heard.length, former);
		await assertPlain();
	});
}
