// Estimates the size of RE2's program for a pattern, before it is compiled: repetitions are expanded, so a pattern of
// thirty characters can take thousands of states, each with some 150 bytes and 1 to 10 µs (measured with re2js 2.10).

/** Classes such as \p{L} are hundreds of ranges, created once for each use. */
const UNICODE_CLASS = 50;
const REPETITION = /\{(\d+)(,?)(\d*)\}/y;
/** One step of the pattern: an escape, a whole class in brackets, or a character. */
const STEP = /\\[pPux]\{[^}]*\}|\\.|\[\^?\]?(?:\\[pPux]\{[^}]*\}|\\.|[^\]\\])*\]?|./suy;
const UNICODE_CLASSES = /\\[pP]/g;
/** States at the start and the end of a program. */
const ENDS = 4;

interface Group {
	/** States of everything before the last atom. */
	before: number;
	/** States of the last atom, which a repetition multiplies. */
	last: number;
}

/** Estimates the states of a pattern. @returns an upper bound, also for text that is not a pattern */
export function patternStates(pattern: string): number {
	const outer: Group[] = [];
	let group: Group = { before: 0, last: 0 };
	const atom = (states: number): void => {
		group = { before: group.before + group.last, last: states };
	};
	for (let at = 0; at < pattern.length; ) {
		STEP.lastIndex = at;
		const step = STEP.exec(pattern)?.[0] ?? ' ';
		const times = step === '{' ? repetition(pattern, at) : null;
		at += times?.length ?? step.length;
		if (times) group.last = times.most * (group.last + 2);
		else if (step === '(') {
			outer.push(group);
			group = { before: 0, last: 0 };
		} else if (step === ')') {
			const inner = group.before + group.last + 2;
			group = outer.pop() ?? { before: 0, last: 0 };
			atom(inner);
		} else if (step === '*' || step === '+' || step === '?') group.last += 2;
		else atom(1);
	}
	const written = [...outer, group].reduce((sum, { before, last }) => sum + before + last, ENDS);
	return written + UNICODE_CLASS * (pattern.match(UNICODE_CLASSES)?.length ?? 0);
}

/** Parses a repetition; null if the brace is an ordinary character. */
function repetition(pattern: string, at: number): { most: number; length: number } | null {
	REPETITION.lastIndex = at;
	const [whole, least, , most] = REPETITION.exec(pattern) ?? [];
	return whole === undefined ? null : { most: Math.max(1, Number(least) + 1, Number(most)), length: whole.length };
}
