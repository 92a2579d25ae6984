// Images of an instance's memory, from which runs begin. Taking the memory back to one costs a hundredth of making a runtime, and leaves
// nothing of the last run.

import { randomFillSync } from 'node:crypto';

/**
 * The layout of the memory, which is fixed when the engine is linked: this one is that of @jitl/quickjs-wasmfile-release-sync 0.32.0. Static
 * data begins at 0, the stack grows down from `heap`, and the heap grows up from there. Nothing else of an instance changes but its stack
 * pointer, which is back at `heap` whenever the engine has returned.
 */
export const LAYOUT = { staticEnd: 90_208, heap: 5_333_088, heapEndAt: 86_864 } as const;
const MOST_HEAP_BYTES = 1024 * 1024;
const STATE_BYTES = 8;
/** Drawn at once, since each drawing costs more than restoring an image. */
const DRAWN_BYTES = 64 * STATE_BYTES;
const MASK = 2n ** 64n - 1n;

export interface MemoryImage {
	staticData: Uint8Array<ArrayBuffer>;
	heap: Uint8Array<ArrayBuffer>;
}

export class EngineMemory {
	/** The image of the memory as it was given. */
	readonly first: MemoryImage;
	readonly #memory: WebAssembly.Memory;
	/** The address of the state of `Math.random`, which is to be the same in no two runs. */
	readonly randomAt: number;
	readonly #drawn = new Uint8Array(DRAWN_BYTES);
	#drawnAt = DRAWN_BYTES;

	/** @param draw has the engine draw a number by `Math.random`. @throws Error if the memory has another layout */
	constructor(memory: WebAssembly.Memory, draw: () => void) {
		this.#memory = memory;
		const first = this.take();
		if (!first) throw new Error('The layout of the engine’s memory is not known.');
		this.first = first;
		draw();
		this.randomAt = this.#findRandom(first);
		this.restore(first);
	}

	/** The size of the heap, used or not. */
	get heapBytes(): number {
		const end = new Uint32Array(this.#memory.buffer)[LAYOUT.heapEndAt / Uint32Array.BYTES_PER_ELEMENT] ?? 0;
		return end - LAYOUT.heap;
	}

	/** @returns null if the heap is too large for an image to be worthwhile */
	take(): MemoryImage | null {
		const { heapBytes } = this;
		if (heapBytes <= 0 || heapBytes > MOST_HEAP_BYTES) return null;
		const bytes = new Uint8Array(this.#memory.buffer);
		return { staticData: bytes.slice(0, LAYOUT.staticEnd), heap: bytes.slice(LAYOUT.heap, LAYOUT.heap + heapBytes) };
	}

	/** Restores an image; what was taken of the heap beyond it is zero again, as in a new instance. The engine must not be running. */
	restore({ staticData, heap }: MemoryImage): void {
		const bytes = new Uint8Array(this.#memory.buffer);
		bytes.fill(0, LAYOUT.heap + heap.length, LAYOUT.heap + Math.max(this.heapBytes, heap.length));
		bytes.set(staticData, 0);
		bytes.set(heap, LAYOUT.heap);
		bytes.set(this.#drawState(), this.randomAt);
	}

	#drawState(): Uint8Array {
		if (this.#drawnAt === DRAWN_BYTES) {
			randomFillSync(this.#drawn);
			this.#drawnAt = 0;
		}
		const state = this.#drawn.subarray(this.#drawnAt, this.#drawnAt + STATE_BYTES);
		this.#drawnAt += STATE_BYTES;
		// A state of zero would yield zeros only.
		state[0] ||= 1;
		return state;
	}

	/** Finds the one number that went the step that `Math.random` takes. */
	#findRandom({ heap }: MemoryImage): number {
		const before = new BigUint64Array(heap.buffer, 0, Math.floor(heap.length / STATE_BYTES));
		const after = new BigUint64Array(this.#memory.buffer, LAYOUT.heap, before.length);
		const at = before.findIndex((state, index) => state !== after[index] && stepOf(state) === after[index]);
		if (at === -1) throw new Error('The state of the engine’s Math.random was not found.');
		return LAYOUT.heap + STATE_BYTES * at;
	}
}

/** One step of xorshift64*, without its multiplication (Vigna, An experimental exploration of Marsaglia’s xorshift generators, §3). */
function stepOf(state: bigint): bigint {
	const first = state ^ (state >> 12n);
	const second = first ^ ((first << 25n) & MASK);
	return second ^ (second >> 27n);
}
