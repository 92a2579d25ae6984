// Walks a config and the places of its schema together, and finds each secret: what may be one is taken for one.

import type { Json, JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { isEnvelope } from '../secrets/envelopes.ts';
import { type Condition, emptyPlace, type SecretPlace } from './secret-places.ts';

/** Shown in place of a secret; a client that sends it back means the stored one. No header can contain it. */
export const HIDDEN = '••••';

/** A secret found in a config. */
export interface FoundSecret {
	value: Json;
	path: string[];
	/** The steps of the path that are items of lists or members of maps. Without any, the secret has a name of its own and can be left out. */
	loose: readonly number[];
	/** The schemas that mark it. */
	places: readonly SecretPlace[];
}

/** Returns the value that replaces a secret; undefined removes it. */
export type Change = (secret: FoundSecret) => Json | undefined;

/** A place of the value's position. `fits`: it may apply to this value; a sealed one is a secret even where it does not. */
interface Spot {
	place: SecretPlace;
	fits: boolean;
}

/** A value on the way, below the list or object that holds it. */
interface At {
	value: Json;
	key: string;
	/** Whether it is an item of a list or a member of a map. */
	isLoose: boolean;
	up: At | null;
}

type Follow = 'hasSecret' | 'hasDestination';

const rootAt = (config: JsonObject): At => ({ value: config, key: '', isLoose: false, up: null });

/** Returns the config with each secret changed. Unchanged parts are shared, not copied. */
export function mapSecrets(root: SecretPlace, config: JsonObject, change: Change): JsonObject {
	if (!root.hasSecret) return config;
	const visit = (at: At, spots: readonly Spot[]): Json | undefined => {
		const all = expand(spots, at, 'hasSecret');
		if (isSecret(at, all)) return change({ value: at.value, ...stepsOf(at), places: placesOf(all) });
		return descend(at, all, 'hasSecret', visit);
	};
	// The root is no secret, so an object stays an object.
	return visit(rootAt(config), [{ place: root, fits: true }]) as JsonObject;
}

/** Tells the way to a value, for the few that need it. */
function stepsOf(at: At): { path: string[]; loose: number[] } {
	const steps: At[] = [];
	for (let one = at; one.up !== null; one = one.up) steps.unshift(one);
	return { path: steps.map(({ key }) => key), loose: steps.flatMap(({ isLoose }, index) => (isLoose ? [index] : [])) };
}

/** Whether a value of a place holds a secret for which `test` holds. */
export function someSecret(place: SecretPlace, value: Json, test: (secret: Json) => boolean): boolean {
	let isFound = false;
	const holder: SecretPlace = { ...emptyPlace('object'), hasSecret: true, keys: new Map([['value', place]]) };
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
export function destinationsIn(root: SecretPlace, config: JsonObject): Destination[] {
	const found: Destination[] = [];
	if (!root.hasDestination) return found;
	const visit = (at: At, spots: readonly Spot[]): Json => {
		const all = expand(spots, at, 'hasDestination');
		const { value } = at;
		if (typeof value === 'string' && all.some(({ place }) => place.isDestination)) found.push({ text: value, ...stepsOf(at) });
		return descend(at, all, 'hasDestination', visit) ?? value;
	};
	visit(rootAt(config), [{ place: root, fits: true }]);
	return found;
}

/** The mark of a member of a map. */
const MEMBER: SecretPlace = { ...emptyPlace('any'), isSecret: true, hasSecret: true };

// ── the schemas of a position ──────────────────────────────────────────────────────────────────────────────────────

/** Adds the options of each place. */
function expand(spots: readonly Spot[], at: At, follow: Follow): readonly Spot[] {
	if (spots.every(({ place }) => place.options.length === 0 && !place.isSingle)) return spots;
	const all = new Map<SecretPlace, boolean>();
	const add = ({ place, fits }: Spot): void => {
		if (all.get(place) === true || (all.has(place) && !fits)) return;
		all.set(place, fits);
		const { options } = place;
		const matching = options.filter((one) => one.when === null && couldMatch(one.place, at.value));
		for (const { when, place: option } of options) {
			const applies = when === null ? matching.length === 0 || matching.some((one) => one.place === option) : isPossible(when, at);
			add({ place: option, fits: fits && applies });
		}
		const isOne = place.isSingle && !Array.isArray(at.value);
		if (isOne && place.item) add({ place: place.item, fits });
	};
	for (const spot of spots) if (spot.place[follow]) add(spot);
	return [...all].map(([place, fits]) => ({ place, fits }));
}

/** Whether a condition may hold, as far as its literals tell. */
function isPossible({ ref, is, isMet }: Condition, at: At): boolean {
	if (is === null || ref === null) return true;
	const tested = valueAt(ancestorOf(at, ref.ancestor), ref.path);
	// A value that is absent may have a default, and one that is hidden cannot be compared.
	if (tested === undefined || isOpaque(tested)) return true;
	return (is === 'any' || is.includes(tested)) === isMet;
}

function ancestorOf(at: At, ancestor: number | 'root'): Json | undefined {
	let found: At | null = at;
	if (ancestor === 'root') while (found.up !== null) found = found.up;
	else for (let count = 0; count < ancestor && found !== null; count++) found = found.up;
	return found?.value;
}

/** Whether a value could be one of a schema; only what surely fails is told apart. */
export function couldMatch(place: SecretPlace, value: Json): boolean {
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
function accepts({ type, isSingle }: SecretPlace, value: Json): boolean {
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
	if (spots.some(({ place, fits }) => fits && place.isSecret)) return true;
	// A value of another type than the schema's may be converted into one with secrets: JSON as a text, for example.
	const own = spots.filter(({ place, fits }) => fits && place.type !== 'alternatives' && place.type !== 'link');
	return own.length > 0 && own.every(({ place }) => place.hasSecret && !place.literals?.includes(value) && !accepts(place, value));
}

const placesOf = (spots: readonly Spot[]): SecretPlace[] => spots.filter(({ place }) => place.isSecret).map(({ place }) => place);

type Visit = (at: At, spots: readonly Spot[]) => Json | undefined;

/** Visits the members of a list or an object. */
function descend(at: At, spots: readonly Spot[], follow: Follow, visit: Visit): Json | undefined {
	const { value } = at;
	if (value === null || typeof value !== 'object') return value;
	// For a list, the keys are its indices.
	const members = value as JsonObject;
	const isList = Array.isArray(value);
	const removed: string[] = [];
	let copy: JsonObject | null = null;
	for (const key of isList ? indicesIn(value, spots, follow) : namesIn(members, spots, follow)) {
		const before = members[key] as Json;
		const next = isList ? itemSpots(spots, Number(key), follow) : memberSpots(spots, key, before, follow);
		if (next.length === 0) continue;
		const after = visit({ value: before, key, isLoose: !next.every(({ isNamed }) => isNamed), up: at }, next);
		if (after === before) continue;
		copy ??= (isList ? [...value] : { ...value }) as JsonObject;
		if (after === undefined) removed.push(key);
		else copy[key] = after;
	}
	for (const key of removed) delete copy?.[key];
	return copy ?? value;
}

const indicesIn = (items: readonly Json[], spots: readonly Spot[], follow: Follow): string[] =>
	spots.some(({ place }) => place.item?.[follow] || place.ordered.some((one) => one[follow])) ? Object.keys(items) : [];

/** The names to look at: where only fixed names are marked, the others need no look. */
function namesIn(members: JsonObject, spots: readonly Spot[], follow: Follow): string[] {
	const isOpen = ({ place }: Spot): boolean => place.patterns.length > 0 || place.secretMembers !== null || place.renames.length > 0;
	if (spots.some(isOpen)) return Object.keys(members);
	const names = new Set<string>();
	for (const { place } of spots) for (const [name, one] of place.keys) if (one[follow] && Object.hasOwn(members, name)) names.add(name);
	return [...names];
}

type NamedSpot = Spot & { isNamed: boolean };

function itemSpots(spots: readonly Spot[], index: number, follow: Follow): NamedSpot[] {
	const found: NamedSpot[] = [];
	for (const { place, fits } of spots) {
		const item = place.ordered[index] ?? place.item;
		if (item?.[follow]) found.push({ place: item, fits, isNamed: false });
	}
	return found;
}

function memberSpots(spots: readonly Spot[], name: string, value: Json, follow: Follow): NamedSpot[] {
	const found: NamedSpot[] = [];
	for (const { place, fits } of spots) {
		const named = place.keys.get(name) ?? renamed(place, name);
		if (named?.[follow]) found.push({ place: named, fits, isNamed: true });
		for (const pattern of named ? [] : place.patterns) {
			const isMarked = pattern.place[follow] && (pattern.name?.test(name) ?? true);
			if (isMarked) found.push({ place: pattern.place, fits, isNamed: false });
		}
		const { secretMembers } = place;
		const isMember = follow === 'hasSecret' && secretMembers && value !== null;
		if (isMember && (isEnvelope(value) || secretMembers(name, textOf(value)))) found.push({ place: MEMBER, fits, isNamed: false });
	}
	return found;
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The place of a field that is given under another name. */
function renamed({ renames, keys }: SecretPlace, name: string): SecretPlace | undefined {
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
