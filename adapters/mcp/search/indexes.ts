// Keeps the indexes of this process: one for each list of tools, as long as its tools stay as they are.

import { createHash } from 'node:crypto';
import { SizedCache, TimeSlice, type Tool } from '../../../core/index.ts';
import { indexTools, type ToolIndex } from './tool-index.ts';

/** 10,000 tools take about 4 MB. An index that was dropped is made again when it is next needed. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The tools of a list that are searched: the first. */
export const MAX_TOOLS = 50_000;

const indexes = new SizedCache<ToolIndex>(MAX_BYTES);
const making = new Map<string, Promise<ToolIndex>>();
/** The last index that an account has begun: it makes one at a time. */
const turns = new Map<string, Promise<unknown>>();
/** Lists are frozen, and stay the same objects until something in their organization changes. */
const fingerprints = new WeakMap<readonly Tool[], Promise<string>>();

/** Returns the index of a list. It is made in small slices when the list is first searched, or has changed since. */
export async function indexOf(tools: readonly Tool[], accountOf: () => Promise<string>): Promise<ToolIndex> {
	const key = await fingerprintOf(tools);
	const known = indexes.get(key) ?? making.get(key);
	if (known) return known;
	const made = makeInTurn(tools, await accountOf());
	// Another search of the same list may have begun one meanwhile.
	const first = making.get(key) ?? made();
	if (making.has(key)) return first;
	making.set(key, first);
	try {
		const index = await first;
		indexes.put(key, index, index.sizeBytes);
		return index;
	} finally {
		making.delete(key);
	}
}

function makeInTurn(tools: readonly Tool[], account: string): () => Promise<ToolIndex> {
	return () => {
		const index = (turns.get(account) ?? Promise.resolve()).then(() => indexTools(tools.slice(0, MAX_TOOLS)));
		const turn = index.catch(() => undefined).finally(() => turns.get(account) === turn && turns.delete(account));
		turns.set(account, turn);
		return index;
	};
}

/** A hash of all that the index is made of. Lists of two organizations never have the same: ids are unique. */
export function fingerprintOf(tools: readonly Tool[]): Promise<string> {
	const known = fingerprints.get(tools) ?? hashed(tools);
	fingerprints.set(tools, known);
	return known;
}

async function hashed(tools: readonly Tool[]): Promise<string> {
	const slice = new TimeSlice();
	const hash = createHash('sha256');
	for (const { id, version, name, description, annotations } of tools) {
		hash.update(JSON.stringify([id, version, name, description, annotations.title]));
		if (slice.isOverNow) await slice.next();
	}
	return hash.digest('base64url');
}
