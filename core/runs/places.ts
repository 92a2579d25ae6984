// The places of this process, kind by kind: for the runs that it holds, and for those that it is about to begin.

/** A place that was reserved; `leave` is called once, when the run is held, or is not begun. */
export interface ReservedPlaces {
	count: number;
	leave(): void;
}

/** The bound of a kind in one process. */
interface Bound {
	kind: string;
	places: number;
}

export class Places {
	readonly #heldOf: (kind: string) => number;
	readonly #reserved = new Map<string, number>();
	/** The last claim of each kind. */
	readonly #claims = new Map<string, Promise<unknown>>();

	constructor(heldOf: (kind: string) => number) {
		this.#heldOf = heldOf;
	}

	/** Reserves up to so many of the places of a kind. @returns null when none is free */
	reserve({ kind, places }: Bound, most: number): ReservedPlaces | null {
		const reserved = this.#reserved.get(kind) ?? 0;
		const count = Math.min(most, places - this.#heldOf(kind) - reserved);
		if (count <= 0) return null;
		this.#reserved.set(kind, reserved + count);
		return { count, leave: () => void this.#reserved.set(kind, (this.#reserved.get(kind) ?? 0) - count) };
	}

	/** Reserves one place. A claim that is under way holds all of them, and is waited for. @returns null when none is free then */
	async one(bound: Bound): Promise<ReservedPlaces | null> {
		const place = this.reserve(bound, 1);
		if (place) return place;
		// Its failure is told by the one who made it.
		await this.#claims.get(bound.kind)?.catch(() => undefined);
		return this.reserve(bound, 1);
	}

	/** Reserves all free places while runs are claimed for them. @returns the result of `claim`; null when none is free */
	fill<T>(bound: Bound, claim: (count: number) => Promise<T>): Promise<T> | null {
		const free = this.reserve(bound, bound.places);
		if (!free) return null;
		const claiming = claim(free.count).finally(() => free.leave());
		this.#claims.set(bound.kind, claiming);
		return claiming;
	}
}
