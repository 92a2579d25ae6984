// Watches the files of a folder, without those that no author edits: packages, version control, hidden files.

import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** The time in which changes count as one: editors and compilers write several files. */
const SETTLED_MS = 150;

export interface Changes extends Disposable {
	/** Resolves after the next change, when no other follows it at once. */
	next(): Promise<void>;
}

/**
 * Folders are watched one by one: a recursive watch would also watch every file of `node_modules`.
 * @param except the path of a folder inside of it that does not count. @throws Error of Node when the folder cannot be read
 */
export function watchFolder(folder: string, except: string): Changes {
	const watchers = new Map<string, FSWatcher>();
	let next = Promise.withResolvers<void>();
	let settling: NodeJS.Timeout | undefined;
	const settled = (): void => {
		next.resolve();
		next = Promise.withResolvers();
	};
	const changed = (at: string, name: string | null): void => {
		if (name !== null && (isIgnored(name) || join(at, name) === except)) return;
		clearTimeout(settling);
		settling = setTimeout(settled, SETTLED_MS);
		tryWatch(at);
	};
	const drop = (at: string): void => {
		watchers.get(at)?.close();
		watchers.delete(at);
	};
	const watchAll = (at: string): void => {
		if (!watchers.has(at)) {
			const watcher = watch(at, (_event, name) => changed(at, name));
			// A folder that was removed: its parent tells of the change.
			watcher.on('error', () => drop(at));
			watchers.set(at, watcher);
		}
		for (const below of foldersIn(at).map((name) => join(at, name))) if (below !== except) tryWatch(below);
	};
	const tryWatch = (at: string): void => {
		try {
			watchAll(at);
		} catch {
			// It was removed meanwhile.
			drop(at);
		}
	};
	watchAll(folder);
	return {
		next: () => next.promise,
		[Symbol.dispose]() {
			clearTimeout(settling);
			for (const watcher of watchers.values()) watcher.close();
		},
	};
}

/** Hidden names hold caches and the data of services; a database that writes is no change of the plugin. */
const isIgnored = (name: string): boolean => name === 'node_modules' || name.startsWith('.') || name.endsWith('~');

const foldersIn = (at: string): string[] =>
	readdirSync(at, { withFileTypes: true })
		.filter((entry) => entry.isDirectory() && !isIgnored(entry.name))
		.map(({ name }) => name);
