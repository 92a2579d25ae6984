// Runs inside the sandbox before the user's code: hands it its arguments and hands out its result, and gets what else there is when
// it is first used, since to parse that takes longer than most tools run. It comes as text, so it refers to nothing outside of itself.
// Nothing here is a guard: code may tamper with all of it, and the host believes none of it.

/** JSON texts in, JSON text or nothing out; the host bounds and checks each. */
export type Host = (verb: string, ...texts: string[]) => string | undefined;

export interface Kernel {
	host: Host;
	mayRequest: boolean;
	define(name: string, value: unknown): void;
	/** As a person reads it. */
	show(value: unknown): string;
	/** Ends the run, as what was thrown does. */
	fail(thrown: unknown): void;
	/** @returns an id, for which the host calls `wake` once */
	wait(action: (text: string) => void): string;
	forget(id: string): void;
	wake(id: string, text: string): void;
	/** Calls the user's function, and tells the host how it ended. */
	run(tool: (parameters: unknown) => unknown, parameters: string): void;
}

export function prelude(host: Host, mayRequest: boolean): Kernel {
	const { parse, stringify } = JSON;
	// biome-ignore lint/security/noGlobalEval: this runs inside the sandbox, and evaluates text of our own, in the global scope
	const evaluate = eval;
	const tag = Object.prototype.toString;
	const PLAIN = ['Object', 'String', 'Number', 'Boolean'];
	const waiting = new Map<string, (text: string) => void>();
	let lastId = 0;

	const text = (value: unknown): string => {
		try {
			return String(value);
		} catch {
			return '[cannot be shown]';
		}
	};

	const read = (error: Error, part: 'name' | 'message' | 'stack', maxChars: number): string => {
		try {
			return text(error[part]).slice(0, maxChars);
		} catch {
			return part === 'name' ? 'Error' : '';
		}
	};

	/** What JSON would leave out, or write as `{}`, without a word. */
	const refused = (value: unknown): string | null => {
		const type = typeof value;
		if (type === 'function' || type === 'symbol') return `a ${type}`;
		if (type === 'bigint') return 'a BigInt: make it a string or a Number';
		if (value instanceof Promise) return 'a Promise: await it';
		if (value instanceof Map) return 'a Map: Object.fromEntries(map) is an object';
		if (value instanceof Set) return 'a Set: [...set] is an array';
		if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return 'binary data';
		if (value instanceof Error) return 'an Error: return its message';
		return typeof value === 'object' && value !== null && !Array.isArray(value) ? hollow(value) : null;
	};
	/** Of a kind of its own, and without anything that JSON would show of it: a RegExp, an iterator. */
	const hollow = (value: object): string | null => {
		const kind = tag.call(value).slice(8, -1);
		return PLAIN.includes(kind) || Object.keys(value).length > 0 ? null : `an object of the kind ${kind}, which JSON cannot show`;
	};
	const unusable = new WeakSet<object>();
	const refuse = (what: string): never => {
		const error = new TypeError(what);
		unusable.add(error);
		throw error;
	};
	const write = (result: unknown): string => {
		const check = (key: string, value: unknown): unknown => {
			const fault = typeof value === 'string' ? null : refused(value);
			return fault === null ? value : refuse(key === '' ? `is ${fault}` : `has, at ${stringify(key)}, ${fault}`);
		};
		try {
			return stringify(result, check) ?? 'null';
		} catch (error) {
			if (error instanceof TypeError && error.message === 'circular reference') refuse('refers to itself');
			throw error;
		}
	};

	const kernel: Kernel = {
		host,
		mayRequest,
		define(name, value) {
			Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
		},
		show(value) {
			if (value instanceof Error) return `${text(value)}\n${text(value.stack).replace(/^.*prelude\.js.*$/gm, '')}`.trimEnd();
			if (value === null || typeof value !== 'object') return text(value);
			try {
				return stringify(value) ?? text(value);
			} catch {
				return text(value);
			}
		},
		fail(thrown) {
			if (!(thrown instanceof Error)) {
				host('threw', stringify(['Uncaught', kernel.show(thrown).slice(0, 4096), '']));
				return;
			}
			if (unusable.has(thrown)) host('unusable', stringify(thrown.message));
			host('threw', stringify([read(thrown, 'name', 100), read(thrown, 'message', 4096), read(thrown, 'stack', 8192)]));
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
				kernel.fail(thrown);
			}
		},
		async run(tool, parameters) {
			try {
				host('returned', write(await tool(parse(parameters))));
			} catch (thrown) {
				kernel.fail(thrown);
			}
		},
	};

	const lazily = (part: string, names: string[]): void => {
		for (const name of names)
			Object.defineProperty(globalThis, name, {
				configurable: true,
				enumerable: false,
				get() {
					evaluate(parse(host('part', stringify(part)) ?? '""'))(kernel);
					return Reflect.get(globalThis, name);
				},
				set: (value) => kernel.define(name, value),
			});
	};
	lazily('base', ['console', 'setTimeout', 'clearTimeout', 'queueMicrotask', 'crypto', 'atob', 'btoa']);
	lazily('web', ['URL', 'URLSearchParams', ...(mayRequest ? ['fetch'] : [])]);
	return kernel;
}
