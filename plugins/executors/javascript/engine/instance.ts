// An instance of the engine, with a runtime in which only the prelude has been run. Each run begins from the image of that: a runtime of
// its own, which no other code has seen.

import baseVariant from '@jitl/quickjs-wasmfile-release-sync';
import {
	newQuickJSWASMModuleFromVariant,
	newVariant,
	type QuickJSContext,
	type QuickJSHandle,
	type QuickJSRuntime,
	type QuickJSSyncVariant,
	type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { BEFORE, KEPT_INSTANCES, LIMITS } from '../messages.ts';
import { prelude } from '../prelude/main.ts';
import { EngineMemory, type MemoryImage } from './image.ts';

const PAGE_BYTES = 64 * 1024;
const INITIAL_PAGES = 256;
/** Twice the memory that a run may hold, since the engine's heap is fragmented. */
const MAX_PAGES = (256 * 1024 * 1024) / PAGE_BYTES;
/** An instance whose memory grew beyond this is dropped: WebAssembly memory never shrinks. */
const KEPT_PAGES = (32 * 1024 * 1024) / PAGE_BYTES;
/** C stack of the engine. The thread's own stack is far larger, so that the engine's limit is reached first. */
const STACK_BYTES = 512 * 1024;
/** Memory limit until a run sets its own. */
const PRELUDE_MEMORY_BYTES = 8 * 1024 * 1024;
/** Length of the longest text that the host accepts: a request, in JSON. */
const MAX_TEXT_CHARS = 4 * LIMITS.requestBytes;
/** The most memory that the instances hold together which a thread keeps. */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;
const PRELUDE = `(${prelude})`;
/** Evaluation as a script; without it the engine looks for the words of a module first. */
const SCRIPT = { type: 'global' } as const;

/** Functions of the prelude that the host calls. */
interface Kernel {
	run: QuickJSHandle;
	wake: QuickJSHandle;
}

/** Compiled code, as a function in the memory of the image. */
interface Compiled {
	code: string;
	tool: QuickJSHandle;
	image: MemoryImage;
}

/** Serves a call that code makes to its host. @returns JSON, or nothing */
type Serve = (verb: string, texts: string[]) => string | undefined;

export class Instance {
	readonly runtime: QuickJSRuntime;
	readonly context: QuickJSContext;
	/** Null if the prelude failed: no code can be run. */
	readonly kernel: Kernel | null;
	/** Serves the calls of the current run. */
	serve: Serve = () => undefined;
	/** The memory that its runs have had from the system at most; none of it is given back. */
	heldBytes = 0;
	readonly memory: WebAssembly.Memory;
	/** Null like `kernel`. */
	readonly #images: EngineMemory | null;
	/** The name by which code reads the length of a string. */
	#length: QuickJSHandle | null = null;
	#lastCode: string | null = null;
	/** Code that came twice in a row, with the memory as it was when it had been compiled and none of it had been run. */
	#compiled: Compiled | null = null;

	/** @param isStopped says whether what runs must end. @throws Error of the engine */
	static async start(compiled: WebAssembly.Module, isStopped: () => boolean): Promise<Instance> {
		const memory = newMemory();
		// The package's types describe its CommonJS build, in which the variant is nested in one more `default`.
		const base = baseVariant as unknown as QuickJSSyncVariant;
		const variant = newVariant(base, { wasmModule: compiled, wasmMemory: memory });
		return new Instance(await newQuickJSWASMModuleFromVariant(variant), memory, isStopped);
	}

	private constructor(module: QuickJSWASMModule, memory: WebAssembly.Memory, isStopped: () => boolean) {
		this.memory = memory;
		this.runtime = module.newRuntime();
		this.runtime.setMemoryLimit(PRELUDE_MEMORY_BYTES);
		this.runtime.setMaxStackSize(STACK_BYTES);
		this.runtime.setInterruptHandler(isStopped);
		this.context = this.runtime.newContext();
		this.kernel = this.#prepare();
		this.#images = this.kernel && new EngineMemory(memory, () => this.evaluate('Math.random()', 'prelude.js'));
	}

	/** The address of the state of `Math.random`; null like `kernel`. */
	get randomAt(): number | null {
		return this.#images?.randomAt ?? null;
	}

	/** True if its memory grew so much that it must not be kept. */
	get isHeavy(): boolean {
		return this.memory.buffer.byteLength > KEPT_PAGES * PAGE_BYTES;
	}

	/** Takes the instance back to where nothing of a run has happened. @returns false if it cannot be used again */
	rewind(): boolean {
		this.serve = () => undefined;
		if (!this.#images) return false;
		this.heldBytes = Math.max(this.heldBytes, this.#images.heapBytes);
		this.#images.restore(this.#compiled?.image ?? this.#images.first);
		return true;
	}

	/** Takes the function that the code was compiled to, if it is there; otherwise all that was compiled is gone. */
	recall(code: string): QuickJSHandle | null {
		if (this.#compiled?.code === code) return this.#compiled.tool;
		if (this.#compiled) this.#images?.restore(this.#images.first);
		this.#compiled = null;
		return null;
	}

	/** Keeps what the code was compiled to, before any of it is run, if it came twice in a row. */
	remember(code: string, tool: QuickJSHandle): void {
		const image = this.#lastCode === code ? this.#images?.take() : null;
		this.#lastCode = code;
		if (image) this.#compiled = { code, tool, image };
	}

	/** Evaluates a script. @returns null if that failed; the error is of no use to the caller */
	evaluate(code: string, file: string): QuickJSHandle | null {
		return succeeded(this.context.evalCode(code, file, SCRIPT));
	}

	/** Runs the prelude. */
	#prepare(): Kernel | null {
		const { context } = this;
		this.#length = context.newString('length');
		const host = context.newFunction('host', (verb, ...texts) => this.#answer([verb, ...texts]));
		const install = this.evaluate(PRELUDE, 'prelude.js');
		const kernel = install && succeeded(context.callFunction(install, context.undefined, host, context.newNumber(BEFORE.length)));
		return kernel && { run: context.getProp(kernel, 'run'), wake: context.getProp(kernel, 'wake') };
	}

	/** Handles a call of the host. Code inside may call it with any values. */
	#answer(given: QuickJSHandle[]): QuickJSHandle | undefined {
		const [verb = '', ...texts] = given.map((handle) => this.#read(handle));
		const answer = this.serve(verb, texts);
		return answer === undefined ? undefined : this.context.newString(answer);
	}

	/** Reads a string; empty if the value is not one, or is longer than anything valid. */
	#read(handle: QuickJSHandle): string {
		if (this.context.typeof(handle) !== 'string') return '';
		// The length of a string is a property of its own: reading it runs no user code.
		const length = this.context.getProp(handle, this.#length ?? 'length').consume((own) => this.context.getNumber(own));
		return length > MAX_TEXT_CHARS ? '' : this.context.getString(handle);
	}
}

const succeeded = (result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle | null => (result.error ? null : result.value);

/**
 * Makes memory that grows at most twice: to the size that is kept, and to the maximum, of which the system provides only pages that are
 * written to. After each growth V8 collects garbage, on threads that are not niced; the engine would grow it ten times, by a fifth each.
 */
function newMemory(): WebAssembly.Memory {
	const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAX_PAGES });
	const grow = memory.grow.bind(memory);
	memory.grow = (delta) => {
		const pages = memory.buffer.byteLength / PAGE_BYTES;
		const wanted = pages + delta <= KEPT_PAGES ? KEPT_PAGES : MAX_PAGES;
		return grow(Math.max(delta, wanted - pages));
	};
	return memory;
}

/** The instances that a thread keeps, each for one organization: to start one costs more than many small runs. */
export class KeptInstances {
	/** By organization, the last used last. */
	readonly #instances = new Map<string, Instance>();

	/** Takes the organization's instance away. */
	take(organization: string): Instance | null {
		const instance = this.#instances.get(organization) ?? null;
		this.#instances.delete(organization);
		return instance;
	}

	/** Keeps an instance that has been rewound, in place of those that were not used for longest. */
	keep(organization: string, instance: Instance): void {
		this.#instances.set(organization, instance);
		for (const oldest of this.#instances.keys()) {
			if (this.#instances.size <= KEPT_INSTANCES && this.#heldBytes() <= MOST_KEPT_BYTES) return;
			this.#instances.delete(oldest);
		}
	}

	#heldBytes(): number {
		return this.#instances.values().reduce((sum, { heldBytes }) => sum + heldBytes, 0);
	}
}
