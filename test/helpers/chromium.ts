// Starts a real Chromium without a screen: CHROMIUM_PATH, the one on the PATH, or Debian's packages, unpacked without installing them.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

/** The commands that are tried; Ubuntu's runners carry Google's build instead of Chromium. */
const COMMANDS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
/** Debian's packages, the first of them that a release has: the same engine takes half of the CPU time without the parts for a screen. */
const PACKAGES = ['chromium-headless-shell', 'chromium'];
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/chromium-headless', import.meta.url));
/** The folder of the program, which has the name of its package, among the unpacked packages. */
const PROGRAMS = 'usr/lib/chromium';
/** The name of the script that starts Chromium with its own libraries. */
const STARTER = 'start';
const UNPACKING_MS = 10 * 60_000;

/** Starts a browser that reaches this machine and nothing else: a test that needs more is wrong. */
export async function openChromium(): Promise<Browser> {
	return chromium.launch({
		executablePath: await findChromium(),
		// Chromium cannot use its sandbox as root, nor in most containers; it sees only our own pages.
		chromiumSandbox: false,
		args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE ::1'],
	});
}

/**
 * Finds the program. An empty `CHROMIUM_PATH` means the unpacked one, even if another is installed. @returns its path. @throws Error that
 * says what to do
 */
async function findChromium(): Promise<string> {
	const given = process.env['CHROMIUM_PATH'];
	if (given) return given;
	const installed = given === '' ? undefined : COMMANDS.find((name) => spawnSync(name, ['--version']).status === 0);
	return installed === undefined ? unpackOnce() : execFileSync('which', [installed], { encoding: 'utf8' }).trim();
}

/** Unpacks the packages in one process, while other processes that need them wait for it. */
async function unpackOnce(): Promise<string> {
	const lock = `${CACHE}.lock`;
	mkdirSync(dirname(CACHE), { recursive: true });
	while (!existsSync(join(CACHE, STARTER))) {
		if (!takeLock(lock)) await sleep(200);
		else {
			try {
				// Another process may have unpacked them while this one waited for the lock.
				if (!existsSync(join(CACHE, STARTER))) unpack();
			} finally {
				rmSync(lock, { recursive: true, force: true });
			}
		}
	}
	return join(CACHE, STARTER);
}

function takeLock(lock: string): boolean {
	try {
		mkdirSync(lock);
		return true;
	} catch (thrown) {
		if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')) throw thrown;
		const sinceMs = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
		// The process that held the lock has ended.
		if (Date.now() - sinceMs > UNPACKING_MS) rmSync(lock, { recursive: true, force: true });
		return false;
	}
}

/** Downloads the packages and unpacks them into the cache. @throws Error that says what to do */
function unpack(): void {
	const folder = mkdtempSync(`${CACHE}-`);
	try {
		const packages = mkdtempSync(join(folder, 'packages-'));
		const program = download(packages);
		for (const name of readdirSync(packages).filter((file) => file.endsWith('.deb')))
			execFileSync('dpkg-deb', ['-x', join(packages, name), folder], { stdio: 'pipe' });
		rmSync(packages, { recursive: true, force: true });
		writeStarter(folder, program);
		execFileSync(join(folder, STARTER), ['--version'], { stdio: 'pipe' });
		rmSync(CACHE, { recursive: true, force: true });
		// The folder appears complete or not at all.
		renameSync(folder, CACHE);
	} catch (cause) {
		rmSync(folder, { recursive: true, force: true });
		throw new Error('The tests need a Chromium: install the package chromium, or set CHROMIUM_PATH to the program.', { cause });
	}
}

/**
 * Downloads Chromium and those packages it depends on that the machine lacks, in the newest version that apt knows. @returns the name of its
 * package
 */
function download(folder: string): string {
	const isKnown = spawnSync('apt-cache', ['show', 'chromium']).status === 0;
	// On a machine without package lists, apt's own folder for them may be read-only.
	const places = isKnown ? [] : ['-o', `Dir::State::Lists=${join(folder, 'lists')}`, '-o', `Dir::Cache=${join(folder, 'cache')}`];
	const run = (...args: string[]): string =>
		execFileSync('apt-get', [...places, ...args], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
	if (!isKnown) {
		for (const name of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(folder, name), { recursive: true });
		run('update');
	}
	const wanted = PACKAGES.find((name) => spawnSync('apt-cache', [...places, 'show', name], { cwd: folder }).status === 0) ?? 'chromium';
	const planned = run('install', '--simulate', '--no-install-recommends', wanted);
	// A line is `Inst name (version …)`; with `[version]` an older version is installed already.
	const missing = [...planned.matchAll(/^Inst (\S+) \(/gm)].map(([, name = '']) => name);
	run('download', ...new Set([wanted, 'chromium-common', ...missing]));
	return wanted;
}

/** Writes the script that finds libraries and fonts in the unpacked folder first, then in the system. */
function writeStarter(folder: string, program: string): void {
	const libraries = readdirSync(join(folder, 'usr/lib')).filter((name) => name.includes('-linux-'));
	const places = libraries.flatMap((name) => [`usr/lib/${name}`, `lib/${name}`, `usr/lib/${name}/pulseaudio`]);
	const path = places.map((name) => `$here/${name}`).join(':');
	const lines = [
		'#!/bin/sh',
		'here=$(dirname "$0")',
		`export LD_LIBRARY_PATH="${path}"`,
		// Text has no height without any font, and the system's settings name only the system's folders.
		'[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"',
		`exec "$here/${PROGRAMS}/${program}" "$@"`,
	];
	writeFileSync(join(folder, STARTER), `${lines.join('\n')}\n`, { mode: 0o755 });
	const fonts = '<fontconfig><dir prefix="relative">usr/share/fonts</dir><dir>/usr/share/fonts</dir></fontconfig>';
	writeFileSync(join(folder, 'fonts.conf'), `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">${fonts}\n`);
}
