// Writes operations as JSON in UTF-8 into one memory, which is not taken anew for each batch: the service reads nothing of it, and the database
// takes it apart. The parts of operations that importers froze, since many operations have them, are written once.

import type { Operation } from '../contract/nouns.ts';
import { isObject, printWithin } from '../kit/json.ts';

export interface OperationBatch {
	/** A list of operations as JSON in UTF-8. In the worker, it stays as it is until the next operation is added. */
	operations: Uint8Array;
	count: number;
}

/** An operation as JSON, in pieces. */
export interface Written {
	pieces: readonly Piece[];
	chars: number;
	/** Whether PostgreSQL can store it: it holds neither NUL nor lone surrogates. */
	isStorable: boolean;
}

type Piece = string | Fragment;

/** A frozen part. */
interface Fragment {
	bytes: Uint8Array;
	chars: number;
	isStorable: boolean;
}

/** `JSON.stringify` escapes no surrogates but lone ones. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;
/** The members that may have frozen parts, by the level. */
const OPENED: readonly ReadonlySet<string>[] = [new Set(['parameters', 'whole', 'outputSchema']), new Set(['$defs']), new Set()];
/** The characters, by an estimate, from which on a part is not written: the process would end where that takes more memory than it has. */
const MAX_PART_CHARS = 4 * 1024 * 1024;
const MAX_BYTES_PER_CHAR = 3;
const FIRST_BYTES = 64 * 1024;
const LIST = 0x5b;
const NEXT = 0x2c;
const END = 0x5d;

/** Thrown within this file. */
const TOO_LARGE = new Error('A part is too large.');

/** Writes operations like `JSON.stringify`. */
export class OperationWriter {
	readonly #fragments = new WeakMap<object, Fragment>();

	/** @returns null where a part is too large to be written */
	write(operation: Operation): Written | null {
		const pieces: Piece[] = [];
		try {
			this.#writeMembers(operation, 0, pieces);
		} catch (error) {
			if (error === TOO_LARGE) return null;
			throw error;
		}
		let [chars, isStorable] = [0, true];
		for (const piece of pieces) {
			chars += typeof piece === 'string' ? piece.length : piece.chars;
			isStorable &&= typeof piece === 'string' ? !UNSTORABLE.test(piece) : piece.isStorable;
		}
		return { pieces, chars, isStorable };
	}

	#writeMembers(object: object, level: number, pieces: Piece[]): void {
		let mark = '{';
		for (const [name, value] of Object.entries(object) as [string, unknown][]) {
			const start = `${mark}${JSON.stringify(name)}:`;
			if (isObject(value) && Object.isFrozen(value)) {
				append(pieces, start);
				pieces.push(this.#fragmentOf(value));
			} else if (isObject(value) && OPENED[level]?.has(name)) {
				append(pieces, start);
				this.#writeMembers(value, level + 1, pieces);
			} else {
				const text = textOf(value);
				if (text === undefined) continue;
				append(pieces, start + text);
			}
			mark = ',';
		}
		append(pieces, mark === '{' ? '{}' : '}');
	}

	#fragmentOf(value: object): Fragment {
		const known = this.#fragments.get(value);
		if (known) return known;
		const text = textOf(value);
		const made = { bytes: Buffer.from(text), chars: text.length, isStorable: !UNSTORABLE.test(text) };
		this.#fragments.set(value, made);
		return made;
	}
}

/** @throws TOO_LARGE */
function textOf<V>(value: V): V extends object ? string : string | undefined {
	const text = printWithin(value, MAX_PART_CHARS);
	if (text === null) throw TOO_LARGE;
	return text as string;
}

function append(pieces: Piece[], text: string): void {
	const last = pieces.length - 1;
	const before = pieces[last];
	if (typeof before === 'string') pieces[last] = before + text;
	else pieces.push(text);
}

/** Collects a batch. */
export class BatchMemory {
	#memory = Buffer.allocUnsafe(FIRST_BYTES);
	#sizeBytes = 0;
	#chars = 0;
	#count = 0;

	get chars(): number {
		return this.#chars;
	}

	get count(): number {
		return this.#count;
	}

	add({ pieces, chars }: Pick<Written, 'pieces' | 'chars'>): void {
		this.#reserve(chars * MAX_BYTES_PER_CHAR + 2);
		const memory = this.#memory;
		let at = this.#sizeBytes;
		memory[at++] = this.#count === 0 ? LIST : NEXT;
		for (const piece of pieces) {
			if (typeof piece === 'string') at += memory.write(piece, at);
			else {
				memory.set(piece.bytes, at);
				at += piece.bytes.length;
			}
		}
		this.#sizeBytes = at;
		this.#chars += chars;
		this.#count++;
	}

	/** Ends the batch. The next one is written over it. */
	take(): OperationBatch {
		const count = this.#count;
		this.#memory[this.#sizeBytes++] = END;
		const operations = this.#memory.subarray(0, this.#sizeBytes);
		[this.#sizeBytes, this.#chars, this.#count] = [0, 0, 0];
		return { operations, count };
	}

	#reserve(bytes: number): void {
		const needed = this.#sizeBytes + bytes;
		if (needed <= this.#memory.length) return;
		const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#memory.length));
		this.#memory.copy(larger, 0, 0, this.#sizeBytes);
		this.#memory = larger;
	}
}
