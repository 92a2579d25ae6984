// The cases of the table of clients: what each of them does at a gateway, and what must come of it.

import assert from 'node:assert/strict';
import { until } from '../../helpers/clock.ts';
import type { Called, CallOptions, Connected, Driver, Target } from './drivers.ts';
import type { World } from './world.ts';

export interface Case {
	name: string;
	/** The ability of a client without which the case cannot be run. */
	needs?: NonNullable<Driver['lacks']>[number];
	/** @throws AssertionError when the client does not get what it must */
	run(client: Connected, world: World, driver: Driver): Promise<void>;
}

const LARGE = 500_000;

const textOf = ({ content }: Called): string => content.map(({ text = '' }) => text).join('\n');

/** A call whose error the model is told. */
const failing =
	(name: string, says: RegExp): Case['run'] =>
	async (client) => {
		const result = await client.call(name);
		assert.notEqual(result.isError, false, textOf(result));
		assert.match(textOf(result), says);
	};

/** Begins a call that does not end, gives it up, and waits until the upstream hears of it. */
async function givenUp(client: Connected, world: World, options: CallOptions, giveUp: () => void): Promise<void> {
	const before = world.held();
	const call = client.call('hang', {}, options);
	call.catch(() => undefined);
	await until(() => world.held() > before, 'the upstream has the call');
	giveUp();
	await assert.rejects(call);
	await until(() => world.held() === before, 'the upstream call has ended');
}

async function refusedWhenRevoked(_client: Connected, world: World, driver: Driver): Promise<void> {
	const { key, revoke } = await world.newKey();
	const target: Target = { ...world.target, key };
	const client = await driver.connect(target);
	await client.list();
	await revoke();
	const refused = (error: unknown): boolean => /401|unauthorized|auth_required|ended with 3/i.test(String(error));
	await until(() => client.call('echo').then((result) => refused(textOf(result)), refused), 'it is refused');
	await client.close().catch(() => undefined);
}

export const CASES: readonly Case[] = [
	{
		name: 'list',
		run: async (client) => assert.deepEqual((await client.list()).slice(0, 3), ['progress', 'echo', 'missing']),
	},
	{ name: 'call', run: async (client) => assert.match(textOf(await client.call('echo', { word: 'hi' })), /"path"/) },
	{
		name: 'structured',
		needs: 'structured',
		run: async (client) => assert.match(JSON.stringify((await client.call('echo')).structured), /"path":"\/echo/),
	},
	{
		name: 'bad arguments',
		async run(client) {
			const result = await client.call('echo', { word: 5 });
			assert.notEqual(result.isError, false);
			// Some clients check arguments by the schema themselves, and say so in their own words.
			assert.match(textOf(result), /\/word must be string, got number 5|input validation failed|did not match/i);
		},
	},
	{
		name: 'unknown tool',
		async run(client) {
			const told = await client.call('no-such-tool').then(textOf, (error: unknown) => String(error));
			assert.match(told, /no tool|not found|no-such-tool/i);
		},
	},
	{ name: '4xx', run: failing('missing', /404/) },
	{ name: '5xx', run: failing('broken', /500/) },
	{ name: 'reset', run: failing('reset', /connection|closed|broke|reset/i) },
	{
		name: 'hang',
		needs: 'timeout',
		run: (client, world) => givenUp(client, world, { timeoutMs: 500 }, () => undefined),
	},
	{
		name: '1 MB',
		async run(client) {
			const result = await client.call('big');
			assert.notEqual(result.isError, true, textOf(result).slice(0, 300));
			assert.ok(textOf(result).length > LARGE);
		},
	},
	{
		name: 'image',
		run: async (client) => assert.ok((await client.call('image')).content.some(({ type }) => type.startsWith('image'))),
	},
	{ name: '204', run: async (client) => assert.notEqual((await client.call('nothing')).isError, true) },
	{ name: 'ping', needs: 'ping', run: async (client) => void (await client.ping?.()) },
	{
		name: 'progress',
		needs: 'progress',
		async run(client) {
			const seen: number[] = [];
			await client.call('progress', {}, { onProgress: (done) => seen.push(done) });
			assert.deepEqual(seen, [0, 50, 100]);
		},
	},
	{
		name: 'cancel',
		needs: 'cancel',
		async run(client, world) {
			const leaving = new AbortController();
			await givenUp(client, world, { signal: leaving.signal }, () => leaving.abort());
		},
	},
	{
		name: 'list changed',
		needs: 'list changed',
		async run(client, world) {
			let isHeard = false;
			await client.onToolsChanged?.(() => {
				isHeard = true;
			});
			// A legacy client opens its stream some time after it has connected.
			const assigned = async (): Promise<boolean> => {
				if (!isHeard) await world.assignTool();
				return isHeard;
			};
			await until(assigned, 'it hears of the new tool', 500);
		},
	},
	{
		name: 'prompt',
		needs: 'prompt',
		run: async (client) => assert.match((await client.prompt?.('greet', { who: 'Ada' })) ?? '', /Greet Ada\./),
	},
	{
		name: 'resource',
		needs: 'resource',
		async run(client) {
			assert.match((await client.resource?.('skill://greet/SKILL.md')) ?? '', /Greet \{\{who\}\}\./);
			assert.match((await client.resource?.('gatehouse://tools/echo')) ?? '', /# echo/);
		},
	},
	{
		name: 'elicitation',
		needs: 'elicitation',
		run: async (client) => assert.match(textOf(await client.call('sure')), /"path":"\/sure/),
	},
	{ name: 'revoked key', run: refusedWhenRevoked },
];

/** Run last: the connections of all clients end. */
export const RESTART: Case = {
	name: 'restart',
	async run(client) {
		const works = (): Promise<boolean> =>
			client.call('echo').then(
				(result) => result.isError !== true && /path/.test(textOf(result)),
				() => false,
			);
		await until(works, 'it calls tools again');
	},
};
