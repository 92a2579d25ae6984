// The kinds of runs that a process knows, and what it needs to run one.

import type { RunKind } from '../store/store.ts';
import type { RunProgram } from './context.ts';

export interface Definition extends RunKind {
	/** The number of runs of this kind at a time in each process. */
	places: number;
	program: RunProgram;
}

/** The usual number of processes that a run may lose in a row. */
export const MAX_LOSSES = 5;
/** The name of a queue, too, and a part of topics. */
const KIND = /^[\w./-]{1,80}$/;

export class Definitions {
	readonly #definitions = new Map<string, Definition>();
	#isClosed = false;

	get size(): number {
		return this.#definitions.size;
	}

	/** @throws Error for a name that is none or is taken, and after the start */
	add(definition: Definition): void {
		const { kind } = definition;
		if (!KIND.test(kind)) throw new Error(`runs: ${kind} is no name of a kind`);
		if (this.#definitions.has(kind)) throw new Error(`runs: the kind ${kind} is defined twice`);
		if (this.#isClosed) throw new Error(`runs: the kind ${kind} is defined after the start`);
		this.#definitions.set(kind, definition);
	}

	/** Takes no more of them, since the process starts. */
	close(): void {
		this.#isClosed = true;
	}

	get(kind: string): Definition | undefined {
		return this.#definitions.get(kind);
	}

	has(kind: string): boolean {
		return this.#definitions.has(kind);
	}

	names(): string[] {
		return [...this.#definitions.keys()];
	}

	/** Returns the bounds of a kind; the usual ones for one that another process runs. */
	kind(kind: string): RunKind {
		return this.#definitions.get(kind) ?? { kind, perAccount: null, perAccountUnfinished: null, maxLosses: MAX_LOSSES };
	}
}
