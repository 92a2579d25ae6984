// The version of this package.

import { readFileSync } from 'node:fs';

/** The package's description lies above the sources, and above the folder that they are built into. */
const PACKAGE = new URL(import.meta.url.endsWith('.ts') ? './package.json' : '../package.json', import.meta.url);

export const { version: VERSION } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
