// Tests how what a gateway serves is followed: versions at once, again when they change, and the end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/helpers/clock.ts';
import { sampleGateway, sampleTool } from '../../testing/samples.ts';
import { GatewayError } from '../contract/errors.ts';
import type { ServedVersions } from '../contract/following.ts';
import type { OrganizationSettings, Tool } from '../contract/nouns.ts';
import type { Topic } from '../store/store.ts';
import type { CallParts, ToolShelf } from '../tools/call-parts.ts';
import type { MountedGateway } from './mount.ts';
import { Served, versionsOf } from './served.ts';

const GATEWAY = sampleGateway();
const shelfOf = (tools: readonly Tool[]): ToolShelf => ({
	list: () => tools,
	find: (ref) => {
		const tool = tools.find(({ name }) => 'name' in ref && name === ref.name);
		// Only the tool is looked at.
		return tool ? ({ tool } as unknown as ReturnType<ToolShelf['find']>) : null;
	},
	skills: () => [],
});

/** A source of versions, and of changes. */
function scene() {
	let listener: ((topics: Topic[]) => void) | null = null;
	const state = {
		tools: [sampleTool({ name: 'a' })] as readonly Tool[],
		version: '1',
		isGone: false,
		fault: null as GatewayError | null,
		settings: { codeMayFetch: false, toolExposure: 'full' } as OrganizationSettings,
		looks: 0,
	};
	const look = <T>(found: () => T): T => {
		state.looks += 1;
		if (state.fault) throw state.fault;
		return found();
	};
	const served = new Served({
		changes: {
			subscribe: (one) => {
				listener = one;
				return () => {
					listener = null;
				};
			},
		},
		gatewayAt: async () =>
			// Only these members are looked at.
			look(() => (state.isGone ? null : ({ gateway: GATEWAY, shelf: shelfOf(state.tools), version: state.version } as MountedGateway))),
		merged: { shelfOf: async () => look(() => shelfOf(state.tools)), settingsOf: async () => state.settings },
	});
	const tell = (...topics: Topic[]): void => listener?.(topics);
	return { state, served, tell, isListening: () => listener !== null };
}

// Only these members of a call are looked at.
const parts = (more: object): CallParts => ({ organizationId: GATEWAY.organizationId, shelf: null, ...more }) as unknown as CallParts;
const AT_GATEWAY = parts({ gateway: GATEWAY });
const EVERYWHERE = parts({ gateway: null, reach: { gateways: 'all', path: '/mcp' } });

/** Reads what is followed, until it ends. */
function read(served: Served, call: CallParts) {
	const leaving = new AbortController();
	const seen: ServedVersions[] = [];
	const ended = (async () => {
		for await (const versions of served.follow(call, leaving.signal)) seen.push(versions);
	})();
	return { seen, ended, leave: () => leaving.abort() };
}

const ORG: Topic = `org:${GATEWAY.organizationId}`;

test('versions come at once, and again when tools or settings are others, not for a change that shows nothing', async () => {
	const { state, served, tell } = scene();
	const reader = read(served, AT_GATEWAY);
	await until(() => reader.seen.length === 1, 'the first versions');
	assert.equal(served.size, 1);
	const looks = state.looks;
	tell(ORG);
	await until(() => state.looks > looks, 'somebody looks');
	state.version = '2';
	tell(ORG);
	await until(() => reader.seen.length === 2, 'the settings are others');
	state.tools = [...state.tools, sampleTool({ name: 'b' })];
	tell('*');
	await until(() => reader.seen.length === 3, 'the tools are others');
	const [first, second, third] = reader.seen;
	assert.deepEqual([first?.tools === second?.tools, first?.settings === second?.settings], [true, false]);
	assert.deepEqual([second?.tools === third?.tools, third?.ofTool('b') !== null, second?.ofTool('b')], [false, true, null]);
	reader.leave();
	tell(ORG);
	await reader.ended;
	assert.equal(served.size, 0, 'nobody waits any more');
});

test('a change of another organization wakes nobody', async () => {
	const { state, served, tell } = scene();
	const reader = read(served, AT_GATEWAY);
	await until(() => reader.seen.length === 1, 'the first versions');
	state.version = '2';
	tell('org:00000000-0000-4000-8000-00000000ffff', 'user:x');
	const looks = state.looks;
	tell(ORG);
	await until(() => reader.seen.length === 2, 'its own change is seen');
	assert.equal(state.looks, looks + 1);
	reader.leave();
	await reader.ended;
});

test('over all gateways the settings of the organization are among what is followed', async () => {
	const { state, served, tell } = scene();
	const reader = read(served, EVERYWHERE);
	await until(() => reader.seen.length === 1, 'the first versions');
	state.settings = { ...state.settings, toolExposure: 'search' };
	tell(ORG);
	await until(() => reader.seen.length === 2, 'the setting is seen');
	assert.notEqual(reader.seen[0]?.settings, reader.seen[1]?.settings);
	reader.leave();
	await reader.ended;
});

test('an outage is waited for; a gateway that is gone, or rights that are, end it; anything else is thrown', async () => {
	const { state, served, tell } = scene();
	state.fault = new GatewayError('unavailable', 'The database is away.');
	const patient = read(served, AT_GATEWAY);
	await until(() => state.looks > 0, 'it has looked');
	state.fault = null;
	await until(() => patient.seen.length === 1, 'it is back');
	state.isGone = true;
	tell(ORG);
	await patient.ended;
	state.fault = new GatewayError('forbidden', 'No longer.');
	const refused = read(served, EVERYWHERE);
	await refused.ended;
	assert.equal(refused.seen.length, 0);
	state.fault = new GatewayError('internal', 'A fault.');
	await assert.rejects(read(served, EVERYWHERE).ended, { code: 'internal' });
});

test('closing ends the subscription; versions of lists do not depend on how often they are asked for', () => {
	const { served, isListening } = scene();
	served.close();
	assert.equal(isListening(), false);
	const shelf = shelfOf([sampleTool({ name: 'a' })]);
	assert.equal(versionsOf(shelf, 'x').tools, versionsOf(shelfOf([sampleTool({ name: 'a' })]), 'x').tools);
	assert.notEqual(versionsOf(shelf, '').tools, versionsOf(null, '').tools);
	assert.equal(versionsOf(shelf, '').ofSkillFile('none', 'SKILL.md'), null);
});
