// Configs of rows that a former, or a later, version of their plugin has checked.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import type { JsonObject } from '../contract/nouns.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { Registry } from './registry.ts';
import {
	configVersion,
	currentConfig,
	loadConfig,
	loadMaskedConfig,
	type StoredConfig,
	shownConfig,
	UnfitConfig,
} from './stored-configs.ts';

const secrets = createSecrets('ab'.repeat(32));
const PLACE = { organizationId: 'o', table: 'tools', row: 'r' } as const;
const NAMED = { ...PLACE, of: 'the tool “pets”' };

/** Version 3: `target` was `url`, and `auth.token` was `token`. */
const SCHEMA = Joi.object({
	target: Joi.string()
		.pattern(/^https:/)
		.required(),
	auth: Joi.object({ token: Joi.string().meta({ secret: true }) }),
	retries: Joi.number().default(2),
});

function upgrade(config: JsonObject, from: number): JsonObject {
	if (config['url'] === 'throw') throw new Error('canary-message');
	if (config['url'] === 'list') return [] as unknown as JsonObject;
	if (config['url'] === 'late') return Promise.resolve({}) as unknown as JsonObject;
	const { url, token } = config;
	// The config is the plugin's own to change.
	delete config['url'];
	delete config['token'];
	return { ...config, target: from > 2 ? null : url, ...(token !== undefined && { auth: { token } }) } as JsonObject;
}

function registryOf(more: object = { version: 3, upgrade }): Registry {
	const registry = new Registry();
	registry.add({ kind: 'executor', name: 'sql', summary: 'One.', config: SCHEMA, execute: async () => ({ content: [] }), ...more });
	return registry;
}

const stored = (config: JsonObject, version = 1): StoredConfig => ({ kind: 'executor', name: 'sql', config, version });
const sealed = secrets.seal('canary', PLACE);

test('a config of a lower version is upgraded with its secrets sealed, then opened and completed', () => {
	const registry = registryOf();
	const former = stored({ url: 'https://a.example', token: sealed }, 2);
	assert.deepEqual(loadConfig(registry, former, secrets, NAMED), { target: 'https://a.example', auth: { token: 'canary' }, retries: 2 });
	assert.deepEqual(loadMaskedConfig(registry, former, 'mask', NAMED), { target: 'https://a.example', auth: { token: 'mask' }, retries: 2 });
	assert.deepEqual(currentConfig(registry, former), { target: 'https://a.example', auth: { token: sealed } });
	assert.deepEqual(shownConfig(registry, former, secrets), { target: 'https://a.example', auth: {} });
	assert.deepEqual(former.config, { url: 'https://a.example', token: sealed }, 'the row is not touched');
	assert.equal(configVersion(registry, 'executor', 'sql'), 3);
});

test('a config of the present version is passed on as it is, and upgrade is not called', () => {
	const registry = registryOf({ version: 3, upgrade: () => assert.fail('called') });
	const config = { target: 'https://a.example' };
	assert.equal(currentConfig(registry, stored(config, 3)), config);
	assert.equal(loadConfig(registryOf({}), stored(config), secrets, NAMED)['retries'], 2);
});

const MISFITS: [id: string, stored: StoredConfig, fault: RegExp][] = [
	[
		'does not fit the schema',
		stored({ target: 'canary', more: 1 }, 3),
		/: \/target \(string\.pattern\.base\), \/more \(object\.unknown\)$/,
	],
	['does not fit after its upgrade', stored({}), /: \/target \(any\.required\)$/],
	['cannot be upgraded', stored({ url: 'throw' }), /: upgrade from version 1 to 3 failed \(Error\)$/],
	['is upgraded to a list', stored({ url: 'list' }), /failed \(TypeError\)$/],
	['is upgraded later', stored({ url: 'late' }), /failed \(TypeError\)$/],
	[
		'is of a later version',
		stored({ target: 'https://a.example' }, 4),
		/: it was written for version 4 of the plugin’s config, which has version 3$/,
	],
];
for (const [id, config, fault] of MISFITS) {
	test(`a config that ${id} is our fault: the message names the row, the log plugin, row and field, neither a value`, () => {
		assert.throws(
			() => loadConfig(registryOf(), config, secrets, NAMED),
			(error: UnfitConfig) => {
				assert.ok(error instanceof UnfitConfig);
				assert.deepEqual([error.code, error.details], ['internal', []]);
				assert.equal(error.message, 'The configuration of the tool “pets” no longer fits: its owner has to enter it again.');
				assert.match(error.fault, /^executor:sql cannot use the config of tools r: /);
				assert.match(error.fault, fault);
				assert.doesNotMatch(error.fault, /canary/);
				return true;
			},
		);
	});
}

test('a config that cannot be upgraded is shown without any sealed value, wherever it is', () => {
	const config = { url: 'throw', token: sealed, list: [sealed, 'seen', { deep: sealed }] };
	assert.deepEqual(shownConfig(registryOf(), stored(config), secrets), { url: 'throw', list: ['seen', {}] });
	assert.deepEqual(shownConfig(new Registry(), stored(config), secrets), { url: 'throw', list: ['seen', {}] });
});
