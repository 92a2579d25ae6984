// Errors that nothing caught: a rejection is logged and the process goes on; a throw is logged and the process stops in order. Either line
// names the plugin and the package that the stack leads to.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { Log } from '../contract/nouns.ts';

/** A loaded plugin, `kind:name`, and the URL of its module. */
export interface PluginSource {
	plugin: string;
	source: string | null;
}

/** The plugin and the package that an error comes from, as far as its stack says. */
export interface Origin {
	plugin?: string;
	package?: string;
}

const MAX_STACK_CHARS = 8192;
const MAX_FRAMES = 30;
/** The same error is logged once in this time, then with a count. */
const REPEAT_MS = 60_000;
/** Different errors within that time; all others share one line. */
const MAX_KNOWN = 100;

/** Logs errors that nothing caught, each once a minute with the number of times that it came again. */
/** Learns of an error, each once a minute. `what` is a sentence of ours. */
type Told = (error: { what: string; thrown: unknown; plugin?: string }) => void;

export class Strays {
	readonly #log: Log;
	/** Plugins by the folder that their stack frames name. */
	readonly #folders = new Map<string, Origin>();
	readonly #repeats = new Map<string, number>();
	#told: Told = () => undefined;

	constructor(log: Log) {
		this.#log = log;
	}

	/** Learns the folders of the loaded plugins. */
	know(sources: readonly PluginSource[]): void {
		for (const { plugin, source } of sources) {
			if (!source?.startsWith('file:')) continue;
			const entry = fileURLToPath(source);
			const found = packageOf(entry);
			const isOurs = found?.folder === own?.folder;
			const folder = found === null || isOurs ? dirname(entry) : found.folder;
			const known = this.#folders.get(folder)?.plugin;
			const names = known === undefined ? plugin : `${known}, ${plugin}`;
			this.#folders.set(folder, { plugin: names, ...(found && !isOurs && { package: found.name }) });
		}
	}

	/** Has somebody else told of the errors, too. */
	tell(told: Told): void {
		this.#told = told;
	}

	/** Logs an error. @param message what kind of error it was */
	report(thrown: unknown, message: string): void {
		const error = describeThrown(thrown);
		const frames = framesOf(error);
		// Messages differ each time, places do not.
		const places = placesOf(error).join('\n');
		const key = `${message} ${places || error.slice(0, 200)}`;
		const repeats = this.#repeats.get(key);
		if (repeats !== undefined) return void this.#repeats.set(key, repeats + 1);
		if (this.#repeats.size >= MAX_KNOWN) return void this.#overflow(message);
		const origin = this.originOf(frames);
		this.#begin(key, (times) => this.#log.error({ ...origin, ...(times > 0 && { times }), error }, message));
		this.#told({ what: message, thrown, ...(origin.plugin !== undefined && { plugin: origin.plugin }) });
	}

	/** Finds the plugin by the folders of the frames, innermost first; else the package of the innermost frame outside of our own code. */
	originOf(frames: readonly string[]): Origin {
		for (const file of frames) {
			for (const [folder, origin] of this.#folders) if (file.startsWith(folder + sep)) return origin;
		}
		for (const file of frames) {
			const found = packageOf(file);
			if (found !== null && found.folder !== own?.folder) return { package: found.name };
		}
		return {};
	}

	#overflow(message: string): void {
		const repeats = this.#repeats.get('');
		if (repeats !== undefined) return void this.#repeats.set('', repeats + 1);
		this.#begin('', (times) => this.#log.error({ times: times + 1 }, `${message}: too many different ones to show`));
	}

	/** Writes the line, and again after a minute if the error came again meanwhile. */
	#begin(key: string, write: (times: number) => void): void {
		const next = (): void => {
			const times = this.#repeats.get(key) ?? 0;
			if (times === 0) return void this.#repeats.delete(key);
			write(times);
			this.#repeats.set(key, 0);
			setTimeout(next, REPEAT_MS).unref();
		};
		this.#repeats.set(key, 0);
		write(0);
		setTimeout(next, REPEAT_MS).unref();
	}
}

/** Installs the handlers of this process. @param fail stops it in order */
export function watchStrays(log: Log, fail: () => void): Strays {
	const strays = new Strays(log);
	process.on('unhandledRejection', (reason) => strays.report(reason, 'a rejection that nothing handled'));
	process.on('uncaughtException', (error) => {
		strays.report(error, 'an error that nothing caught: the process stops');
		fail();
	});
	return strays;
}

/** Describes anything that can be thrown, with its stack; also what fails when it is looked at. */
export function describeThrown(thrown: unknown): string {
	try {
		if (typeof thrown === 'string') return thrown.slice(0, MAX_STACK_CHARS);
		const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : inspect(thrown, { depth: 1 });
		return String(text).slice(0, MAX_STACK_CHARS);
	} catch {
		return 'an error that cannot be shown';
	}
}

/** Returns the files of a stack's frames: URLs of modules, paths of CommonJS. */
export const framesOf = (stack: string): string[] => placesOf(stack).flatMap((line) => fileIn(line) ?? []);

const placesOf = (stack: string): string[] =>
	stack
		.split('\n')
		.filter((line) => /^\s+at /.test(line))
		.slice(0, MAX_FRAMES);

function fileIn(line: string): string | null {
	const [, url, path] = /(file:\/\/\/[^\s()?#]+?)(?:\?[^\s()]*)?:\d+:\d+|(?:\(|at )((?:\/|[A-Za-z]:\\)[^()]*?):\d+:\d+/.exec(line) ?? [];
	if (url === undefined) return path ?? null;
	return URL.canParse(url) ? fileURLToPath(url) : null;
}

interface Package {
	name: string;
	folder: string;
}

/** Finds the package of a file: the nearest manifest with a name. */
function packageOf(file: string): Package | null {
	for (let folder = dirname(file); ; folder = dirname(folder)) {
		const name = nameIn(join(folder, 'package.json'));
		if (name !== null) return { name, folder };
		if (dirname(folder) === folder) return null;
	}
}

function nameIn(manifest: string): string | null {
	if (!existsSync(manifest)) return null;
	try {
		const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: unknown };
		return typeof name === 'string' ? name : null;
	} catch {
		// A manifest that cannot be read names nothing.
		return null;
	}
}

const own = packageOf(fileURLToPath(import.meta.url));
