// A real Chromium without a screen: CHROMIUM_PATH, the one on the PATH, or Debian's packages, unpacked without installing them.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

/** Ubuntu's runners carry Google's instead. */
const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome'];
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/chromium', import.meta.url));
/** Under the root of the unpacked packages. */
const PROGRAM = 'usr/lib/chromium/chromium';
/** What starts it with its own libraries. */
const STARTER = 'start';
const UNPACKING_MS = 10 * 60_000;

/** It reaches this machine and nothing else: a test that needs more is wrong. */
export async function openChromium(): Promise<Browser> {
	return chromium.launch({
		executablePath: await findChromium(),
		// It cannot have its sandbox as root, nor in most containers; it sees pages of our own only.
		chromiumSandbox: false,
		args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE ::1'],
	});
}

/** With `CHROMIUM_PATH` empty, the unpacked one even where one is installed. @returns the path of a program. @throws Error saying what to do */
async function findChromium(): Promise<string> {
	const given = process.env['CHROMIUM_PATH'];
	if (given) return given;
	const installed = given === '' ? undefined : COMMANDS.find((name) => spawnSync(name, ['--version']).status === 0);
	return installed === undefined ? unpackOnce() : execFileSync('which', [installed], { encoding: 'utf8' }).trim();
}

/** Of several processes that come at once, one does it, and the others wait. */
async function unpackOnce(): Promise<string> {
	const lock = `${CACHE}.lock`;
	mkdirSync(dirname(CACHE), { recursive: true });
	while (!existsSync(join(CACHE, STARTER))) {
		if (!takeLock(lock)) await sleep(200);
		else {
			try {
				// The one before may have been done just now.
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
		// Whoever had it has ended.
		if (Date.now() - sinceMs > UNPACKING_MS) rmSync(lock, { recursive: true, force: true });
		return false;
	}
}

/** @throws Error saying what to do */
function unpack(): void {
	const folder = mkdtempSync(`${CACHE}-`);
	try {
		const packages = mkdtempSync(join(folder, 'packages-'));
		download(packages);
		for (const name of readdirSync(packages).filter((file) => file.endsWith('.deb')))
			execFileSync('dpkg-deb', ['-x', join(packages, name), folder], { stdio: 'pipe' });
		rmSync(packages, { recursive: true, force: true });
		writeStarter(folder);
		execFileSync(join(folder, STARTER), ['--version'], { stdio: 'pipe' });
		rmSync(CACHE, { recursive: true, force: true });
		// All of it, or nothing.
		renameSync(folder, CACHE);
	} catch (cause) {
		rmSync(folder, { recursive: true, force: true });
		throw new Error('The tests need a Chromium: install the package chromium, or set CHROMIUM_PATH to the program.', { cause });
	}
}

/** Chromium and those of the packages it depends on that the machine lacks, newest as apt knows them. */
function download(folder: string): void {
	const isKnown = spawnSync('apt-cache', ['show', 'chromium']).status === 0;
	// A machine that has no lists may not let us write them where they belong.
	const places = isKnown ? [] : ['-o', `Dir::State::Lists=${join(folder, 'lists')}`, '-o', `Dir::Cache=${join(folder, 'cache')}`];
	const run = (...args: string[]): string =>
		execFileSync('apt-get', [...places, ...args], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
	if (!isKnown) {
		for (const name of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(folder, name), { recursive: true });
		run('update');
	}
	const planned = run('install', '--simulate', '--no-install-recommends', 'chromium');
	// `Inst name (version …)`; with `[version]` it is there, in an older one.
	const missing = [...planned.matchAll(/^Inst (\S+) \(/gm)].map(([, name = '']) => name);
	run('download', ...new Set(['chromium', 'chromium-common', ...missing]));
}

/** Its libraries and fonts come from where they were unpacked, then from the system. */
function writeStarter(folder: string): void {
	const libraries = readdirSync(join(folder, 'usr/lib')).filter((name) => name.includes('-linux-'));
	const places = libraries.flatMap((name) => [`usr/lib/${name}`, `lib/${name}`, `usr/lib/${name}/pulseaudio`]);
	const path = places.map((name) => `$here/${name}`).join(':');
	const lines = [
		'#!/bin/sh',
		'here=$(dirname "$0")',
		`export LD_LIBRARY_PATH="${path}"`,
		// Without any font no text has a height, and the system's settings name only the system's folders.
		'[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"',
		`exec "$here/${PROGRAM}" "$@"`,
	];
	writeFileSync(join(folder, STARTER), `${lines.join('\n')}\n`, { mode: 0o755 });
	const fonts = '<fontconfig><dir prefix="relative">usr/share/fonts</dir><dir>/usr/share/fonts</dir></fontconfig>';
	writeFileSync(join(folder, 'fonts.conf'), `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">${fonts}\n`);
}
