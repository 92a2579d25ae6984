// Waits for plugins with a time limit, and says which plugin is to blame, in which file and line.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Log } from '../contract/nouns.ts';
import type { FoundPackage } from './packages.ts';

export interface LoadOptions {
	log?: Log;
	/** Replaces the usual waits. */
	waits?: Waits;
	/** Further packages, which were found already. */
	found?: readonly FoundPackage[];
}

interface Waits {
	/** Time after which the log says what is waited for. */
	noticeMs: number;
	limitMs: number;
	/** Time after which a package that keeps the process from doing anything else ends it. */
	blockedMs: number;
}

const WAITS: Waits = { noticeMs: 3000, limitMs: 15_000, blockedMs: 20_000 };

/**
 * Waits for a step of a plugin. The timer keeps the process alive: it would end without a word if nothing else were going on in it.
 * @param what the owner and the step, such as `GATEWAY_PLUGINS: acme-x: loading`. @throws Error when it takes too long
 */
export async function inTime<T>(
	what: string,
	work: Promise<T>,
	{ log, waits = WAITS }: { log?: Log; waits?: Omit<Waits, 'blockedMs'> },
): Promise<T> {
	const { noticeMs, limitMs } = waits;
	const late = Promise.withResolvers<never>();
	const notice = setTimeout(() => log?.warn({ limitSeconds: limitMs / 1000 }, `still waiting: ${what}`), noticeMs);
	const limit = setTimeout(() => late.reject(new Error(`${what} took longer than ${limitMs / 1000} s.`)), limitMs);
	try {
		return await Promise.race([work, late.promise]);
	} finally {
		clearTimeout(notice);
		clearTimeout(limit);
	}
}

/** A thread that ends the process unless it is ended before: a module that computes for ever holds up all timers of its own thread. */
const GUARD = `const { workerData: { sentence, afterMs } } = require('node:worker_threads');
setTimeout(() => {
	require('node:fs').writeSync(2, sentence);
	process.kill(process.pid, 'SIGKILL');
}, afterMs);`;

/** Waits like `inTime` for a step that may also block the thread. */
export async function inTimeOrBlocked<T>(what: string, begin: () => Promise<T>, options: LoadOptions): Promise<T> {
	const { blockedMs } = options.waits ?? WAITS;
	const sentence = `${what} blocked the process for ${blockedMs / 1000} s.\n`;
	const guard = new Worker(GUARD, { eval: true, execArgv: [], workerData: { sentence, afterMs: blockedMs } });
	try {
		await once(guard, 'online');
		return await inTime(what, begin(), options);
	} finally {
		await guard.terminate();
	}
}

/** Returns the message of anything thrown. */
export const reasonOf = (thrown: unknown): string =>
	thrown instanceof Error ? (thrown.message.split('\nRequire stack:')[0] ?? '') : `${typeof thrown} was thrown: ${String(thrown)}`;

/**
 * Returns the place at which a plugin threw, as `path:line:column`; the path of its module if the stack does not tell.
 * @param folder of the plugin: a line there counts before one in a library that it called
 */
export function placeOf(thrown: unknown, source: string, folder: string): string {
	const file = fileURLToPath(source);
	if (!(thrown instanceof Error)) return file;
	const places = placesIn(String(thrown.stack));
	const own = places.find((place) => place.startsWith(folder) && !place.slice(folder.length).includes('/node_modules/'));
	if (own !== undefined || places[0] !== undefined) return own ?? places[0] ?? file;
	return thrown instanceof SyntaxError ? syntaxPlace(file) : file;
}

/** Finds the head of a syntax error, or else the frames of an error, except those of Node. */
function placesIn(stack: string): string[] {
	const head = /^(?:file:\/\/)?(\/[^\n]*:\d+)\n[^\n]*\n( *)\^/.exec(stack);
	if (head) return [`${head[1]}:${(head[2] ?? '').length + 1}`];
	return [...stack.matchAll(/^ {4}at (?:async )?(?:.*? \()?(?:file:\/\/)?(\/[^\s()]*:\d+:\d+)\)?$/gm)].map(([, place = '']) =>
		decodeURI(place),
	);
}

/** Asks Node for the line: the error of a module that cannot be parsed does not tell it. */
function syntaxPlace(file: string): string {
	if (!existsSync(file)) return file;
	const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: 5000 });
	const place = /^(?:file:\/\/)?(\/[^\n]*:\d+)\n/.exec(stderr ?? '')?.[1];
	return place ?? `${file}, or a module that it imports`;
}
