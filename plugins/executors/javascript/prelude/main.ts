// Runs inside the sandbox before the user's code: passes the arguments in and the result out. All else is in texts of their own that are
// loaded when first needed, since parsing them takes longer than most tools run. It is passed in as text, so it refers to nothing
// outside of itself. Nothing here is a guard: code may tamper with all of it, and the host trusts none of it.

/** Calls the host with JSON texts, and returns JSON text or nothing; the host bounds and checks each. */
export type Host = (verb: string, ...texts: string[]) => string | undefined;

export interface Faults {
	/** Writes a value for people to read. */
	show(value: unknown): string;
	/** Replacer for `JSON.stringify`: returns a value that JSON can write. @throws a fault that `failResult` explains */
	check(key: string, value: unknown): unknown;
	/** Ends the run with the thrown value. */
	fail(thrown: unknown): void;
	/** Ends the run with a value thrown while the result was being written. */
	failResult(thrown: unknown): void;
}

export interface Kernel {
	host: Host;
	/** Columns by which the wrapper shifts the user's first line. */
	indent: number;
	mayRequest: boolean;
	/** The name of the object whose functions the code may call; empty without one. */
	namespace: string;
	/** `JSON.parse` and `JSON.stringify` from before the code could change them. */
	parse: typeof JSON.parse;
	stringify: typeof JSON.stringify;
	define(name: string, value: unknown): void;
	faults(): Faults;
	/** @returns an id, for which the host calls `wake` once */
	wait(action: (text: string) => void): string;
	forget(id: string): void;
	wake(id: string, text: string): void;
	/** Calls the user's function, and reports to the host how it ended. */
	run(tool: (parameters: unknown) => unknown, parameters: string, mayRequest: boolean, namespace: string): void;
}

export function prelude(host: Host, indent: number): Kernel {
	const { parse, stringify } = JSON;
	const { isArray } = Array;
	const { getPrototypeOf, prototype } = Object;
	// biome-ignore lint/security/noGlobalEval: this runs inside the sandbox, and evaluates text of our own, in the global scope
	const evaluate = eval;
	const waiting = new Map<string, (text: string) => void>();
	let lastId = 0;
	let known: Faults | undefined;

	const load = (part: string): unknown => evaluate(parse(host('part', stringify(part)) ?? '""'))(kernel);
	/** Passes values that JSON can write; `prelude-faults.ts` checks all others. */
	const check = (key: string, value: unknown): unknown => {
		const isKnown =
			value === null ||
			value === undefined ||
			typeof value === 'string' ||
			typeof value === 'number' ||
			typeof value === 'boolean' ||
			isArray(value) ||
			(typeof value === 'object' && getPrototypeOf(value) === prototype);
		return isKnown ? value : kernel.faults().check(key, value);
	};
	const lazily = (part: string, names: string[]): void => {
		for (const name of names)
			Object.defineProperty(globalThis, name, {
				configurable: true,
				enumerable: false,
				get() {
					load(part);
					return Reflect.get(globalThis, name);
				},
				set: (value) => kernel.define(name, value),
			});
	};

	/** Reports an end; showing a value fails if code has changed the functions that do it. */
	const end = (tell: (faults: Faults) => void): void => {
		try {
			tell(kernel.faults());
		} catch {
			host('threw', '["Uncaught", "what cannot be shown", ""]');
		}
	};

	const kernel: Kernel = {
		host,
		indent,
		mayRequest: false,
		namespace: '',
		parse,
		stringify,
		define(name, value) {
			Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
		},
		faults() {
			known ??= load('faults') as Faults;
			return known;
		},
		wait(action) {
			waiting.set(String(++lastId), action);
			return String(lastId);
		},
		forget(id) {
			waiting.delete(id);
		},
		wake(id, answer) {
			const action = waiting.get(id);
			waiting.delete(id);
			try {
				action?.(answer);
			} catch (thrown) {
				end((faults) => faults.fail(thrown));
			}
		},
		async run(tool, parameters, mayRequest, namespace) {
			kernel.mayRequest = mayRequest;
			kernel.namespace = namespace;
			if (namespace !== '') lazily('calls', [namespace]);
			if (mayRequest) lazily('web', ['fetch']);
			let result: unknown;
			try {
				result = await tool(parse(parameters));
			} catch (thrown) {
				end((faults) => faults.fail(thrown));
				return;
			}
			try {
				host('returned', stringify(result, check) ?? 'null');
			} catch (thrown) {
				end((faults) => faults.failResult(thrown));
			}
		},
	};
	lazily('base', ['console', 'progress', 'setTimeout', 'clearTimeout', 'queueMicrotask', 'crypto', 'atob', 'btoa']);
	lazily('web', ['URL', 'URLSearchParams']);
	return kernel;
}
