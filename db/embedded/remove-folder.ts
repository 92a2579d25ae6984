// Removes the folder of a socket, though the server that made it may just be ending.

import { existsSync, rmSync } from 'node:fs';

/** A server has a socket and its lock; each may vanish in one try. */
const TRIES = 10;

/** Removes a folder whole. Where a file of it vanishes meanwhile, `rmSync` stops without a word, and leaves the folder (Node 24). */
export function removeFolder(folder: string): void {
	for (let tries = 0; tries < TRIES && existsSync(folder); tries++) rmSync(folder, { recursive: true, force: true });
}
