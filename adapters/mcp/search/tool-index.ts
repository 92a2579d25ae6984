// An inverted index of tools, in typed arrays: for each word the tools that have it, with what the word says about each (BM25F: Robertson
// and Zaragoza, "The Probabilistic Relevance Framework", 2009, §3.5). The part that does not depend on a query is computed here.

import { TimeSlice, type Tool } from '../../../core/index.ts';
import { sortInSlices } from './sorting.ts';
import { fieldsOf } from './tool-text.ts';
import { stemsOf } from './words.ts';

/** How soon a further occurrence of a word stops to count, and how much the length of a field does. */
const SATURATION = 2;
const LENGTH_SHARE = 0.6;
/** Memory of one word of the vocabulary, beside its tools. */
const WORD_BYTES = 120;
/** The most words of an index: those that come first. */
const MAX_WORDS = 100_000;
/** The most pairs of a word and a tool, 50,000 tools of 40 words; of further tools names and titles alone are read. */
const MAX_PAIRS = 2_000_000;
/** The fields that are read in any case: the first. */
const NAMING = 2;

export interface ToolIndex {
	/** The number of tools. */
	size: number;
	/** Numbers of words, by the word. */
	words: ReadonlyMap<string, number>;
	/** All words, sorted. */
	sorted: readonly string[];
	/** The first entry of each word, by its number, and the end of the last. */
	starts: Uint32Array;
	/** Places of tools in their list, and what the word says about each. */
	tools: Uint32Array;
	impacts: Float32Array;
	sizeBytes: number;
}

interface Growing {
	tools: number[];
	impacts: number[];
}

/** Reads all tools, in small slices: thousands with large schemas take a second. */
export async function indexTools(tools: readonly Tool[]): Promise<ToolIndex> {
	const slice = new TimeSlice();
	const growing = new Map<string, Growing>();
	let pairs = 0;
	for (const [place, tool] of tools.entries()) {
		for (const [stem, frequency] of frequenciesOf(tool, pairs < MAX_PAIRS ? undefined : NAMING)) {
			const word = growing.get(stem) ?? (growing.size < MAX_WORDS ? { tools: [], impacts: [] } : null);
			if (!word) continue;
			pairs += 1;
			word.tools.push(place);
			word.impacts.push(frequency / (SATURATION + frequency));
			growing.set(stem, word);
		}
		if (slice.isOverNow) await slice.next();
	}
	return compact(tools.length, growing, slice);
}

/** How often a tool has each word, weighted by field and relative to the field's length. @param fields the number of fields that are read; default: all */
function frequenciesOf(tool: Tool, fields?: number): Map<string, number> {
	const frequencies = new Map<string, number>();
	for (const { weight, usual, text } of fieldsOf(tool).slice(0, fields)) {
		if (text === '') continue;
		const stems = stemsOf(text);
		const share = weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * stems.length) / usual);
		for (const stem of stems) frequencies.set(stem, (frequencies.get(stem) ?? 0) + share);
	}
	return frequencies;
}

async function compact(size: number, growing: Map<string, Growing>, slice: TimeSlice): Promise<ToolIndex> {
	let total = 0;
	for (const { tools } of growing.values()) total += tools.length;
	const starts = new Uint32Array(growing.size + 1);
	const [tools, impacts] = [new Uint32Array(total), new Float32Array(total)];
	const words = new Map<string, number>();
	let at = 0;
	for (const [stem, word] of growing) {
		starts[words.size] = at;
		words.set(stem, words.size);
		tools.set(word.tools, at);
		impacts.set(word.impacts, at);
		at += word.tools.length;
		if (slice.isOver) await slice.next();
	}
	starts[words.size] = at;
	const sorted = await sortInSlices([...words.keys()], slice);
	return { size, words, sorted, starts, tools, impacts, sizeBytes: total * 8 + words.size * WORD_BYTES };
}
