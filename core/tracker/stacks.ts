// The parts of a thrown error that may leave the machine: its class, its code, and the places in files of the installation. Its message stays: it may
// quote anything that a client sent.

import { existsSync } from 'node:fs';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface CodeLocation {
	/** Relative to the installation, or to the folder of packages. */
	file: string;
	line: number;
	column: number;
	isOurs: boolean;
}

export interface Shown {
	/** The class of the error, such as `TypeError`. */
	type: string;
	/** Such as `ECONNREFUSED`; null without one. */
	code: string | null;
	/** Innermost first. */
	places: CodeLocation[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = `${sep}node_modules${sep}`;
const MAX_FRAMES = 30;
const MAX_CAUSES = 3;
const MAX_STACK_CHARS = 8192;
const TYPE = /^[A-Za-z][A-Za-z]{0,59}$/;
const CODE = /^[A-Z][A-Z0-9_]{1,39}$|^[a-z][a-z_]{1,39}$|^[0-9A-Z]{5}$/;

/** Shows an error and its causes, outermost first. Errors that cannot be looked at are shown as `Error`. */
export function showErrors(thrown: unknown): Shown[] {
	const shown: Shown[] = [];
	let next = thrown;
	do {
		const one = next;
		shown.push(attempt(() => showError(one)) ?? { type: 'Error', code: null, places: [] });
		next = attempt(() => (one as { cause?: unknown }).cause);
	} while (next instanceof Error && shown.length < MAX_CAUSES);
	return shown;
}

/** The text of a stack shows no function, since a message inside of it could pretend to be one: only places whose file exists. */
function showError(thrown: unknown): Shown {
	if (!(thrown instanceof Error)) {
		const text = typeof thrown === 'string' ? thrown.slice(0, MAX_STACK_CHARS) : '';
		return { type: typeOf(/^[A-Za-z]+/.exec(text)?.[0]), code: null, places: placesIn(text) };
	}
	const { code } = thrown as { code?: unknown };
	const isCode = typeof code === 'string' && CODE.test(code);
	return { type: typeOf(thrown.name), code: isCode ? code : null, places: placesIn(String(thrown.stack).slice(0, MAX_STACK_CHARS)) };
}

/** A class of errors has a name of letters; text that only begins like one is none. */
const typeOf = (name: unknown): string =>
	typeof name === 'string' && TYPE.test(name) && /(?:Error|Fault|Exception)$/.test(name) ? name : 'Error';

function placesIn(stack: string): CodeLocation[] {
	const lines = stack.split('\n').filter((line) => /^\s+at /.test(line));
	return lines.slice(0, MAX_FRAMES).flatMap((line) => placeIn(line) ?? []);
}

function placeIn(line: string): CodeLocation | null {
	const found = /(?:\(|at (?:async )?)((?:file:\/\/\/|\/|[A-Za-z]:\\)[^()]{1,1000}?)(?:\?[^()]*?)?:(\d{1,7}):(\d{1,7})\)?$/.exec(line);
	const [, where = '', row, column] = found ?? [];
	if (where === '') return null;
	const path = where.startsWith('file:') ? fileURLToPath(where) : where;
	const file = relativeTo(path);
	if (file === null || !existsSync(path)) return null;
	return { file, line: Number(row), column: Number(column), isOurs: !path.includes(PACKAGES) };
}

/** Paths outside of the installation would tell of the machine. */
function relativeTo(path: string): string | null {
	const at = path.lastIndexOf(PACKAGES);
	if (at !== -1) return path.slice(at + 1).replaceAll(sep, '/');
	return path.startsWith(ROOT) ? path.slice(ROOT.length).replaceAll(sep, '/') : null;
}

function attempt<T>(look: () => T): T | undefined {
	try {
		return look();
	} catch {
		// A thrown object may have getters that throw.
		return undefined;
	}
}
