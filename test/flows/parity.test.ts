// Tests that no protocol opens what another refuses: one set of tools over every transport and the universal endpoint, with their own clients.
// A row of CASES is the same for all of them.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { type Caller, type Seen, TRANSPORTS, type Transport } from '../helpers/parity.ts';
import { freePort } from '../helpers/ports.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';
import { httpUpstream } from '../helpers/upstream.ts';
import { quiet } from '../helpers/utcp.ts';

const PET = {
	type: 'object',
	properties: { id: { type: 'integer', minimum: 1 }, tags: { type: 'array', items: { type: 'string' } } },
	required: ['id'],
	additionalProperties: false,
};
const MOST_BYTES = 600;
/** Enough for one call with a key that ends: the other rows come meanwhile. */
const ENDING_MS = 4000;

/** The tools, published by one gateway of an organization of its own. */
interface Site {
	transport: Transport;
	account: Account;
	gateway: { id: string; url: string };
	url: string;
	/** A key of the owner with these permissions; null: all. */
	keyOf(permissions?: string[]): Promise<{ id: string; key: string }>;
	caller(key?: string): Caller;
	/** A key that is good until then. */
	ending: { key: string; end(): Promise<unknown> };
	/** Requests to the upstream, and the answers that it holds. */
	asked: string[];
	held: ServerResponse[];
}

interface Case {
	row: string;
	see(site: Site): Promise<unknown>;
	expect: unknown;
}

/** A failure, by whether it says what it should. */
const says = (seen: Seen, pattern: RegExp): unknown => (seen.is === 'failed' ? { is: 'failed', says: pattern.test(seen.said) } : seen);
const SAID = { is: 'failed', says: true };
/** The listed names; none where the list was refused. */
const namesOf = (listed: string[] | Seen): string[] => (Array.isArray(listed) ? listed.toSorted() : []);
const NAMES = ['get_pet', 'words', 'breaks', 'missing', 'slow', 'large', 'limited', 'confirmed', 'gone'];
/** The statuses of failures, for protocols whose calls have none. */
const WITHOUT: Readonly<Record<string, number>> = { missing: 422, breaks: 422, gone: 502, get_pet: 400 };

const CASES: readonly Case[] = [
	{
		row: 'lists the assigned tools',
		see: async (site) => namesOf(await site.caller().list()),
		expect: [...NAMES].sort(),
	},
	{
		row: 'returns data',
		see: (site) => site.caller().call('get_pet', { id: 7, tags: ['a', 'b'] }),
		expect: { is: 'result', data: { got: { id: 7, tags: ['a', 'b'] } } },
	},
	{ row: 'returns a text', see: (site) => site.caller().call('words'), expect: { is: 'result', data: 'two words' } },
	{
		row: 'refuses a wrong argument by its name',
		see: async (site) => says(await site.caller().call('get_pet', { id: 0 }), /\/id/),
		expect: SAID,
	},
	{ row: 'refuses a missing argument by its name', see: async (site) => says(await site.caller().call('get_pet'), /id/), expect: SAID },
	{
		row: 'refuses an argument that is not declared',
		see: async (site) => says(await site.caller().call('get_pet', { id: 1, no: 1 }), /no/),
		expect: SAID,
	},
	{ row: 'knows no tool of that name', see: (site) => site.caller().call('nonsense'), expect: { is: 'unknown' } },
	{ row: 'knows no tool that is not assigned', see: (site) => site.caller().call('unassigned'), expect: { is: 'unknown' } },
	{ row: 'knows no tool of another organization', see: (site) => site.caller().call('foreign'), expect: { is: 'unknown' } },
	{
		row: 'tells that an upstream broke',
		see: async (site) => says(await site.caller().call('breaks'), /HTTP 500.*it broke/s),
		expect: SAID,
	},
	{
		row: 'tells what an upstream did not find',
		see: async (site) => says(await site.caller().call('missing'), /HTTP 404.*no such pet/s),
		expect: SAID,
	},
	{
		row: 'tells a tool that failed from a wrong argument and from an upstream that is away, where calls have a status',
		async see(site) {
			const statusOf = async (name: string): Promise<unknown> => {
				const seen = await site.caller().call(name);
				return seen.is === 'failed' ? (seen.status ?? WITHOUT[name]) : seen;
			};
			return [await statusOf('missing'), await statusOf('breaks'), await statusOf('gone'), await statusOf('get_pet')];
		},
		expect: [422, 422, 502, 400],
	},
	{
		row: 'cuts a result to the same data',
		async see(site) {
			const seen = await site.caller().call('large');
			const { items } = (seen as { data: { items: string[] } }).data;
			return {
				is: seen.is,
				isCut: JSON.stringify(items).length <= MOST_BYTES,
				isBegun: items.length > 0 && items.every((item) => /^x+/.test(item)),
			};
		},
		expect: { is: 'result', isCut: true, isBegun: true },
	},
	{
		row: 'counts calls of a tool with a limit',
		async see(site) {
			const caller = site.caller((await site.keyOf()).key);
			return [await caller.call('limited'), await caller.call('limited')];
		},
		expect: [{ is: 'result', data: 'ok' }, { is: 'limited' }],
	},
	{
		row: 'runs nothing that its user must confirm and cannot, and takes no blame for it',
		async see(site) {
			const seen = await site.caller().call('confirmed');
			const isOurs = seen.is === 'failed' && seen.status !== undefined && seen.status >= 500;
			return [says(seen, /confirm/), isOurs, site.asked.includes('/confirmed')];
		},
		expect: [SAID, false, false],
	},
	{
		row: 'denies a request without a key that is good',
		see: (site) => site.caller('ak_live_nonsense').call('words'),
		expect: { is: 'denied' },
	},
	{
		row: 'denies the key of another organization',
		async see(site) {
			const other = await registerAccount(site.account.url);
			const { key } = must(await other.post('/access-keys', { name: 'k' }), 201).body.data;
			// Over all of an organization, the key opens that of its owner, which has none of these tools.
			const seen = await site.caller(key).call('words');
			return site.transport.at ? seen.is === 'unknown' : ['denied', 'forbidden'].includes(seen.is);
		},
		expect: true,
	},
	{
		row: 'runs nothing for a key that may only read',
		see: async (site) => site.caller((await site.keyOf(['tools:read'])).key).call('words'),
		expect: { is: 'forbidden' },
	},
	{
		row: 'lists nothing for a key that may only execute, and runs',
		async see(site) {
			const caller = site.caller((await site.keyOf(['tools:execute'])).key);
			return [await caller.list(), await caller.call('words')];
		},
		expect: [{ is: 'forbidden' }, { is: 'result', data: 'two words' }],
	},
	{
		row: 'ends a call whose client ends it',
		async see(site) {
			const count = site.held.length;
			const asked = until(() => site.held.length > count, 'the upstream is asked');
			const ended = asked.then(() => until(() => site.held.at(-1)?.destroyed, 'the upstream’s connection is closed'));
			await site.caller().leave('slow', asked, ended);
			return site.held.length - count;
		},
		expect: 1,
	},
	{
		row: 'denies a key that has ended',
		async see(site) {
			const { key, end } = site.ending;
			await end();
			await until(async () => (await site.caller(key).call('words')).is === 'denied', 'the key has ended');
			return site.caller(key).list();
		},
		expect: { is: 'denied' },
	},
];

