// Clients that only tests use and that are no dependencies of ours: installed as their lock file says, once for each state of it.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The folder lies inside `node_modules`, where the next run finds it. */
const ROOM = fileURLToPath(new URL('../../node_modules/.cache/clients/', import.meta.url));
const FILES = ['package.json', 'package-lock.json'] as const;
const OPTIONS = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

// biome-ignore lint/suspicious/noExplicitAny: packages that are installed for a test alone have no types here
export type Loaded = any;

/** Installs the packages of a folder with a `package.json` and its lock file. @returns what imports one of them by its name */
export function installClients(folder: URL): (name: string) => Promise<Loaded> {
	const from = createRequire(join(installPackages(folder), 'package.json'));
	return (name) => import(pathToFileURL(from.resolve(name)).href);
}

/** Installs the packages of a folder with a `package.json` and its lock file. @returns the folder in which `node_modules` is */
export function installPackages(folder: URL): string {
	const lock = readFileSync(new URL('package-lock.json', folder));
	const installed = join(ROOM, createHash('sha256').update(lock).digest('hex').slice(0, 16));
	if (!existsSync(installed)) install(folder, installed);
	return installed;
}

/** Another run may install at the same time: a folder is there whole or not at all. */
function install(folder: URL, installed: string): void {
	mkdirSync(ROOM, { recursive: true });
	const staged = mkdtempSync(join(ROOM, 'staged-'));
	try {
		for (const file of FILES) copyFileSync(new URL(file, folder), join(staged, file));
		execFileSync('npm', ['ci', '--prefix', staged, ...OPTIONS], { stdio: ['ignore', 'ignore', 'inherit'] });
		renameSync(staged, installed);
	} catch (error) {
		if (!existsSync(installed)) throw error;
	} finally {
		rmSync(staged, { recursive: true, force: true });
	}
}
