// Plugins as users get them: packed with `npm pack`, installed with `npm install`, found by name.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url));
/** The folder lies inside `node_modules`, so that a package's dependencies are found there and nothing is downloaded. */
const ROOM = join(MODULES, '.cache/');

export interface InstalledPackages extends Disposable {
	/** The names for GATEWAY_PLUGINS. */
	names: string[];
}

/** Installs packages of `test/fixtures` and makes their folder the working directory until it is disposed of. */
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
 * Makes a copy that contains and packs its dependencies: the installed package has its own copies, as from the registry, and npm requests
 * none, which would fail on a machine without them in npm's cache.
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

/** Collects these packages and all their dependencies, which lie beside each other. */
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
