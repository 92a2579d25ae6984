// Tests what a transport may say of the tokens of its lists, and that it has to say it in time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import type { TransportAdapter } from '../contract/kinds.ts';
import { HOOK_MS } from '../process/hooks.ts';
import { Registry } from '../registry/registry.ts';
import type { MountedGateway } from './mount.ts';
import { estimateTokens } from './tokens.ts';

// An estimate reads nothing else of a gateway.
const mounted = { plugin: 'transport:acme', gateway: { type: 'acme' }, shelf: { list: () => [] }, config: {} } as unknown as MountedGateway;

function estimate(tokens: () => unknown): Promise<Record<string, number> | null> {
	const registry = new Registry();
	const handler = async () => ({ status: 204 });
	const config = Joi.object({});
	const routes: TransportAdapter['routes'] = [{ method: 'GET', path: '/', handler }];
	registry.add({ ...{ kind: 'transport', api: 1, name: 'acme', summary: 'Acme.', config, routes }, tokens: tokens as never });
	return estimateTokens(mounted, { registry });
}

test('an estimate is a few whole numbers by name', async () => {
	assert.deepEqual(await estimate(async () => ({ full: 12 })), { full: 12 });
	for (const wrong of [undefined, null, 12, { full: 1.5 }, { full: '12' }, { Full: 12 }])
		await assert.rejects(
			estimate(async () => wrong),
			/^PluginFault: transport:acme: tokens must return up to 16 whole numbers by name: /,
		);
	await assert.rejects(
		estimate(() => {
			throw new TypeError('canary');
		}),
		{ message: 'transport:acme: tokens failed unexpectedly.' },
	);
});

test('an estimate that never comes is a fault that names the transport', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const late = estimate(() => new Promise(() => undefined));
	t.mock.timers.tick(HOOK_MS);
	await assert.rejects(late, { code: 'upstream_timeout', message: 'transport:acme: tokens gave no answer within 30 s.' });
});
