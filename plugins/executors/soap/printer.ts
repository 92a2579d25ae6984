// Prints JSON in small steps: in one go, objects of many members take long.

import type { Json } from '../../../core/index.ts';
import type { Steps } from './steps.ts';

/** So many pieces are made in less than half a millisecond. */
const STEP_PIECES = 1000;
/** Characters of a long text that are printed at once. */
const PIECE_CHARS = 64 * 1024;

export function* printJson(value: Json): Steps<string> {
	const printing: Printing = { joined: [], latest: [] };
	yield* print(value, printing);
	return printing.joined.join('') + printing.latest.join('');
}

const isShort = (value: Json): value is Exclude<Json, object> | null =>
	typeof value === 'string' ? value.length <= PIECE_CHARS : typeof value !== 'object' || value === null;

/** Pieces of a text, those of earlier steps joined. */
interface Printing {
	joined: string[];
	latest: string[];
}

function* print(value: Json, printing: Printing): Steps<void> {
	if (isShort(value)) return void printing.latest.push(JSON.stringify(value));
	if (typeof value === 'string') return yield* printText(value, printing);
	const isList = Array.isArray(value);
	printing.latest.push(isList ? '[' : '{');
	let comma = '';
	for (const [name, member] of isList ? value.entries() : Object.entries(value)) {
		if (printing.latest.length > STEP_PIECES) yield join(printing);
		printing.latest.push(isList ? comma : `${comma}${JSON.stringify(name)}:`);
		if (isShort(member)) printing.latest.push(JSON.stringify(member));
		else yield* print(member, printing);
		comma = ',';
	}
	printing.latest.push(isList ? ']' : '}');
}

function* printText(text: string, printing: Printing): Steps<void> {
	printing.latest.push('"');
	for (let from = 0, to = 0; from < text.length; from = to) {
		to = from + PIECE_CHARS;
		// The halves of a pair would be escaped.
		if (/[\ud800-\udbff]/.test(text.charAt(to - 1))) to += 1;
		printing.latest.push(JSON.stringify(text.slice(from, to)).slice(1, -1));
		yield join(printing);
	}
	printing.latest.push('"');
}

function join(printing: Printing): void {
	printing.joined.push(printing.latest.join(''));
	printing.latest = [];
}
