// Puts stored secrets in place of the `••••` that a client sends back. A secret goes only to where it was: to the same destination, and
// in a list to the item that is otherwise the same.

import { isDeepStrictEqual } from 'node:util';
import { invalid } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { pointerToken } from '../kit/json-pointer.ts';
import type { SecretPlace } from './secret-places.ts';
import { type Destination, destinationsIn, type FoundSecret, HIDDEN, mapSecrets, valueAt } from './secret-walk.ts';

export interface Restored {
	stored: JsonObject;
	/** JSON pointer of the config in the request's body. */
	at: string;
	/** Opens a stored secret. */
	open(secret: Pick<FoundSecret, 'value' | 'path'>): Json;
}

/** @throws validation_failed if no stored secret belongs to a `••••`; what `open` throws */
export function restoreSecrets(root: SecretPlace, given: JsonObject, { stored, at, open }: Restored): JsonObject {
	let compared: Compared | null = null;
	return mapSecrets(root, given, (secret) => {
		const { value, path } = secret;
		const pointer = [at, ...path.map((step) => pointerToken(step))].join('/');
		const name = `"${path.join('.')}"`;
		if (value !== HIDDEN) {
			if (holdsHidden(value)) throw invalid(pointer, `${name} holds ${HIDDEN} in one of its parts: enter it whole.`);
			return value;
		}
		const label = `${name} is ${HIDDEN}, which stands for the stored value`;
		compared ??= compare(root, given, stored);
		const from = storedPath(path, compared);
		if (from === 'unclear') throw invalid(pointer, `${label}, and ${UNCLEAR}: enter it again.`);
		const own = from === null ? null : (valueAt(stored, from) ?? null);
		if (from === null || own === null) throw invalid(pointer, `${label}, and none is stored under this name: enter it.`);
		const moved = movedFrom(secret, { ...secret, path: from }, compared);
		if (moved !== null) throw invalid(pointer, `${label}, and that was entered for ${moved}: enter it again, if it belongs here too.`);
		return open({ value: own, path });
	});
}

const UNCLEAR = 'it cannot be told of which stored item, since this one was changed or is like others';

const holdsHidden = (value: Json): boolean => typeof value === 'object' && JSON.stringify(value).includes(`"${HIDDEN}"`);

/** Both configs with their public parts, by which items of lists are recognised, and their destinations. */
interface Compared {
	given: Read;
	stored: Read;
}

interface Read {
	config: JsonObject;
	open: JsonObject;
	destinations: Destination[];
}

function compare(root: SecretPlace, given: JsonObject, stored: JsonObject): Compared {
	const read = (config: JsonObject): Read => ({
		config,
		open: withoutSecrets(root, config),
		destinations: destinationsIn(root, config),
	});
	return { given: read(given), stored: read(stored) };
}

/** Leaves secrets out, except as items of lists, whose places count. */
const withoutSecrets = (root: SecretPlace, config: JsonObject): JsonObject =>
	mapSecrets(root, config, ({ path }) => (Array.isArray(valueAt(config, path.slice(0, -1))) ? HIDDEN : undefined));

// ── lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the path of the stored value; null if there is none. */
function storedPath(path: readonly string[], { given, stored }: Compared): string[] | 'unclear' | null {
	const from: string[] = [];
	for (const step of path) {
		const [mine, theirs] = [valueAt(given.open, path.slice(0, from.length)), valueAt(stored.open, from)];
		if (!Array.isArray(mine)) {
			from.push(step);
			continue;
		}
		if (!Array.isArray(theirs)) return null;
		const items = valueAt(given.config, path.slice(0, from.length)) as Json[];
		const index = sameItem({ open: mine, items }, theirs, Number(step));
		if (index === null) return 'unclear';
		from.push(String(index));
	}
	return from;
}

/** Finds the stored item that a given one is; null if none is the same, or it cannot be told which of several. */
function sameItem(given: { open: readonly Json[]; items: readonly Json[] }, stored: readonly Json[], index: number): number | null {
	const isSame = (one: Json): boolean => isDeepStrictEqual(one, given.open[index]);
	const same = indicesOf(stored, isSame);
	if (same.length <= 1) return same[0] ?? null;
	if (given.open.length === stored.length && same.includes(index)) return index;
	const own = indicesOf(given.open, isSame).filter((one) => JSON.stringify(given.items[one]).includes(`"${HIDDEN}"`));
	return own.length === same.length ? (same[own.indexOf(index)] ?? null) : null;
}

const indicesOf = (list: readonly Json[], test: (item: Json) => boolean): number[] =>
	list.flatMap((item, index) => (test(item) ? [index] : []));

// ── destinations ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A secret or a destination by the steps that lead to it. */
type Steps = Pick<Destination, 'path' | 'loose'>;

/**
 * Returns the destination for which a stored secret was entered, if it would now be sent elsewhere; else null. All destinations of the
 * config count but those of other items of a list or a map that holds the secret.
 * @param from the secret's place in the stored config
 */
function movedFrom(secret: Steps, from: Steps, { given, stored }: Compared): string | null {
	const own = stored.destinations.filter((one) => isNear(one, from));
	const now = given.destinations.filter((one) => isNear(one, secret));
	const known = new Set(own.map((one) => `${placeOf(one)} ${targetOf(one)}`));
	const added = now.find((one) => one.text !== HIDDEN && !known.has(`${placeOf(one)} ${targetOf(one)}`));
	const isGone = (one: Destination): boolean => !now.some((other) => placeOf(other) === placeOf(one));
	// A field that is absent may have a default; an item that was removed has none.
	const moved = added ?? own.find((one) => isAround(one, from) && isGone(one));
	if (!moved) return null;
	const former = own.find((one) => placeOf(one) === placeOf(moved));
	return originIn(former?.text ?? '') ?? 'another destination';
}

/** Whether two steps part elsewhere than at two items of one list or map. */
function isNear(one: Steps, other: Steps): boolean {
	const fork = forkOf(one, other);
	return !(one.loose.includes(fork) && other.loose.includes(fork));
}

/** Whether the lists and maps around a destination are around the secret, too. */
const isAround = (one: Steps, secret: Steps): boolean => one.loose.every((step) => step < forkOf(one, secret));

const forkOf = (one: Steps, other: Steps): number => {
	const fork = one.path.findIndex((step, at) => step !== other.path[at]);
	return fork === -1 ? one.path.length : fork;
};

/** The place of a destination: items of lists change their indices, and count alike. */
const placeOf = ({ path }: Steps): string => JSON.stringify(path.map((step) => (/^\d+$/.test(step) ? 0 : step)));

const targetOf = ({ text }: Destination): string => originIn(text) ?? text;

/** Returns the origin of a URL that may hold placeholders after it; null if it has none. */
function originIn(text: string): string | null {
	const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\/[^/?#{}]+/i.exec(text)?.[0] ?? '');
	if (url === null) return null;
	// All schemes that browsers do not know have the origin "null".
	return url.origin === 'null' ? `${url.protocol}//${url.host}` : url.origin;
}
