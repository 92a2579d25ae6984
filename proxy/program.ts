// How this program is started again: by npx where npm installed it, and from its own file elsewhere, as in a clone. A name that npm does not know, or
// that belongs to somebody else there, is then in no client's file.

import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAME = 'gatehouse-proxy';
/** Compiled, the main file is JavaScript, as this one is. */
const MAIN = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './main.js', import.meta.url));
const isInstalled = MAIN.includes(`${sep}node_modules${sep}${NAME}${sep}`);

/** The command and its first arguments, for a client's file. Windows starts scripts of npm by its shell alone. */
export const PROGRAM: readonly [command: string, ...args: string[]] = isInstalled
	? [...(process.platform === 'win32' ? (['cmd', '/c', 'npx'] as const) : (['npx'] as const)), '-y', NAME]
	: [process.execPath, MAIN];

/** The same for a person to type. */
export const TYPED = isInstalled ? `npx ${NAME}` : `node ${/^[\w./:\\-]+$/.test(MAIN) ? MAIN : `"${MAIN}"`}`;
