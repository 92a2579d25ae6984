// Of WebAssembly's names, those that are used here: TypeScript has them among a browser's only.

declare namespace WebAssembly {
	class Module {
		private constructor();
	}
	class Memory {
		readonly buffer: ArrayBuffer;
		/** In pages of 64 KB. */
		constructor(size: { initial: number; maximum: number });
		/** @returns how many pages it had */
		grow(pages: number): number;
	}
	/** Off the event loop. */
	function compile(bytes: Uint8Array): Promise<Module>;
}
