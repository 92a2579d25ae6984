// The fields that a schema marks as secret, with the way to each, so that a test can tell which of them its config leaves out.

import type { Json, JsonObject } from '../core/contract/nouns.ts';
import { isObject } from '../core/kit/json.ts';
import type { SecretPlace } from '../core/registry/secret-places.ts';
import { mapSecrets } from '../core/registry/secret-walk.ts';

/** A step: the name of a member, any item of a list, or any member of a map. */
type Step = { name: string } | 'item' | 'member';

export interface MarkedField {
	/** The way as text: `auth.keys[].secret`, `headers.*`. */
	path: string;
	steps: readonly Step[];
	/** The schema that marks it; null for a map that decides by the names of its members. */
	place: SecretPlace | null;
}

/** The name under which a map is likely to hold a secret. */
const MEMBER = 'authorization';

/** Lists every marked field, each schema once: links make circles. */
export function markedFields(root: SecretPlace): MarkedField[] {
	const found: MarkedField[] = [];
	const seen = new Set<SecretPlace>();
	const visit = (place: SecretPlace | null | undefined, steps: readonly Step[]): void => {
		if (!place?.hasSecret || seen.has(place)) return;
		seen.add(place);
		if (place.isSecret) {
			found.push({ path: pathOf(steps), steps, place });
			return;
		}
		if (place.secretMembers) found.push({ path: pathOf([...steps, 'member']), steps: [...steps, 'member'], place: null });
		for (const [name, one] of place.keys) visit(one, [...steps, { name }]);
		for (const { place: one } of place.patterns) visit(one, [...steps, 'member']);
		for (const one of [...place.ordered, place.item]) visitItem(one, steps);
		for (const { place: one } of place.options) visit(one, steps);
	};
	const visitItem = (item: SecretPlace | null, steps: readonly Step[]): void => visit(item, [...steps, 'item']);
	visit(root, []);
	return found;
}

/** Tells whether the config has a value that is secret by this mark. */
export function isFilled(root: SecretPlace, { place, steps }: MarkedField, config: JsonObject): boolean {
	let isFound = false;
	mapSecrets(root, config, (secret) => {
		isFound ||= place ? secret.places.includes(place) : isAt(steps, secret.path);
		return secret.value;
	});
	return isFound;
}

/** Returns the config with a value at the field; null where another value is in the way. */
export function withField(config: JsonObject, { steps }: MarkedField, value: Json): JsonObject | null {
	const changed = put(config, steps, value);
	return isObject(changed) ? (changed as JsonObject) : null;
}

function put(now: Json | undefined, [step, ...rest]: readonly Step[], value: Json): Json | undefined {
	if (step === undefined) return now === undefined ? value : undefined;
	if (step === 'item') {
		if (now !== undefined && !Array.isArray(now)) return undefined;
		const item = put(undefined, rest, value);
		return item === undefined ? undefined : [...(now ?? []), item];
	}
	if (now !== undefined && !isObject(now)) return undefined;
	const name = step === 'member' ? MEMBER : step.name;
	const members = (now ?? {}) as JsonObject;
	const member = put(members[name], rest, value);
	return member === undefined ? undefined : { ...members, [name]: member };
}

const isAt = (steps: readonly Step[], path: readonly string[]): boolean =>
	steps.length === path.length && steps.every((step, at) => typeof step === 'string' || step.name === path[at]);

const pathOf = (steps: readonly Step[]): string =>
	steps.reduce<string>((path, step) => {
		if (step === 'item') return `${path}[]`;
		const name = step === 'member' ? '*' : step.name;
		return path === '' ? name : `${path}.${name}`;
	}, '');
