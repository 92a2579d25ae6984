// Plugins as users get them: packed with `npm pack`, installed with `npm install`, found by name.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url));
/** Inside `node_modules`, so that a package's dependencies are found there and nothing is downloaded. */
const ROOM = join(MODULES, '.cache/');

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
	const source = stage(fixture, folder);
	const [packed] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder, source], folder)) as [
		{ name: string; filename: string },
	];
	return { name: packed.name, file: join(folder, packed.filename) };
}

/**
 * A copy whose dependencies lie inside and are packed with it: the package has copies of its own, as it would have from the
 * registry, and none is asked for, which a machine without it in npm's cache could not answer.
 */
function stage(fixture: string, folder: string): string {
	const staged = join(folder, 'staged', fixture);
	cpSync(new URL(`../fixtures/${fixture}`, import.meta.url), staged, { recursive: true });
	const described = manifest(staged);
	const own = Object.keys(described.dependencies ?? {});
	for (const name of closure(own)) cpSync(join(MODULES, name), join(staged, 'node_modules', name), { recursive: true });
	writeFileSync(join(staged, 'package.json'), JSON.stringify({ ...described, bundleDependencies: own }));
	return staged;
}

interface Manifest {
	dependencies?: Record<string, string>;
}

const manifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** These packages and all that they need, as they lie beside each other. */
function closure(names: string[], seen = new Set<string>()): Set<string> {
	for (const name of names) {
		if (seen.has(name)) continue;
		seen.add(name);
		closure(Object.keys(manifest(join(MODULES, name)).dependencies ?? {}), seen);
	}
	return seen;
}

const npm = (args: string[], cwd: string): string =>
	execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
