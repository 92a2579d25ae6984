// The trace that a run keeps of its nodes. Outputs of nodes with an effect are in the steps of the run; all else is kept here, and written with the
// progress of a run that takes a while, and with its end.

import type { Json } from '../contract/nouns.ts';
import type { ModelUse } from '../contract/results.ts';
import { isObject } from '../kit/json.ts';
import { inDollars } from '../models/costs.ts';
import type { RunFault } from '../store/store.ts';
import type { TraceEntry } from './agents.ts';

/** Payloads are shown up to here; a whole one is asked for by its key. */
export const MAX_SHOWN_CHARS = 64 * 1024;
/** The characters of outputs that are not in steps: of all while a run is under way, and of all when it has ended. */
const MAX_LIVE_CHARS = 256 * 1024;
const MAX_KEPT_CHARS = 2 * 1024 * 1024;
/** The nodes that are told of; further ones are found in the steps. */
const MAX_ENTRIES = 2_000;

/** One run of a node, as it is stored. A type alias, since it is stored as JSON. */
export type Traced = {
	key: string;
	nodeId: string;
	type: string;
	iteration: number[];
	status: TraceEntry['status'];
	attempt: number;
	tries: number;
	/** Milliseconds since 1970. */
	startedAt: number | null;
	duration: number | null;
	error: { code: string; message: string } | null;
	/** Absent: it is in the step of that key, or there is none. */
	output?: Json;
	/** The characters of an output that is not kept. */
	cut?: number;
	tokens?: number;
	/** Millionths of a US dollar; null when unknown. */
	cost?: number | null;
};

export class Trace {
	readonly #entries = new Map<string, Traced>();
	/** The outputs that were measured, with their characters: each is written as JSON once for that, however often the trace is stored. */
	readonly #measured = new WeakMap<Traced, { output: Json; chars: number }>();
	readonly #changed: (isUrgent?: boolean) => void;
	#shownChars = 0;

	/** @param changed hears that there is something to tell; urgently: the run may leave the process */
	constructor(changed: (isUrgent?: boolean) => void) {
		this.#changed = changed;
	}

	begin(entry: Pick<Traced, 'key' | 'nodeId' | 'type' | 'iteration' | 'attempt'>): Traced {
		const traced: Traced = { ...entry, status: 'running', tries: 1, startedAt: Date.now(), duration: null, error: null };
		if (this.#entries.size < MAX_ENTRIES) this.#entries.set(entry.key, traced);
		this.#changed();
		return traced;
	}

	skip(entry: Pick<Traced, 'key' | 'nodeId' | 'type' | 'iteration' | 'attempt'>): void {
		if (this.#entries.size >= MAX_ENTRIES) return;
		this.#entries.set(entry.key, { ...entry, status: 'skipped', tries: 0, startedAt: null, duration: null, error: null });
	}

	/** Notes an output that is in no step. What could not be kept at the end is let go at once. @param chars about */
	show(traced: Traced, output: Json, chars: number): void {
		if (this.#shownChars + chars > MAX_KEPT_CHARS) {
			traced.cut = chars;
			return;
		}
		this.#shownChars += chars;
		traced.output = output;
	}

	/** Notes how a node ended. @param since by `performance.now()` */
	end(traced: Traced, since: number, error: RunFault | null): void {
		traced.status = error ? 'failed' : 'success';
		traced.duration ??= Math.max(0, Math.round(performance.now() - since));
		traced.error = error && { code: error.code, message: error.message };
		this.#changed();
	}

	/** Notes that a node waits for somebody, or goes on. */
	wait(traced: Traced, isWaiting: boolean): void {
		traced.status = isWaiting ? 'waiting' : 'running';
		this.#changed(isWaiting);
	}

	/** Returns the entries for the row. */
	stored(isLast: boolean): Traced[] {
		let left = isLast ? MAX_KEPT_CHARS : MAX_LIVE_CHARS;
		return [...this.#entries.values()].map((entry) => {
			if (entry.output === undefined) return entry;
			const chars = this.#charsOf(entry, entry.output);
			if (chars <= left && (isLast || chars <= MAX_SHOWN_CHARS)) {
				left -= chars;
				return entry;
			}
			const { output: _output, ...rest } = entry;
			return { ...rest, cut: chars };
		});
	}

	#charsOf(entry: Traced, output: Json): number {
		const known = this.#measured.get(entry);
		if (known && known.output === output) return known.chars;
		const chars = JSON.stringify(output).length;
		this.#measured.set(entry, { output, chars });
		return chars;
	}
}

/** The result of a node with an effect, as its step keeps it. A type alias, since it is stored as JSON. */
export type Kept = {
	output: Json;
	port: string | null;
	tries: number;
	tokens?: number;
	cost?: number | null;
	/** Its use of models, for the attempts after this one. */
	use?: Pick<ModelUse, keyof ModelUse>;
};

/** Reads the entries of a row. */
export const tracedOf = (stored: Json): Traced[] => (Array.isArray(stored) ? (stored.filter(isObject) as unknown as Traced[]) : []);

/** Shows an entry. @param isFull with the whole output */
export function shownEntry(entry: Traced, output: Json, isFull: boolean): TraceEntry {
	const { key, nodeId, type, iteration, status, attempt, tries, startedAt, duration, error, tokens, cost, cut } = entry;
	const chars = cut ?? JSON.stringify(output).length;
	const isTruncated = cut !== undefined || (chars > MAX_SHOWN_CHARS && !isFull);
	return {
		...{ key, nodeId, type, iteration, status, attempt, tries, duration, error },
		startedAt: startedAt === null ? null : new Date(startedAt).toISOString(),
		output: isTruncated ? (cut === undefined ? JSON.stringify(output).slice(0, MAX_SHOWN_CHARS) : null) : output,
		isTruncated,
		...(tokens !== undefined && { tokensUsed: tokens }),
		...(cost !== undefined && { cost: cost === null ? null : inDollars(cost) }),
	};
}
