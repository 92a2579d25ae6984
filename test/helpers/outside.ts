// The packed Gatehouse, and the packages of `test/outside` as their authors publish them: built against it, packed with `npm pack`, and
// unpacked as `npm install` does. All are built once for each state of the sources; the files of a run share them.

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stateOf } from './state-of.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const OUTSIDE = join(ROOT, 'test/outside');
const CACHE = join(MODULES, '.cache');
const TSC = join(MODULES, 'typescript/bin/tsc');
/** The files that make Gatehouse's package, and those that make the others. */
const OURS = ['{core,db,adapters,importers,plugins,testing}/**/*', '{package,tsconfig,tsconfig.build}.json'];
const THEIRS = ['test/outside/{*.json,acme-*/**/*}'];

export interface OutsidePackages {
	/** The folder of a project in which Gatehouse and all packages are installed from their tarballs. */
	project: string;
	/** The program of the installed Gatehouse. */
	bin: string;
	/** The names of the packages, for GATEWAY_PLUGINS. */
	names: string[];
	/** Returns the path of a package's tarball; `gatehouse` is one of them. */
	tarball(name: string): string;
	/** Returns the folder in which a package was developed, with its tests. */
	folder(name: string): string;
}

/** Packs Gatehouse, unless this or another test did so already. @returns the folder in which it is installed from its tarball */
export async function packedGatehouse(): Promise<string> {
	const ours = join(CACHE, `outside-gatehouse-${stateOf(OURS)}`);
	await made(ours, () => packGatehouse(ours));
	return join(ours, 'node_modules/gatehouse');
}

/** Builds and packs Gatehouse and the packages, unless this or another test did so already. */
export async function outsidePackages(): Promise<OutsidePackages> {
	const ours = join(await packedGatehouse(), '../..');
	const place = join(CACHE, `outside-${stateOf([...OURS, ...THEIRS])}`);
	await made(place, () => build(ours, place));
	const names = readdirSync(join(place, 'packages')).filter((name) => name.startsWith('acme-'));
	return {
		...{ project: place, names, bin: join(place, 'node_modules/gatehouse/dist/core/bin.cjs') },
		tarball: (name) => join(place, 'tarballs', readdirSync(join(place, 'tarballs')).find((file) => file.startsWith(`${name}-`)) ?? name),
		folder: (name) => join(place, 'packages', name),
	};
}

/**
 * Runs the tests of packages: of one in its folder, as its author does; of several in one process, which loads Gatehouse once.
 * @returns the exit code, and TAP
 */
export function ownTests({ folder, project }: OutsidePackages, names: readonly string[]): { status: number | null; output: string } {
	// A run inside a run would report to the outer one.
	const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
	const [cwd = project] = names.length === 1 ? names.map(folder) : [];
	const files = names.map((name) => join(folder(name), 'test/contract.js'));
	const options = ['--test', '--test-isolation=none', '--test-reporter=tap'];
	const { status, stdout, stderr } = spawnSync(process.execPath, [...options, ...files], { cwd, encoding: 'utf8', env });
	return { status, output: `${stdout}${stderr}` };
}

/** The folders of the packages; the tests of some take long, so the others have a file of their own. */
export const packageNames = (): string[] => readdirSync(OUTSIDE).filter((name) => name.startsWith('acme-'));
export const LONG = ['acme-webhooks', 'acme-a2a', 'acme-mcp-upstream'];

/** Makes a folder unless it is there or another process makes one. */
async function made(place: string, make: () => void): Promise<void> {
	mkdirSync(CACHE, { recursive: true });
	const lock = join(CACHE, 'outside.lock');
	while (!existsSync(place)) {
		if (!takeLock(lock)) {
			await sleep(200);
			continue;
		}
		try {
			// Another process may have made it while this one waited for the lock.
			if (!existsSync(place)) make();
		} finally {
			rmSync(lock, { force: true });
		}
	}
}

/** The lock of a process that has died is nobody's. */
function takeLock(lock: string): boolean {
	try {
		writeFileSync(lock, String(process.pid), { flag: 'wx' });
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		if (!isAlive(lock)) rmSync(lock, { force: true });
		return false;
	}
}

function isAlive(lock: string): boolean {
	try {
		return process.kill(Number(readFileSync(lock, 'utf8')), 0);
	} catch (error) {
		// The lock was just given back, or is not written yet.
		return (error as NodeJS.ErrnoException).code === 'ENOENT';
	}
}

function build(ours: string, place: string): void {
	const old = readdirSync(CACHE).filter((name) => name.startsWith('outside-') && !ours.endsWith(name));
	for (const name of old) rmSync(join(CACHE, name), { recursive: true });
	// It lies inside node_modules, so that dependencies are found there and nothing is downloaded.
	const half = `${place}.half`;
	mkdirSync(join(half, 'tarballs'), { recursive: true });
	writeFileSync(join(half, 'package.json'), '{"private":true}');
	for (const file of globSync('*.tgz', { cwd: ours })) cpSync(join(ours, file), join(half, 'tarballs', file));
	install(half, globSync(join(half, 'tarballs/*.tgz')));
	install(half, pack(half, buildPackages(half)));
	renameSync(half, place);
}

/** Packs it as its maintainer does, with the scripts of package.json. */
function packGatehouse(ours: string): void {
	const half = `${ours}.half`;
	mkdirSync(half, { recursive: true });
	run(ROOT, 'npm', 'pack', '--silent', '--pack-destination', half, ROOT);
	install(half, globSync(join(half, '*.tgz')));
	renameSync(half, ours);
}

/** Builds all packages in one go, which is faster; an author builds one. */
function buildPackages(half: string): string[] {
	const [packages, built] = [join(half, 'packages'), join(half, 'built')];
	cpSync(OUTSIDE, packages, { recursive: true, filter: (file) => !file.endsWith('.test.ts') });
	run(packages, process.execPath, TSC, '-p', 'tsconfig.json', '--outDir', built);
	const names = readdirSync(built);
	for (const name of names) {
		renameSync(join(built, name, 'src'), join(packages, name, 'dist'));
		cpSync(join(built, name, 'test'), join(packages, name, 'test'), { recursive: true });
	}
	return names.map((name) => join(packages, name));
}

function pack(half: string, folders: string[]): string[] {
	const destination = join(half, 'tarballs');
	const options = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination];
	const packed = JSON.parse(run(half, 'npm', ...options, ...folders)) as { name: string; filename: string }[];
	return packed.map(({ filename }) => join(destination, filename));
}

function install(half: string, tarballs: string[]): void {
	for (const tarball of tarballs) {
		const name = /([^/]+)-\d[^/]*\.tgz$/.exec(tarball)?.[1] ?? tarball;
		const folder = join(half, 'node_modules', name);
		mkdirSync(folder, { recursive: true });
		run(half, 'tar', '-xzf', tarball, '-C', folder, '--strip-components=1');
	}
}

/** @returns the output @throws Error with what the program said */
function run(cwd: string, program: string, ...args: string[]): string {
	try {
		return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 });
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new Error(`${program} ${args.slice(0, 3).join(' ')} failed: ${stdout}${stderr}`, { cause: error });
	}
}
