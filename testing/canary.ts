// A canary in the secrets of a config, which must be seen nowhere.

import assert from 'node:assert/strict';
import type { Description, ObjectSchema } from 'joi';
import type { JsonObject } from '../core/contract/nouns.ts';
import { secretPlaces } from '../core/registry/secret-marks.ts';
import type { Place } from '../core/registry/secret-places.ts';
import { mapSecrets } from '../core/registry/secret-walk.ts';

/** The text that suites plant in each secret. It has no character that an encoding would change but base64. */
export const CANARY = 'canary-0123456789abcdef-0123456789abcdef';

/**
 * Returns the config with CANARY in each secret text. @throws AssertionError when the schema marks secrets and the config holds none, or one
 * that is no text
 */
export function withCanary(schema: ObjectSchema, config: JsonObject): JsonObject {
	const places = placesOf(schema);
	let planted = 0;
	const changed = mapSecrets(places, config, ({ value, path }) => {
		assert.equal(
			typeof value,
			'string',
			`the secret ${path.join('.')} must be a text in the config of the test, so that a canary can replace it`,
		);
		planted += 1;
		return CANARY;
	});
	if (places.hasSecret) assert.ok(planted > 0, 'the schema marks secrets, and the config of the test has none: give one by `secretConfig`');
	return changed;
}

export const hasSecrets = (schema: ObjectSchema): boolean => placesOf(schema).hasSecret;

const placesOf = (schema: ObjectSchema): Place => secretPlaces(schema.describe() as Description);

/** The shifts of the text in base64: its bytes begin at any place of a group of three. */
const ENCODED = [0, 1, 2].map((shift) =>
	Buffer.from(`${' '.repeat(shift)}${CANARY}`)
		.toString('base64')
		.slice(shift === 0 ? 0 : 4, -4),
);
const SHAPES = [CANARY, ...ENCODED, Buffer.from(CANARY).toString('hex')];

/** @throws AssertionError naming the place where the canary is seen, as it is or in base64 or hexadecimal */
export function assertHidden(what: string, seen: unknown): void {
	const text = typeof seen === 'string' ? seen : textOf(seen);
	for (const shape of SHAPES) assert.ok(!text.includes(shape), `${what} shows a secret of the config`);
}

/** Writes a value with its errors, causes included. */
function textOf(value: unknown): string {
	return (
		JSON.stringify(value, (_key, one: unknown) =>
			one instanceof Error ? { ...one, message: one.message, stack: one.stack, cause: one.cause } : one,
		) ?? String(value)
	);
}
