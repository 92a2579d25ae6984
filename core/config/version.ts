// The version of this release, as package.json has it: above the sources, or one folder further up from what was built of them.

import { existsSync, readFileSync } from 'node:fs';

function read(): string {
	const file = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
	if (!file) return '0.0.0';
	const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
	return version ?? '0.0.0';
}

export const VERSION = read();
