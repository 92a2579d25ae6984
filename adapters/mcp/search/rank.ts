// Ranks the tools of an index by a query: each word of it, as it is, as the beginning of a longer one, as another word for the same, or
// mistyped, counts by how rare it is.

import type { ToolIndex } from './tool-index.ts';
import { alikeTo, stemOf, stemsOf, wordsOf } from './words.ts';

export const MAX_QUERY_CHARS = 500;
const MAX_WORDS = 24;
/** How much a word counts that is not the query's own. */
const SHARES = { own: 1, longer: 0.6, mistyped: 0.7, alike: 0.45 };
const MIN_PREFIX = 3;
const MAX_LONGER = 40;
const MAX_MISTYPED = 8;
/** The letters that are compared with those of mistyped words of a query, as pairs: 6,000 words of eight letters. */
const MAX_COMPARED = 400_000;
/** The words that are looked at, since a mistyped one may mean them. */
const MAX_LOOKED_AT = 60_000;
/** The tools of words that are looked at for one query, as often as they are met. */
const MAX_MET = 300_000;

/** The part of these that one query has taken. */
interface Budget {
	compared: number;
	lookedAt: number;
	met: number;
}

/** Returns the places of the best tools, the best first. */
export function rank(index: ToolIndex, query: string, limit: number): number[] {
	const stems = queryStems(query);
	const scores = new Float32Array(index.size);
	const matched = new Float32Array(index.size);
	const best = new Float32Array(index.size);
	let weights = 0;
	const budget: Budget = { compared: 0, lookedAt: 0, met: 0 };
	for (const stem of stems) {
		const said = sayings(index, stem, budget);
		const rarity = rarityOf(index, said);
		weights += rarity;
		const touched: number[] = [];
		for (const [word, share] of said) {
			const [start, end] = [index.starts[word] ?? 0, index.starts[word + 1] ?? 0];
			// A word that so many tools have tells little: rarer ones that follow still count.
			if (budget.met + end - start > MAX_MET) continue;
			budget.met += end - start;
			for (let at = start; at < end; at++) {
				const tool = index.tools[at] ?? 0;
				const impact = share * (index.impacts[at] ?? 0);
				const known = best[tool] ?? 0;
				if (known === 0) touched.push(tool);
				if (impact > known) best[tool] = impact;
			}
		}
		for (const tool of touched) {
			const impact = best[tool] ?? 0;
			scores[tool] = (scores[tool] ?? 0) + rarity * impact;
			matched[tool] = (matched[tool] ?? 0) + rarity * Math.min(1, 2 * impact);
			best[tool] = 0;
		}
	}
	for (let tool = 0; tool < index.size; tool++) {
		const score = scores[tool] ?? 0;
		if (score > 0) scores[tool] = score * Math.sqrt((matched[tool] ?? 0) / weights);
	}
	return highest(scores, limit);
}

/** The words of a query that say something; all of them if none does. */
function queryStems(query: string): string[] {
	const stems = stemsOf(query.slice(0, MAX_QUERY_CHARS));
	return [...new Set(stems.length > 0 ? stems : wordsOf(query.slice(0, MAX_QUERY_CHARS)).map(stemOf))].slice(0, MAX_WORDS);
}

/** The words of the index that a word of the query may mean, with how much each counts. */
function sayings(index: ToolIndex, stem: string, budget: Budget): Map<number, number> {
	const said = new Map<number, number>();
	const say = (word: string, share: number): void => {
		const number = index.words.get(word);
		if (number !== undefined && (said.get(number) ?? 0) < share) said.set(number, share);
	};
	say(stem, SHARES.own);
	for (const word of alikeTo(stem)) say(word, SHARES.alike);
	for (const word of longerThan(index, stem)) say(word, SHARES.longer * (stem.length / word.length) ** 0.5);
	if (!index.words.has(stem)) for (const word of mistyped(index, stem, budget)) say(word, SHARES.mistyped);
	return said;
}

function* longerThan({ sorted }: ToolIndex, stem: string): Generator<string> {
	if (stem.length < MIN_PREFIX) return;
	let [low, high] = [0, sorted.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((sorted[middle] ?? '') < stem) low = middle + 1;
		else high = middle;
	}
	for (let at = low; at < Math.min(sorted.length, low + MAX_LONGER); at++) {
		const word = sorted[at] ?? '';
		if (!word.startsWith(stem)) return;
		if (word !== stem) yield word;
	}
}

/** Words that differ by one edit, or two where the word is long; the nearest only. Most people type the first letter right. */
function mistyped(index: ToolIndex, stem: string, budget: Budget): string[] {
	if (stem.length < 4) return [];
	const most = stem.length < 8 ? 1 : 2;
	let nearest = most;
	let found: string[] = [];
	for (const word of nearBy(index, stem)) {
		if (++budget.lookedAt > MAX_LOOKED_AT) break;
		if (Math.abs(word.length - stem.length) > nearest) continue;
		budget.compared += stem.length * word.length;
		if (budget.compared > MAX_COMPARED) break;
		const distance = editsBetween(stem, word, nearest);
		if (distance > nearest) continue;
		if (distance < nearest) found = [];
		nearest = distance;
		found.push(word);
	}
	return found.slice(0, MAX_MISTYPED);
}

/** Words that begin with one of the first two letters. */
function* nearBy({ sorted }: ToolIndex, stem: string): Generator<string> {
	const [first, second] = stem;
	for (const letter of new Set([first, second])) {
		if (letter === undefined) continue;
		let [low, high] = [0, sorted.length];
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((sorted[middle] ?? '') < letter) low = middle + 1;
			else high = middle;
		}
		for (let at = low; at < sorted.length && sorted[at]?.startsWith(letter); at++) yield sorted[at] ?? '';
	}
}

/** The optimal string alignment distance, in which swapping two neighbours is one edit; more than `most` is `most + 1`. */
export function editsBetween(a: string, b: string, most: number): number {
	let [before, last] = [new Array<number>(b.length + 1).fill(0), Array.from({ length: b.length + 1 }, (_, at) => at)];
	for (let i = 1; i <= a.length; i++) {
		const row = [i];
		let least = i;
		for (let j = 1; j <= b.length; j++) {
			const same = a[i - 1] === b[j - 1] ? 0 : 1;
			let edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, (before[j - 2] ?? 0) + 1);
			row.push(edits);
			least = Math.min(least, edits);
		}
		if (least > most) return most + 1;
		[before, last] = [last, row];
	}
	return last[b.length] ?? most + 1;
}

/** The rarity of what a word may mean: that of its most frequent exact form, so that no synonym makes a frequent word rare. */
function rarityOf({ size, starts }: ToolIndex, said: Map<number, number>): number {
	let count = 0;
	for (const word of said.keys()) count = Math.max(count, (starts[word + 1] ?? 0) - (starts[word] ?? 0));
	return Math.log(1 + (size - count + 0.5) / (count + 0.5));
}

function highest(scores: Float32Array, limit: number): number[] {
	const places: number[] = [];
	for (let place = 0; place < scores.length; place++) {
		const score = scores[place] ?? 0;
		if (score <= 0 || (places.length === limit && score <= (scores[places[limit - 1] ?? 0] ?? 0))) continue;
		let at = places.length;
		while (at > 0 && (scores[places[at - 1] ?? 0] ?? 0) < score) at--;
		places.splice(at, 0, place);
		if (places.length > limit) places.pop();
	}
	return places;
}
