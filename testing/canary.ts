// A canary in the secrets of a config, which must be seen nowhere.

import assert from 'node:assert/strict';
import type { Description, ObjectSchema } from 'joi';
import type { Json, JsonObject } from '../core/contract/nouns.ts';
import { isObject } from '../core/kit/json.ts';
import { secretPlaces } from '../core/registry/secret-marks.ts';
import type { SecretPlace } from '../core/registry/secret-places.ts';
import { type FoundSecret, mapSecrets } from '../core/registry/secret-walk.ts';
import { isFilled, type MarkedField, markedFields, withField } from './marked-fields.ts';

/** The text that suites plant in each secret. It has no character that an encoding would change but base64. */
export const CANARY = 'canary-0123456789abcdef-0123456789abcdef';
/** A secret that is a number. */
const NUMBER = 7_355_608_421_337;
/** The length from which a secret of the test's own is told apart from other text. */
const LEAST_OWN = 8;

/** A config whose secrets are known texts. */
export interface Planted<C extends JsonObject = JsonObject> {
	config: C;
	/** The texts that must be seen nowhere. */
	texts: readonly string[];
}

/** The secrets that a test gives for a schema: several configs where one cannot hold all of them. */
export type SecretConfigs = JsonObject | readonly JsonObject[];

export const hasSecrets = (schema: ObjectSchema | undefined): boolean => schema !== undefined && placesOf(schema).hasSecret;

/** Returns the config with CANARY in each secret text. @throws AssertionError when the schema marks secrets and the config holds none */
export function withCanary(schema: ObjectSchema, config: JsonObject): JsonObject {
	const places = placesOf(schema);
	let count = 0;
	const changed = mapSecrets(places, config, ({ value, path }) => {
		count += 1;
		return (
			canaryFor(value) ??
			assert.fail(`the secret ${path.join('.')} must be a text in the config of the test, so that a canary can replace it`)
		);
	});
	if (places.hasSecret) assert.ok(count > 0, 'the schema marks secrets, and the config of the test has none: give one by `secretConfig`');
	return changed;
}

/** A plugin as far as its secrets are concerned. */
interface Secretive {
	config: ObjectSchema;
	operator?: ObjectSchema | undefined;
}

/** A plugin's config and its operator's configuration with canaries. */
export interface PlantedPlugin extends Planted {
	operator: JsonObject | undefined;
}

/** Tells whether there is anything to plant. */
export const isSecretive = ({ config, operator }: Secretive): boolean => hasSecrets(config) || hasSecrets(operator);

/** Plants canaries in the config and in the operator's configuration. @throws AssertionError as `plantCanaries` does */
export async function plantedFor({ config, operator }: Secretive, configs: SecretConfigs, given?: JsonObject): Promise<PlantedPlugin[]> {
	const [own] = operator && hasSecrets(operator) ? await plantCanaries(operator, given ?? {}) : [];
	const planted = await plantCanaries(config, configs);
	return planted.map((one) => ({ config: one.config, operator: own?.config ?? given, texts: [...one.texts, ...(own?.texts ?? [])] }));
}

/** Returns a value, such as a body, with a canary in each secret that it has. */
export function withCanaryIn(schema: ObjectSchema, value: unknown): unknown {
	if (!isObject(value) || !hasSecrets(schema)) return value;
	return mapSecrets(placesOf(schema), value as JsonObject, (secret) => canaryFor(secret.value) ?? secret.value);
}

/**
 * Returns the configs with a canary in every field that the schema marks as secret, also in those that the test left out. A field that takes
 * no canary keeps the test's own value, which is looked for instead.
 * @throws AssertionError naming the marked fields that none of the configs has, and that cannot be filled
 */
export async function plantCanaries(schema: ObjectSchema, given: SecretConfigs): Promise<Planted[]> {
	const root = placesOf(schema);
	const marked = markedFields(root);
	const configs = Array.isArray(given) ? (given as readonly JsonObject[]) : [given as JsonObject];
	const filled: JsonObject[] = [];
	for (const config of configs) filled.push(await completed(schema, { root, marked }, config));
	const missing = marked.filter((field) => !filled.some((config) => isFilled(root, field, config)));
	assert.deepEqual(
		missing.map(({ path }) => path),
		[],
		`the config of the test leaves out what the schema marks as secret: ${missing.map(({ path }) => path).join(', ')}; give each a value by \`secretConfig\``,
	);
	return Promise.all(filled.map((config) => planted(schema, root, config)));
}

