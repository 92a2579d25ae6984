// Tests what is asked of plugins when a config of theirs is saved: in time, and answered by their contract.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { invalid } from '../contract/errors.ts';
import type { SaveContext, ToolExecutor } from '../contract/kinds.ts';
import { HOOK_MS } from '../process/hooks.ts';
import { Registry } from '../registry/registry.ts';
import { agentOfConfig, checkByPlugin } from './saving.ts';

/** The executors of this file read nothing of it. */
const context = {} as SaveContext;

function registryWith(hooks: object): Registry {
	const registry = new Registry();
	const execute: ToolExecutor['execute'] = async () => ({ content: [] });
	registry.add({
		...{ kind: 'executor', api: 1, name: 'acme', summary: 'Acme.', config: Joi.object({}) },
		execute,
		...hooks,
	} as ToolExecutor);
	return registry;
}

const check = (hook: () => unknown): Promise<void> =>
	checkByPlugin(registryWith({ check: hook }), { kind: 'executor', name: 'acme', config: {} }, context);

test('a check that never settles is given up', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const checking = check(() => new Promise(() => undefined));
	t.mock.timers.tick(HOOK_MS);
	await assert.rejects(checking, { code: 'upstream_timeout', message: 'executor:acme: check gave no answer within 30 s.' });
});

test('a check refuses by throwing: an answer may mean a refusal, and saves nothing', async () => {
	await check(async () => undefined);
	await assert.rejects(
		check(async () => {
			throw invalid('/executionConfig/url', 'url is wrong.');
		}),
		{ code: 'validation_failed' },
	);
	for (const answer of [false, [{ path: '/a', message: 'is wrong' }], null])
		await assert.rejects(
			check(async () => answer),
			/^PluginFault: executor:acme: check must return nothing: it refuses by throwing\./,
		);
});

test('the agent of a config is an id with the place of it', () => {
	const named = (agent: unknown) => agentOfConfig(registryWith({ agent: () => agent }), 'acme', {});
	assert.equal(agentOfConfig(registryWith({}), 'acme', {}), null);
	assert.equal(agentOfConfig(registryWith({}), 'none', {}), null);
	assert.deepEqual(named({ id: 'a', at: '/executionConfig/agentId' }), { id: 'a', at: '/executionConfig/agentId' });
	for (const wrong of [
		undefined,
		null,
		'a',
		{ id: 1, at: '/a' },
		{ id: 'a' },
		{ id: 'a', at: 'agentId' },
		Promise.resolve({ id: 'a', at: '/a' }),
	])
		assert.throws(() => named(wrong), /^PluginFault: executor:acme: agent must return an object with a string as id/);
});
