// Runs inside the sandbox when the code first prints, waits, or uses another name defined here. Like the prelude it is passed in as text,
// and refers to nothing outside of itself.

import type { Kernel } from './main.ts';

export function preludeBase({ host, parse, stringify, define, faults, wait, forget }: Kernel): void {
	const print =
		(level: string) =>
		(...values: unknown[]): void => {
			host('log', stringify(level), stringify(values.map(faults().show).join(' ').slice(0, 4096)));
		};
	define('console', { log: print('log'), info: print('info'), warn: print('warn'), error: print('error'), debug: print('debug') });

	define('progress', (done: unknown, total?: unknown, message?: unknown): void => {
		if (typeof done !== 'number') throw new TypeError('progress takes numbers: progress(done, total, message).');
		host('progress', stringify([done, total, message === undefined ? null : String(message).slice(0, 500)]));
	});

	define('setTimeout', (action: unknown, delay?: unknown, ...values: unknown[]): number => {
		if (typeof action !== 'function') throw new TypeError('setTimeout takes a function.');
		const id = wait(() => action(...values));
		const fault = host('timer', stringify(id), stringify(Number(delay) || 0));
		if (fault === undefined) return Number(id);
		forget(id);
		throw new RangeError(parse(fault));
	});
	define('clearTimeout', (id: unknown): void => {
		forget(String(id));
		host('clear', stringify(String(id)));
	});
	define('queueMicrotask', (action: unknown): void => {
		if (typeof action !== 'function') throw new TypeError('queueMicrotask takes a function.');
		Promise.resolve()
			.then(() => action())
			.catch((thrown) => faults().fail(thrown));
	});

	define('crypto', { randomUUID: (): string => parse(host('uuid') ?? '""') });
	const base64 = (verb: string) => (value: unknown) => {
		const answer = host(verb, stringify(String(value)));
		if (answer === undefined) throw new TypeError(`${verb} cannot take this text.`);
		return parse(answer) as string;
	};
	define('atob', base64('atob'));
	define('btoa', base64('btoa'));
}
