// Bodies of imports held in this process's memory: while they are received, and while they wait for the previous import of the same API.
// They are bounded per organization, so that none takes the room of the others.

import { GatewayError } from '../contract/errors.ts';

const MEGABYTE = 1024 * 1024;
const MAX_BYTES = 512 * MEGABYTE;
const MAX_OWN_BYTES = 128 * MEGABYTE;
/** Each waiting import polls for the end of the previous one. */
const MAX_OWN_WAITING = 16;

interface Own {
	bytes: number;
	waiting: number;
}

/** Room for one body; `leave` must be called once. */
export interface BodyRoom {
	/** Runs `work`, which waits for the previous import. @throws unavailable when too many imports wait */
	wait(work: () => Promise<unknown>): Promise<void>;
	leave(): void;
}

export class ImportBodies {
	readonly #own = new Map<string, Own>();
	#bytes = 0;

	/** @throws unavailable when there is no room */
	enter(organizationId: string, sizeBytes: number): BodyRoom {
		const own = this.#own.get(organizationId) ?? { bytes: 0, waiting: 0 };
		if (own.bytes + sizeBytes > MAX_OWN_BYTES || this.#bytes + sizeBytes > MAX_BYTES) throw tooManyImports();
		this.#own.set(organizationId, own);
		this.#count(own, sizeBytes);
		return {
			async wait(work) {
				if (own.waiting >= MAX_OWN_WAITING) throw tooManyImports();
				own.waiting++;
				await work().finally(() => own.waiting--);
			},
			leave: () => {
				this.#count(own, -sizeBytes);
				if (own.bytes === 0) this.#own.delete(organizationId);
			},
		};
	}

	#count(own: Own, bytes: number): void {
		own.bytes += bytes;
		this.#bytes += bytes;
	}
}

export const tooManyImports = (): GatewayError =>
	new GatewayError('unavailable', 'Too many imports are waiting: try again later.', { headers: { 'retry-after': '30' } });