/** Adds marked fields that the test left out, as far as the schema takes them. */
async function completed(
	schema: ObjectSchema,
	{ root, marked }: { root: SecretPlace; marked: readonly MarkedField[] },
	config: JsonObject,
): Promise<JsonObject> {
	let now = config;
	for (const field of marked) {
		if (isFilled(root, field, now)) continue;
		for (const value of [CANARY, NUMBER]) {
			const more = withField(now, field, value);
			if (!more || !(await isValid(schema, more)) || !isFilled(root, field, more)) continue;
			now = more;
			break;
		}
	}
	return now;
}

async function planted(schema: ObjectSchema, root: SecretPlace, config: JsonObject): Promise<Planted> {
	const texts = new Set([CANARY, String(NUMBER)]);
	const found: FoundSecret[] = [];
	mapSecrets(root, config, (secret) => {
		found.push(secret);
		return secret.value;
	});
	let now = config;
	for (const { value, path } of found) {
		const canary = canaryFor(value);
		const changed = canary === null ? null : withValue(now, path, canary);
		if (changed && (await isValid(schema, changed))) {
			now = changed as JsonObject;
			continue;
		}
		const own = textsIn(value).filter(({ length }) => length >= LEAST_OWN);
		assert.ok(
			own.length > 0,
			`the secret ${path.join('.')} takes no canary: give it a text of at least ${LEAST_OWN} characters by \`secretConfig\``,
		);
		for (const text of own) texts.add(text);
	}
	return { config: now, texts: [...texts] };
}

/** Returns a value of the same form with canaries for its texts and numbers; null when it has none. */
function canaryFor(value: Json): Json {
	if (typeof value === 'string') return CANARY;
	if (typeof value === 'number') return NUMBER;
	if (Array.isArray(value)) return textsIn(value).length > 0 ? value.map((item) => canaryFor(item) ?? item) : null;
	if (!isObject(value) || textsIn(value).length === 0) return null;
	return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, canaryFor(one as Json) ?? (one as Json)]));
}

function textsIn(value: Json): string[] {
	if (typeof value === 'string') return [value];
	if (typeof value === 'number') return [String(value)];
	return value !== null && typeof value === 'object' ? Object.values(value).flatMap((one) => textsIn(one as Json)) : [];
}

function withValue(value: Json, [step, ...rest]: readonly string[], to: Json): Json {
	if (step === undefined) return to;
	if (Array.isArray(value)) return value.map((item, at) => (String(at) === step ? withValue(item, rest, to) : item));
	const members = value as JsonObject;
	return { ...members, [step]: withValue(members[step] ?? null, rest, to) };
}

const isValid = (schema: ObjectSchema, config: Json): Promise<boolean> =>
	schema.validateAsync(config).then(
		() => true,
		() => false,
	);

const placesOf = (schema: ObjectSchema): SecretPlace => secretPlaces(schema.describe() as Description);

/** Returns the text as it is, in hexadecimal, and in base64, where its bytes begin at any place of a group of three. */
function shapesOf(text: string): string[] {
	const encoded = [0, 1, 2].map((shift) =>
		Buffer.from(`${' '.repeat(shift)}${text}`)
			.toString('base64')
			.slice(shift === 0 ? 0 : 4, -4),
	);
	return [text, Buffer.from(text).toString('hex'), ...encoded.filter(({ length }) => length >= LEAST_OWN)];
}

/** @throws AssertionError naming the place where one of the texts is seen, as it is or in base64 or hexadecimal */
export function assertHidden(what: string, seen: unknown, texts: readonly string[] = [CANARY]): void {
	const text = typeof seen === 'string' ? seen : textOf(seen);
	for (const shape of texts.flatMap(shapesOf)) assert.ok(!text.includes(shape), `${what} shows a secret of the config`);
}

/** Writes a value with its errors, causes included. */
function textOf(value: unknown): string {
	return (
		JSON.stringify(value, (_key, one: unknown) =>
			one instanceof Error ? { ...one, message: one.message, stack: one.stack, cause: one.cause } : one,
		) ?? String(value)
	);
}
