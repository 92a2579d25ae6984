// Finds the files of an upload by the names in imports. Nothing is searched for anywhere else.

import { cleanText, quote } from '../../core/index.ts';
import { refused } from './fault.ts';

/** Limits of an upload; no archive of .proto files that we know has nearly as many. */
const MAX_FILES = 10_000;
const MAX_BYTES = 128 * 1024 * 1024;

/** @throws schema_invalid for an import that would leave the upload */
export function checkImport(path: string, from: string): void {
	const isOutside = path.startsWith('/') || /^[a-z][a-z0-9+.-]*:/i.test(path) || path.includes('\\') || path.includes('\0');
	if (isOutside || path.split('/').some((part) => part === '..' || part === '.'))
		throw refused(`${quote(from)} imports ${quote(path)}: only files of the upload, by paths without "." and "..", can be imported.`, from);
}

/** @returns a function that finds the file of an import: by its path, else by the end of the path, the nearest to the importing file */
export function createFinder(paths: readonly string[]): (wanted: string, from: string) => string | null {
	const whole = new Set(paths);
	const byName = Map.groupBy(paths, nameOf);
	return (wanted, from) => {
		if (whole.has(wanted)) return wanted;
		const found = (byName.get(nameOf(wanted)) ?? []).filter((path) => path.endsWith(`/${wanted}`));
		const ranked = found.map((path) => ({ path, shared: sharedChars(path, from) }));
		ranked.sort((a, b) => b.shared - a.shared || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
		return ranked[0]?.path ?? null;
	};
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function sharedChars(a: string, b: string): number {
	let count = 0;
	while (count < a.length && a[count] === b[count]) count++;
	return count;
}

export function checkSize(files: ReadonlyMap<string, Uint8Array>): void {
	if (files.size > MAX_FILES) throw refused(`The upload has ${files.size} files, at most ${MAX_FILES} are read.`);
	const sizeBytes = files.values().reduce((sum, bytes) => sum + bytes.length, 0);
	if (sizeBytes > MAX_BYTES) throw refused(`The upload is larger than ${MAX_BYTES} bytes.`);
}

/** @throws schema_invalid */
export function decode(path: string, bytes: Uint8Array): string {
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		// `fatal` reports invalid text only by throwing.
		throw refused(`${quote(cleanText(path, 200))} is not UTF-8 text.`, path);
	}
}
