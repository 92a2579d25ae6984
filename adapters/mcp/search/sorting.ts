// Sorts long lists of words without holding up other work.

import type { TimeSlice } from '../../../core/index.ts';

/** The words that are sorted at once, in a millisecond or two. */
const RUN = 2000;

/** Returns the words in the order of their code units, as `sort` does. */
export async function sortInSlices(words: readonly string[], slice: TimeSlice): Promise<string[]> {
	let runs: string[][] = [];
	for (let at = 0; at < words.length; at += RUN) {
		runs.push(words.slice(at, at + RUN).sort());
		if (slice.isOverNow) await slice.next();
	}
	while (runs.length > 1) {
		const longer: string[][] = [];
		for (let at = 0; at < runs.length; at += 2) longer.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], slice));
		runs = longer;
	}
	return runs[0] ?? [];
}

async function merge(left: readonly string[], right: readonly string[], slice: TimeSlice): Promise<string[]> {
	const merged: string[] = [];
	for (let [a, b] = [0, 0]; a < left.length || b < right.length; ) {
		const [one, other] = [left[a], right[b]];
		const isLeft = other === undefined || (one !== undefined && one <= other);
		merged.push((isLeft ? one : other) ?? '');
		if (isLeft) a++;
		else b++;
		if (slice.isOver) await slice.next();
	}
	return merged;
}
