// Which fields of a plugin's config are secret, told by marks of its schema, and what becomes of them in the config of a row.

import type { Description } from 'joi';
import type { Json, JsonObject } from '../contract/nouns.ts';

/** Shown in place of a secret; where it comes back, it stands for the one that is stored. No header can hold it. */
export const HIDDEN = '••••';

/** Of a map by name, which members are secret: `.meta({ secretMembers })`. */
export type SecretMembers = (name: string, value: string) => boolean;

/** Any item of a list, any member of a map. */
const EACH: unique symbol = Symbol('each');
type Step = string | typeof EACH;

export interface SecretField {
	path: readonly Step[];
	/** Of a member of a map; null where the field as such is secret. */
	isSecret: SecretMembers | null;
}

/** One of a config. */
export interface FoundSecret {
	value: string;
	path: string[];
	/** In a map: that it is there, and under which name, is no secret. */
	isMember: boolean;
}

interface Mark {
	secret?: boolean;
	secretMembers?: SecretMembers;
	destination?: boolean;
}

const marksOf = (description: Description): Mark[] => (description.metas as Mark[] | undefined) ?? [];

/** Found once: Joi takes milliseconds to describe a schema, and lists hold a hundred rows. */
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

/** The config with each secret changed, without those of which `change` makes null. What is not on the way to one is shared with it. */
export function mapSecrets(config: JsonObject, fields: readonly SecretField[], change: (secret: FoundSecret) => string | null): JsonObject {
	const at =
		(isSecret: SecretMembers | null) =>
		(value: Json, path: string[]): Json | undefined => {
			if (typeof value !== 'string' || (isSecret && !isSecret(path.at(-1) ?? '', value))) return value;
			return change({ value, path, isMember: isSecret !== null }) ?? undefined;
		};
	// Of an object comes an object: a path has at least one step.
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
	// Of a list its indices.
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

/** The text there, null when there is none. */
export function textAt(config: JsonObject, path: readonly string[]): string | null {
	let value: Json = config;
	for (const step of path) {
		if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return null;
		value = (value as JsonObject)[step] as Json;
	}
	return typeof value === 'string' ? value : null;
}

/** Of a URL that may hold placeholders behind it; null where it has none. */
export const originIn = (text: string | null): string | null =>
	URL.parse(/^[a-z]+:\/\/[^/?#{}]+/i.exec(text ?? '')?.[0] ?? '')?.origin ?? null;
