// Plugins as users get them: packed with `npm pack`, installed with `npm install`, found by name.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Inside `node_modules`, so that a package's dependencies are found there and nothing is downloaded. */
const ROOM = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));

export interface InstalledPackages extends Disposable {
	/** For GATEWAY_PLUGINS. */
	names: string[];
}

/** Installs packages of `test/fixtures` and works from where they are, until it is disposed of. */
export function installPackages(...fixtures: string[]): InstalledPackages {
	mkdirSync(ROOM, { recursive: true });
	const folder = mkdtempSync(join(ROOM, 'packages-'));
	writeFileSync(join(folder, 'package.json'), '{"private":true}');
	const packed = fixtures.map((fixture) => pack(fixture, folder));
	const options = ['--offline', '--no-audit', '--no-fund', '--no-save', '--legacy-peer-deps', '--no-package-lock'];
	npm(['install', ...options, ...packed.map(({ file }) => file)], folder);
	const before = process.cwd();
	process.chdir(folder);
	return {
		names: packed.map(({ name }) => name),
		[Symbol.dispose]() {
			process.chdir(before);
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

function pack(fixture: string, folder: string): { name: string; file: string } {
	const source = fileURLToPath(new URL(`../fixtures/${fixture}`, import.meta.url));
	const [packed] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder, source], folder)) as [
		{ name: string; filename: string },
	];
	return { name: packed.name, file: join(folder, packed.filename) };
}

const npm = (args: string[], cwd: string): string =>
	execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
