// Runs inside the sandbox when a value is thrown or shown, or is not JSON. Like the prelude it is passed in as text, and refers to
// nothing outside of itself.

import type { Faults, Kernel } from './main.ts';

export function preludeFaults({ host, indent, stringify }: Kernel): Faults {
	const tag = Object.prototype.toString;
	const PLAIN = ['Object', 'String', 'Number', 'Boolean'];
	const unusable = new WeakSet<object>();

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
	/** Keeps the stack frames in the user's own text. */
	const placesOf = (error: Error): string =>
		read(error, 'stack', 8192)
			.split('\n')
			.filter((line) => line.includes('(tool.js:') || line.includes(' tool.js:'))
			.map((line) => line.replace(/tool\.js:1:(\d+)/, (_place, column) => `tool.js:1:${Math.max(1, column - indent)}`))
			.join('\n');

	/** Describes a value that JSON would silently leave out, or write as `{}`. */
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
	/** Describes an object of another kind of which JSON would show nothing: a RegExp, an iterator. */
	const hollow = (value: object): string | null => {
		const kind = tag.call(value).slice(8, -1);
		return PLAIN.includes(kind) || Object.keys(value).length > 0 ? null : `an object of the kind ${kind}, which JSON cannot show`;
	};

	const faults: Faults = {
		show(value) {
			if (value instanceof Error) return `${text(value)}\n${placesOf(value)}`.trimEnd();
			if (value === null || typeof value !== 'object') return text(value);
			try {
				return stringify(value) ?? text(value);
			} catch {
				return text(value);
			}
		},
		check(key, value) {
			const what = refused(value);
			if (what === null) return value;
			const fault = new TypeError(key === '' ? `is ${what}` : `has, at ${stringify(key)}, ${what}`);
			unusable.add(fault);
			throw fault;
		},
		fail(thrown) {
			if (thrown instanceof Error)
				host('threw', stringify([read(thrown, 'name', 100), read(thrown, 'message', 4096), read(thrown, 'stack', 8192)]));
			else host('threw', stringify(['Uncaught', faults.show(thrown).slice(0, 4096), '']));
		},
		failResult(thrown) {
			const isCircle = thrown instanceof TypeError && thrown.message === 'circular reference';
			if (isCircle) host('unusable', stringify('refers to itself'));
			else if (thrown instanceof Error && unusable.has(thrown)) host('unusable', stringify(thrown.message));
			else faults.fail(thrown);
		},
	};
	return faults;
}
