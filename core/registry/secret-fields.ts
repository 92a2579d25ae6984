// Finds the secret fields of a plugin's config by the marks of its schema, and changes them in the config of a row.

import type { Description } from 'joi';
import type { Json, JsonObject } from '../contract/nouns.ts';

/** Shown in place of a secret; a client that sends it back means the stored one. No header can contain it. */
export const HIDDEN = '••••';

/** Decides which members of a map are secret: `.meta({ secretMembers })`. */
export type SecretMembers = (name: string, value: string) => boolean;

/** A step to any item of a list or any member of a map. */
const EACH: unique symbol = Symbol('each');
type Step = string | typeof EACH;

export interface SecretField {
	path: readonly Step[];
	/** Decides for a member of a map; null if the field itself is secret. */
	isSecret: SecretMembers | null;
}

/** A secret found in a config. */
export interface FoundSecret {
	value: string;
	path: string[];
	/** The secret is a member of a map: its presence and its name are not secret. */
	isMember: boolean;
}

interface Mark {
	secret?: boolean;
	secretMembers?: SecretMembers;
	destination?: boolean;
}

const marksOf = (description: Description): Mark[] => (description.metas as Mark[] | undefined) ?? [];

/** Finds the secret fields of a schema, once per plugin: Joi takes milliseconds to describe a schema, and lists hold a hundred rows. */
export function secretFields(description: Description, path: readonly Step[] = []): SecretField[] {
	const marks = marksOf(description);
	if (marks.some(({ secret }) => secret === true)) return [{ path, isSecret: null }];
	const isSecret = marks.findLast(({ secretMembers }) => secretMembers !== undefined)?.secretMembers;
	const members: SecretField[] = isSecret ? [{ path: [...path, EACH], isSecret }] : [];
	return [...members, ...children(description).flatMap(([step, child]) => secretFields(child, [...path, step]))];
}

/** Names of top-level fields that say where a config's secrets are sent: `.meta({ destination: true })`. */
export const destinationFields = ({ keys = {} }: Description & { keys?: Record<string, Description> }): string[] =>
	Object.keys(keys).filter((key) => marksOf(keys[key] as Description).some(({ destination }) => destination === true));

function children(description: Description): [step: Step, child: Description][] {
	const keys = (description['keys'] ?? {}) as Record<string, Description>;
	const patterns = (description['patterns'] ?? []) as { rule: Description }[];
	const items = (description['items'] ?? []) as Description[];
	return [...Object.entries(keys), ...[...patterns.map(({ rule }) => rule), ...items].map((child): [Step, Description] => [EACH, child])];
}

/** Returns the config with each secret changed, or removed where `change` returns null. Unchanged parts are shared, not copied. */
export function mapSecrets(config: JsonObject, fields: readonly SecretField[], change: (secret: FoundSecret) => string | null): JsonObject {
	const at =
		(isSecret: SecretMembers | null) =>
		(value: Json, path: string[]): Json | undefined => {
			if (typeof value !== 'string' || (isSecret && !isSecret(path.at(-1) ?? '', value))) return value;
			return change({ value, path, isMember: isSecret !== null }) ?? undefined;
		};
	// A path has at least one step, so an object stays an object.
	return fields.reduce((whole, { path, isSecret }) => changedAt(whole, path, at(isSecret)) as JsonObject, config);
}

function changedAt(
	value: Json,
	[step, ...rest]: readonly Step[],
	change: (value: Json, path: string[]) => Json | undefined,
	path: string[] = [],
): Json | undefined {
	if (step === undefined) return change(value, path);
	if (value === null || typeof value !== 'object') return value;
	// For a list, the keys are its indices.
	const members = value as JsonObject;
	const keys = step === EACH ? Object.keys(members) : Object.hasOwn(members, step) ? [step] : [];
	let copy: JsonObject | null = null;
	for (const key of keys) {
		const before = members[key] as Json;
		const after = changedAt(before, rest, change, [...path, key]);
		if (after === before) continue;
		copy ??= (Array.isArray(value) ? [...value] : { ...value }) as JsonObject;
		if (after === undefined) delete copy[key];
		else copy[key] = after;
	}
	return copy ?? value;
}

/** Returns the text at a path, null if there is none. */
export function textAt(config: JsonObject, path: readonly string[]): string | null {
	let value: Json = config;
	for (const step of path) {
		if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return null;
		value = (value as JsonObject)[step] as Json;
	}
	return typeof value === 'string' ? value : null;
}

/** Returns the origin of a URL that may hold placeholders after it; null if it has none. */
export const originIn = (text: string | null): string | null =>
	URL.parse(/^[a-z]+:\/\/[^/?#{}]+/i.exec(text ?? '')?.[0] ?? '')?.origin ?? null;
