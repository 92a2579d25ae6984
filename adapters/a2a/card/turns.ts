// Writes large JSON in slices of a few milliseconds: a card may have thousands of skills, and anybody may ask for it.

import { isObject, type Json, type JsonObject, TimeSlice } from '../../../core/index.ts';

/** A way to write JSON. */
export interface Form {
	/** Writes a value at once; null leaves it out, with its name. */
	write(value: Json): string | null;
	/** The members of an object in their order. */
	names(object: JsonObject): string[];
	/** Whether objects and lists of which nothing is left are left out, too. */
	skipsEmpty: boolean;
}

export const PLAIN: Form = { write: JSON.stringify, names: Object.keys, skipsEmpty: false };

/** Schemas of a card lie that deep; what is below is written at once. */
const DEPTH = 6;
/** Pieces of a large text that are worked on at once. */
const PIECE_CHARS = 64 * 1024;

/** Writes a value, piece by piece. */
export async function inPieces(value: Json, form: Form): Promise<string[]> {
	const writer = new Writer(form);
	await writer.add(value, 0);
	return writer.pieces;
}

const isLarge = (value: Json): boolean => typeof value === 'object' && value !== null;

class Writer {
	readonly pieces: string[] = [];
	readonly #form: Form;
	readonly #slice = new TimeSlice();

	constructor(form: Form) {
		this.#form = form;
	}

	/** @returns whether anything was written */
	async add(value: Json, depth: number): Promise<boolean> {
		if (depth < DEPTH && isLarge(value)) return this.#addAll(value as JsonObject | Json[], depth);
		const text = this.#form.write(value);
		if (text !== null) this.pieces.push(text);
		return text !== null;
	}

	async #addAll(value: JsonObject | Json[], depth: number): Promise<boolean> {
		const start = this.pieces.length;
		const [opening, closing] = Array.isArray(value) ? '[]' : '{}';
		this.pieces.push(opening ?? '');
		let count = 0;
		for (const [name, member] of this.#membersOf(value)) {
			const before = this.pieces.length;
			this.pieces.push(`${count > 0 ? ',' : ''}${name}`);
			if (await this.add(member, depth + 1)) count += 1;
			else this.pieces.length = before;
			if (isLarge(member) ? this.#slice.isOverNow : this.#slice.isOver) await this.#slice.next();
		}
		if (count === 0 && this.#form.skipsEmpty) this.pieces.length = start;
		else this.pieces.push(closing ?? '');
		return this.pieces.length > start;
	}

	/** Each member with the text before it. */
	*#membersOf(value: JsonObject | Json[]): Generator<[name: string, member: Json]> {
		if (!isObject(value)) for (const member of value) yield ['', member];
		else for (const name of this.#form.names(value)) yield [`${JSON.stringify(name)}:`, value[name] ?? null];
	}
}

/** Yields the bytes of pieces in buffers that are worked on at once, and lets other work run in between. */
export async function* bytesOf(pieces: readonly string[]): AsyncGenerator<Buffer<ArrayBuffer>, void> {
	const slice = new TimeSlice();
	let [start, chars] = [0, 0];
	for (let end = 1; end <= pieces.length; end++) {
		chars += pieces[end - 1]?.length ?? 0;
		if (chars < PIECE_CHARS && end < pieces.length) continue;
		yield Buffer.from(pieces.slice(start, end).join(''));
		[start, chars] = [end, 0];
		if (slice.isOverNow) await slice.next();
	}
}
