// Tests the wording of the login and consent pages: who asks whom for which access, in words that no name can distort.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { must, registerAccount } from '../helpers/service.ts';
import { allowButton, askingUrl, openScene, reachConsent, type Scene, untilTitled, type Visit } from './oauth-pages.ts';

let scene: Scene;
/** A visit on a phone, logged in. */
let visit: Visit;
before(async () => {
	scene = await openScene();
	visit = await scene.open({ viewport: { width: 360, height: 720 } });
	await reachConsent(scene, visit);
});
beforeEach(() => call({ organization: 'Acme & Sons', gateway: 'Main' }));
after(() => scene.stop());

async function call({ organization, gateway }: { organization: string; gateway: string }): Promise<void> {
	must(await scene.account.patch(`/organizations/${scene.account.organization.id}`, { name: organization }), 200);
	must(await scene.account.patch(`/gateways/${scene.gatewayId}`, { name: gateway }), 200);
}

const heading = () => visit.page.getByRole('heading', { level: 1 }).textContent();

/** Waits until the heading is as expected, at most a second after any change. */
async function headingFor(metadata: object, expected: string): Promise<void> {
	const url = askingUrl(scene.url, await scene.register(metadata));
	let seen: string | null = null;
	const isSeen = async (): Promise<boolean> => {
		await visit.page.goto(url);
		seen = await heading();
		return seen === expected;
	};
	await until(isSeen, 'heading').catch(() => assert.equal(seen, expected));
	await allowButton(visit.page).waitFor();
	assert.deepEqual(visit.troubles, []);
}

test('the consent page asks as a person would: who wants access to which gateway of which organization', async () => {
	await headingFor({ client_name: 'Claude Code' }, '“Claude Code” wants access to “Main” of Acme & Sons');
	await untilTitled(visit.page, 'Allow or deny access – Gatehouse');
	assert.equal(await visit.page.locator('dd:has(q)').textContent(), 'Claude Code (not checked)');
	assert.equal(await visit.page.locator('dt:text("You are logged in as") + dd').textContent(), scene.account.email);
});

test('an organization that is renamed is called by its new name, and a gateway too', async () => {
	await headingFor({ client_name: 'Cursor' }, '“Cursor” wants access to “Main” of Acme & Sons');
	await call({ organization: 'Umbrella', gateway: 'Kitchen' });
	await headingFor({ client_name: 'Cursor' }, '“Cursor” wants access to “Kitchen” of Umbrella');
});

test('the login page names the same, so that one knows why to log in, and so does the page for who is no member', async () => {
	const other = await scene.open();
	await headingFor({ client_name: 'Claude Code' }, '“Claude Code” wants access to “Main” of Acme & Sons');
	const sentence = '“Claude Code” wants access to “Main” of Acme & Sons.';
	await other.page.goto(visit.page.url());
	await untilTitled(other.page, 'Log in – Gatehouse');
	await other.page.getByText(`${sentence} Log in as a member of Acme & Sons to allow or deny it.`).waitFor();
	assert.equal(await other.page.locator('.host').textContent(), new URL(scene.callback.origin).host);
	const stranger = await registerAccount(scene.service.url);
	await other.logIn(stranger);
	await other.page.getByText(`${sentence} Only members of Acme & Sons can allow it.`).waitFor();
	await untilTitled(other.page, 'This account cannot decide – Gatehouse');
	await other.page.getByText(stranger.email).waitFor();
	await other.close();
});

const NAMELESS = ['', ' \t\n', '\u202e\u2066', '\u200b\u200d', '\u3164\u115f', '\ufe0f'];

for (const name of NAMELESS) {
	test(`a client whose name shows nothing, such as ${JSON.stringify(escape(name))}, is "A program"`, async () => {
		await headingFor({ client_name: name }, 'A program wants access to “Main” of Acme & Sons');
		await visit.page.getByText('nothing: it gives no name').waitFor();
		assert.equal(await visit.page.locator('q').count(), 0);
	});
}

const LETTERS = 'The name of a program that goes on and on, and does not end b';

const HOSTILE: [title: string, name: string, shown: string][] = [
	['the end of its quotation', 'Claude” is checked. “Main', 'Claude’ is checked. ’Main'],
	['such an end in plain', 'Claude" is checked. "Main', 'Claude’ is checked. ’Main'],
	['such an end in other scripts', '«Claude» „is“ ＂checked＂', '’Claude’ ’is’ ’checked’'],
	['markup', '<b>Claude</b><script>alert(1)</script>', '<b>Claude</b><script>alert(1)</script>'],
	['characters that turn what follows', '\u202eedualC\u2066\u200f', 'edualC'],
	['lines', 'Claude\n\n\u2028is checked', 'Claude is checked'],
	['more than 60 characters', LETTERS.repeat(3), `${LETTERS.slice(0, 59)}…`],
	['marks in a heap', `Cla${'\u0300\u0323'.repeat(40)}ude`, 'Cla\u0300\u0323\u0300\u0323ude'],
];

for (const [title, name, shown] of HOSTILE) {
	test(`a client's name with ${title} is one name in the heading, and so are a gateway's and an organization's`, async () => {
		await headingFor({ client_name: name }, `“${shown}” wants access to “Main” of Acme & Sons`);
		await call({ organization: name, gateway: name });
		await until(async () => {
			await visit.page.reload();
			return (await heading())?.includes(`wants access to “${shown}” of `) ?? false;
		}, 'the gateway’s name');
		// The organization's name stands outside quotation marks, so it may contain some.
		const organization = await visit.page.locator('h1 bdi').last().textContent();
		assert.equal(organization?.replaceAll(/["“”„«»＂]/g, '’'), shown);
		assert.equal(await visit.page.locator('h1 bdi').count(), 3);
		assert.equal(await visit.page.locator('script, b').count(), 0);
	});
}

test('a gateway and an organization whose names show nothing are called as in the address', async () => {
	await call({ organization: '\u3164', gateway: '\u200b' });
	const [, slug, endpoint] = new URL(scene.url).pathname.split('/');
	await headingFor({ client_name: 'Claude Code' }, `“Claude Code” wants access to “${endpoint}” of ${slug}`);
});

test('however long the names are, a phone shows where the answer goes without scrolling, above the decision', async () => {
	const long = 'W'.repeat(200);
	await call({ organization: long, gateway: long });
	const cut = `${'W'.repeat(59)}…`;
	await headingFor({ client_name: long }, `“${cut}” wants access to “${cut}” of ${cut}`);
	const [host, allow] = [await visit.page.locator('.host').boundingBox(), await allowButton(visit.page).boundingBox()];
	assert.ok(host && allow);
	assert.equal(await visit.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
	assert.ok(host.y + host.height <= 720 && host.y + host.height < allow.y, `${host.y + host.height}`);
});

for (const [scope, words] of [
	['tools:read', ['See which tools the gateway has']],
	['tools:execute', ['Use the gateway’s tools in your name']],
	['gateway:read', ['See how the gateway is set up']],
	['tools:read gateway:read', ['See which tools the gateway has', 'See how the gateway is set up']],
] as const) {
	test(`what ${scope} lets the client do is said in words`, async () => {
		await visit.page.goto(askingUrl(scene.url, await scene.register(), { scope }));
		await allowButton(visit.page).waitFor();
		assert.deepEqual(await visit.page.getByRole('listitem').allTextContents(), words);
	});
}
