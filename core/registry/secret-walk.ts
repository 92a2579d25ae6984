// Walks a config and the places of its schema together, and finds each secret: what may be one is taken for one.

import type { Json, JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { isEnvelope } from '../secrets/envelopes.ts';
import { type Condition, emptyPlace, type Place } from './secret-places.ts';

/** Shown in place of a secret; a client that sends it back means the stored one. No header can contain it. */
export const HIDDEN = '••••';

/** A secret found in a config. */
export interface FoundSecret {
	value: Json;
	path: string[];
	/** The steps of the path that are items of lists or members of maps. Without any, the secret has a name of its own and can be left out. */
	loose: readonly number[];
	/** The schemas that mark it. */
	places: readonly Place[];
}

/** Returns the value that replaces a secret; undefined removes it. */
export type Change = (secret: FoundSecret) => Json | undefined;

/** A place of the value's position. `fits`: it may apply to this value; a sealed one is a secret even where it does not. */
interface Spot {
	place: Place;
	fits: boolean;
}

/** A value on the way, with the lists and objects around it, innermost first. */
interface At {
	value: Json;
	path: readonly string[];
	around: readonly Json[];
	loose: readonly number[];
}

type Follow = 'hasSecret' | 'hasDestination';

/** Returns the config with each secret changed. Unchanged parts are shared, not copied. */
export function mapSecrets(root: Place, config: JsonObject, change: Change): JsonObject {
	if (!root.hasSecret) return config;
	const visit = (at: At, spots: readonly Spot[]): Json | undefined => {
		const all = expand(spots, at, 'hasSecret');
		if (all.length === 0) return at.value;
		if (isSecret(at, all)) return change({ ...at, path: [...at.path], places: placesOf(all) });
		return descend(at, all, 'hasSecret', visit);
	};
	// The root is no secret, so an object stays an object.
	return visit({ value: config, path: [], around: [], loose: [] }, [{ place: root, fits: true }]) as JsonObject;
}

/** Whether a value of a place holds a secret for which `test` holds. */
export function someSecret(place: Place, value: Json, test: (secret: Json) => boolean): boolean {
	let isFound = false;
	const holder: Place = { ...emptyPlace('object'), hasSecret: true, keys: new Map([['value', place]]) };
	mapSecrets(holder, { value }, (secret) => {
		isFound ||= test(secret.value);
		return secret.value;
	});
	return isFound;
}

/** Whether a value can hold no secret: it is null, or empty. */
export const isBlank = (value: Json): boolean =>
	value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

export interface Destination {
	text: string;
	path: readonly string[];
	loose: readonly number[];
}

/** Finds the destinations of a config. */
export function destinationsIn(root: Place, config: JsonObject): Destination[] {
	const found: Destination[] = [];
	if (!root.hasDestination) return found;
	const visit = (at: At, spots: readonly Spot[]): Json => {
		const all = expand(spots, at, 'hasDestination');
		const { value, path, loose } = at;
		if (typeof value === 'string' && all.some(({ place }) => place.isDestination)) found.push({ text: value, path, loose });
		return all.length === 0 ? value : (descend(at, all, 'hasDestination', visit) ?? value);
	};
	visit({ value: config, path: [], around: [], loose: [] }, [{ place: root, fits: true }]);
	return found;
}

/** The mark of a member of a map. */
const MEMBER: Place = { ...emptyPlace('any'), isSecret: true, hasSecret: true };

// ── the schemas of a position ──────────────────────────────────────────────────────────────────────────────────────

/** Adds the options of each place; places without marks are dropped. */
function expand(spots: readonly Spot[], at: At, follow: Follow): Spot[] {
	const all = new Map<Place, boolean>();
	const add = ({ place, fits }: Spot): void => {
		if (all.get(place) === true || (all.has(place) && !fits)) return;
		all.set(place, fits);
		const { options } = place;
		const alternatives = options.filter(({ when }) => when === null);
		const matching = alternatives.filter((one) => couldMatch(one.place, at.value));
		for (const option of options) {
			const applies = option.when === null ? matching.length === 0 || matching.includes(option) : isPossible(option.when, at);
			add({ place: option.place, fits: fits && applies });
		}
		const isOne = place.isSingle && !Array.isArray(at.value);
		if (isOne && place.item) add({ place: place.item, fits });
	};
	for (const spot of spots) if (spot.place[follow]) add(spot);
	return [...all].map(([place, fits]) => ({ place, fits }));
}

/** Whether a condition may hold, as far as its literals tell. */
function isPossible({ ref, is, isMet }: Condition, { around, value }: At): boolean {
	if (is === null || ref === null) return true;
	const start = ref.ancestor === 'root' ? around.at(-1) : ref.ancestor === 0 ? value : around[ref.ancestor - 1];
	const tested = valueAt(start, ref.path);
	// A value that is absent may have a default, and one that is hidden cannot be compared.
	if (tested === undefined || isOpaque(tested)) return true;
	return (is === 'any' || is.includes(tested)) === isMet;
}

/** Whether a value could be one of a schema; only what surely fails is told apart. */
export function couldMatch(place: Place, value: Json): boolean {
	const { type, literals, isOnly, keys, renames, options } = place;
	if (isOpaque(value) || literals === null || literals.includes(value)) return true;
	if (isOnly || !accepts(place, value)) return false;
	if (type === 'alternatives') return options.some((one) => one.when !== null || couldMatch(one.place, value));
	if (!isObject(value) || renames.length > 0) return true;
	for (const [key, one] of keys) {
		const member = Object.hasOwn(value, key) ? value[key] : undefined;
		if (member === undefined ? one.isRequired : one.isOnly && !couldMatch(one, member)) return false;
	}
	return true;
}

/** Whether a value has the type of a place. */
function accepts({ type, isSingle }: Place, value: Json): boolean {
	if (type === 'object') return isObject(value);
	if (type === 'array') return Array.isArray(value) || isSingle;
	if (type === 'string' || type === 'number' || type === 'boolean') return typeof value === type;
	return true;
}

/** Whether a value stands for another one: a sealed secret, or the text shown for it. */
const isOpaque = (value: Json): boolean => value === HIDDEN || isEnvelope(value);

// ── the value ──────────────────────────────────────────────────────────────────────────────────────────────────────

function isSecret({ value }: At, spots: readonly Spot[]): boolean {
	if (value === null) return false;
	if (isEnvelope(value) && spots.some(({ place }) => place.isSecret)) return true;
	const fitting = spots.filter(({ fits }) => fits).map(({ place }) => place);
	if (fitting.some((place) => place.isSecret)) return true;
	// A value of another type than the schema's may be converted into one with secrets: JSON as a text, for example.
	const own = fitting.filter(({ type }) => type !== 'alternatives' && type !== 'link');
	return own.length > 0 && own.every((place) => place.hasSecret && !place.literals?.includes(value) && !accepts(place, value));
}

const placesOf = (spots: readonly Spot[]): Place[] => spots.filter(({ place }) => place.isSecret).map(({ place }) => place);

type Visit = (at: At, spots: readonly Spot[]) => Json | undefined;

/** Visits the members of a list or an object. */
function descend(at: At, spots: readonly Spot[], follow: Follow, visit: Visit): Json | undefined {
	const { value, path } = at;
	if (value === null || typeof value !== 'object') return value;
	const around = [value, ...at.around];
	// For a list, the keys are its indices.
	const members = value as JsonObject;
	const isList = Array.isArray(value);
	const removed: string[] = [];
	let copy: JsonObject | null = null;
	for (const key of isList ? Object.keys(members) : namesIn(members, spots, follow)) {
		const before = members[key] as Json;
		const next = isList ? itemSpots(spots, Number(key), follow) : memberSpots(spots, key, before, follow);
		if (next.length === 0) continue;
		const loose = next.every(({ isNamed }) => isNamed) ? at.loose : [...at.loose, path.length];
		const after = visit({ value: before, path: [...path, key], around, loose }, next);
		if (after === before) continue;
		copy ??= (isList ? [...value] : { ...value }) as JsonObject;
		if (after === undefined) removed.push(key);
		else copy[key] = after;
	}
	for (const key of removed) delete copy?.[key];
	return copy ?? value;
}

/** The names to look at: where only fixed names are marked, the others need no look. */
function namesIn(members: JsonObject, spots: readonly Spot[], follow: Follow): string[] {
	const isOpen = ({ place }: Spot): boolean => place.patterns.length > 0 || place.secretMembers !== null || place.renames.length > 0;
	if (spots.some(isOpen)) return Object.keys(members);
	const names = spots.flatMap(({ place }) => [...place.keys].filter(([, one]) => one[follow]).map(([name]) => name));
	return [...new Set(names)].filter((name) => Object.hasOwn(members, name));
}

type NamedSpot = Spot & { isNamed: boolean };

function itemSpots(spots: readonly Spot[], index: number, follow: Follow): NamedSpot[] {
	return spots.flatMap(({ place, fits }) => {
		const item = place.ordered[index] ?? place.item;
		return item?.[follow] ? [{ place: item, fits, isNamed: false }] : [];
	});
}

function memberSpots(spots: readonly Spot[], name: string, value: Json, follow: Follow): NamedSpot[] {
	const found: NamedSpot[] = [];
	for (const { place, fits } of spots) {
		const named = place.keys.get(name) ?? renamed(place, name);
		if (named) found.push({ place: named, fits, isNamed: true });
		else
			for (const pattern of place.patterns)
				if (!pattern.name || pattern.name.test(name)) found.push({ place: pattern.place, fits, isNamed: false });
		const { secretMembers } = place;
		if (secretMembers && value !== null && (isEnvelope(value) || secretMembers(name, textOf(value))))
			found.push({ place: MEMBER, fits, isNamed: false });
	}
	return found.filter(({ place }) => place[follow]);
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The place of a field that is given under another name. */
function renamed({ renames, keys }: Place, name: string): Place | undefined {
	const to = renames.find(({ from }) => (typeof from === 'string' ? from === name : from.test(name)))?.to;
	return to === undefined ? undefined : keys.get(to);
}

export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
	let found = value;
	for (const step of path) {
		if (found === null || typeof found !== 'object' || !Object.hasOwn(found, step)) return undefined;
		found = (found as JsonObject)[step];
	}
	return found;
}
