// Declares the names of WebAssembly that are used here: TypeScript declares them only in its browser library.

declare namespace WebAssembly {
	class Module {
		private constructor();
	}
	class Memory {
		readonly buffer: ArrayBuffer;
		/** Sizes are in pages of 64 KB. */
		constructor(size: { initial: number; maximum: number });
		/** @returns the number of pages before */
		grow(pages: number): number;
	}
	/** Compiles off the event loop. */
	function compile(bytes: Uint8Array): Promise<Module>;
}
