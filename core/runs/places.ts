// The places of this process, kind by kind: for the runs that it holds, and for those that it is about to begin.

/** A place that was reserved; `leave` is called once, when the run is held, or is not begun. */
export interface ReservedPlaces {
	count: number;
	leave(): void;
}

export class Places {
	readonly #heldOf: (kind: string) => number;
	readonly #reserved = new Map<string, number>();

	constructor(heldOf: (kind: string) => number) {
		this.#heldOf = heldOf;
	}

	/** Reserves up to so many of the places of a kind. @returns null when none is free */
	reserve({ kind, places }: { kind: string; places: number }, most: number): ReservedPlaces | null {
		const reserved = this.#reserved.get(kind) ?? 0;
		const count = Math.min(most, places - this.#heldOf(kind) - reserved);
		if (count <= 0) return null;
		this.#reserved.set(kind, reserved + count);
		return { count, leave: () => void this.#reserved.set(kind, (this.#reserved.get(kind) ?? 0) - count) };
	}
}
