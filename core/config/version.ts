// The version in package.json: one folder above the sources, or one further up in the build.

import { existsSync, readFileSync } from 'node:fs';

function read(): string {
	const file = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
	if (!file) return '0.0.0';
	const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
	return version ?? '0.0.0';
}

export const VERSION = read();