/** Makes a key of the gateway that soon expires; over all of an organization, where those are not good, one that will be revoked. */
async function endingKey({ transport, account, gateway, keyOf }: Omit<Site, 'ending'>): Promise<Site['ending']> {
	if (transport.at) {
		const { id, key } = await keyOf();
		return { key, end: () => account.del(`/access-keys/${id}`) };
	}
	const body = { name: 'short', expiresAt: new Date(Date.now() + ENDING_MS).toISOString() };
	const { key } = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, body), 201).body.data;
	return { key, end: async () => undefined };
}

async function publish(t: TestContext, service: SharedService, transport: Transport): Promise<Site> {
	const [asked, held]: [string[], ServerResponse[]] = [[], []];
	const { origin } = await httpUpstream(t, ({ url = '' }, response) => {
		asked.push(url);
		if (url === '/slow') return void held.push(response);
		response.writeHead(url === '/breaks' ? 500 : url === '/missing' ? 404 : 200, { 'content-type': 'text/plain' });
		response.end(url === '/breaks' ? 'it broke' : url === '/missing' ? 'no such pet' : 'ok');
	});
	const account = await registerAccount(service.url);
	const script = async (name: string, code: string, parameters: object = { type: 'object', properties: {} }): Promise<string> => {
		const body = { name, type: 'javascript', description: `The tool ${name}.`, parameters, executionConfig: { code } };
		return must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data.id;
	};
	const calling = (name: string, more: object = {}): Promise<string> =>
		createHttpTool(account, { name, url: `${origin}/${name}`, ...more });
	const toolIds = [
		await script('get_pet', 'return { got: parameters };', PET),
		await script('words', "return 'two words';"),
		await script('large', "return { items: Array.from({ length: 100 }, () => 'x'.repeat(50)) };"),
		...(await Promise.all(['breaks', 'missing', 'limited', 'confirmed'].map((name) => calling(name)))),
		await calling('slow', { timeoutMs: 120_000 }),
		await createHttpTool(account, { name: 'gone', url: `http://127.0.0.1:${await freePort()}/` }),
	];
	await calling('unassigned');
	const gateway = await publishGateway(account, { type: transport.type, toolIds });
	const { tools } = must(await account.get(`/gateways/${gateway.id}/tools`), 200).body.data;
	const set = async (name: string, options: object): Promise<unknown> => {
		const { gatewayToolId } = tools.find((one: { name: string }) => one.name === name);
		return must(await account.patch(`/gateways/${gateway.id}/tools/${gatewayToolId}`, options), 200);
	};
	await set('limited', { rateLimit: 1 });
	await set('large', { maxResultBytes: MOST_BYTES });
	await set('confirmed', { confirm: 'always' });
	const keyOf: Site['keyOf'] = async (permissions) =>
		must(await account.post('/access-keys', { name: 'k', ...(permissions && { permissions }) }), 201).body.data;
	const { key: own } = await keyOf();
	const url = transport.at?.(service.url) ?? gateway.url;
	const site = { transport, account, gateway, url, keyOf, asked, held, caller: (key = own) => transport.caller(url, key) };
	const ending = await endingKey(site);
	await soon(async () => namesOf(await site.caller().list()).length === NAMES.length, 'the tools are served');
	assert.deepEqual(await site.caller(ending.key).call('words'), { is: 'result', data: 'two words' });
	return { ...site, ending };
}

test('every transport answers alike', async (t) => {
	quiet(t);
	const service = await sharedService();
	t.after(() => service.stop());
	const other = await registerAccount(service.url);
	await createHttpTool(other, { name: 'foreign', url: 'http://127.0.0.1:4000/' });
	const { plugins } = must(await other.get('/plugins'), 200).body.data;
	const loaded = new Set(plugins.filter(({ kind }: { kind: string }) => kind === 'transport').map(({ name }: { name: string }) => name));
	for (const [name, transport] of Object.entries(TRANSPORTS)) {
		if (!loaded.has(transport.type)) continue;
		const site = await publish(t, service, transport);
		for (const { row, see, expect } of CASES) await t.test(`${name} ${row}`, async () => assert.deepEqual(await see(site), expect));
	}
});
