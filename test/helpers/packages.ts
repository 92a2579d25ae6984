// Plugins as users get them: packed with `npm pack`, installed with `npm install`, found by name.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stateOf } from './state-of.ts';

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
	const names = fixtures.map((fixture) => {
		cpSync(join(installedOnce(fixture), 'node_modules'), join(folder, 'node_modules'), { recursive: true });
		return manifest(sourceOf(fixture)).name;
	});
	const before = process.cwd();
	process.chdir(folder);
	return {
		names,
		[Symbol.dispose]() {
			process.chdir(before);
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/**
 * Packs and installs a package once for each state of its sources, since npm takes some four seconds of CPU time for both and many files use the
 * same ones. @returns the folder in which it is installed
 */
function installedOnce(fixture: string): string {
	const place = join(ROOM, 'fixtures', `${fixture}-${stateOf([`test/fixtures/${fixture}/**/*`, 'package-lock.json'])}`);
	if (existsSync(place)) return place;
	mkdirSync(join(ROOM, 'fixtures'), { recursive: true });
	const half = mkdtempSync(`${place}-`);
	try {
		writeFileSync(join(half, 'package.json'), '{"private":true}');
		const options = ['--offline', '--no-audit', '--no-fund', '--no-save', '--legacy-peer-deps', '--no-package-lock'];
		npm(['install', ...options, pack(fixture, half)], half);
		rmSync(join(half, 'staged'), { recursive: true });
		renameSync(half, place);
	} catch (error) {
		// Another process may have been faster.
		if (!existsSync(place)) throw error;
	} finally {
		rmSync(half, { recursive: true, force: true });
	}
	return place;
}

const sourceOf = (fixture: string): string => fileURLToPath(new URL(`../fixtures/${fixture}`, import.meta.url));
const dependenciesOf = (folder: string): string[] => Object.keys(manifest(folder).dependencies ?? {});

/** @returns the path of the tarball */
function pack(fixture: string, folder: string): string {
	const source = stage(fixture, folder);
	const [{ filename }] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder, source], folder)) as [{ filename: string }];
	return join(folder, filename);
}

/**
 * Makes a copy that contains and packs its dependencies: the installed package has its own copies, as from the registry, and npm requests
 * none, which would fail on a machine without them in npm's cache.
 */
function stage(fixture: string, folder: string): string {
	const staged = join(folder, 'staged', fixture);
	cpSync(sourceOf(fixture), staged, { recursive: true });
	const own = dependenciesOf(staged);
	for (const name of closure(own)) cpSync(join(MODULES, name), join(staged, 'node_modules', name), { recursive: true });
	writeFileSync(join(staged, 'package.json'), JSON.stringify({ ...manifest(staged), bundleDependencies: own }));
	return staged;
}

interface Manifest {
	name: string;
	dependencies?: Record<string, string>;
}

const manifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** Collects these packages and all their dependencies, which lie beside each other. */
function closure(names: string[], seen = new Set<string>()): Set<string> {
	for (const name of names) {
		if (seen.has(name)) continue;
		seen.add(name);
		closure(dependenciesOf(join(MODULES, name)), seen);
	}
	return seen;
}

const npm = (args: string[], cwd: string): string =>
	execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
