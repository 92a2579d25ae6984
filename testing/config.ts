// The rules for the config of every plugin, which the contracts of the kinds share.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Description, ObjectSchema } from 'joi';
import type { JsonObject } from '../core/index.ts';
import { checkPlugin } from '../core/registry/manifest.ts';

export interface ConfigSamples {
	good: JsonObject;
	/** Configs that are refused, with a pattern for the message. */
	bad: readonly { config: JsonObject; says: RegExp }[];
}

/** Tests the manifest and the config of a plugin. */
export function describeManifest(
	plugin: { kind: string; name: string; summary: string; config: ObjectSchema },
	samples: ConfigSamples,
): void {
	test('it says what it is, in one sentence, and its manifest has no fault', () => {
		assert.match(plugin.name, /^[a-z][a-z0-9_]*$/);
		assert.match(plugin.summary, /^[A-Z].*\.$/);
		checkPlugin(plugin);
	});

	test('its config takes what it should and refuses any other field by its name', () => {
		assert.equal(plugin.config.validate(samples.good).error, undefined);
		assert.match(String(plugin.config.validate({ ...samples.good, noSuchField: 1 }).error), /"noSuchField" is not allowed/);
	});

	test('its config refuses what is wrong and says what', () => {
		assert.ok(samples.bad.length > 1);
		for (const { config, says } of samples.bad) assert.match(String(plugin.config.validate(config).error), says, JSON.stringify(config));
	});

	test('its config says of every field what it is for', () => {
		const { keys } = plugin.config.describe() as { keys: Record<string, Description> };
		for (const [name, { flags }] of Object.entries(keys)) assert.ok((flags as { description?: string } | undefined)?.description, name);
	});
}

/** Returns what the functions of a plugin get as `operator`: the given configuration, completed by the defaults, and frozen as in the service. */
export function operatorFor({ operator }: { operator?: ObjectSchema | undefined }, given: JsonObject = {}): unknown {
	const { value, error } = operator?.validate(given) ?? { value: {} };
	assert.equal(error, undefined, `the operator's configuration that the test gives by \`operator\`: ${error?.message}`);
	return frozen<unknown>(value);
}

/** Returns the value, which throws when somebody changes it. */
export function frozen<T>(value: T): T {
	if (value !== null && typeof value === 'object') {
		for (const member of Object.values(value)) frozen(member);
		Object.freeze(value);
	}
	return value;
}
