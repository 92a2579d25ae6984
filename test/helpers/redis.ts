// A real Redis: the one named by TEST_REDIS_URL, the one on 127.0.0.1, or one started for these tests.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './ports.ts';

export interface TestRedis {
	host: string;
	port: number;
	/** Ends the server if it was started for this test. */
	stop(): Promise<void>;
}

export interface OwnRedis extends TestRedis {
	/** Sends SIGSTOP or SIGCONT, which suspends or resumes the server. */
	signal(name: NodeJS.Signals): void;
}

const DEFAULT = { host: '127.0.0.1', port: 6379 };
const START_TIMEOUT_MS = 10_000;
/** The packages of Debian and Ubuntu, with libraries that a small image may lack; names that a release does not have are skipped. */
const PACKAGES = [
	'redis-server',
	'redis-tools',
	'liblzf1',
	'libjemalloc2',
	'libatomic1',
	'liblua5.1-0',
	'libhiredis0.14',
	'libssl3',
	'libsystemd0',
];

/** Finds or starts a server. A shared one holds other people's keys: use a random prefix. */
export async function testRedis(): Promise<TestRedis> {
	const url = process.env['TEST_REDIS_URL'];
	if (url) {
		const { hostname, port } = new URL(url);
		return { host: hostname, port: Number(port || DEFAULT.port), stop: () => Promise.resolve() };
	}
	if (await answers(DEFAULT.host, DEFAULT.port)) return { ...DEFAULT, stop: () => Promise.resolve() };
	return startRedis();
}

/**
 * Starts a server that no other test uses, so that a test may kill it.
 * @param port the port of an ended one, which it replaces, empty
 * @param options of its command line
 */
export async function startRedis(port?: number, options: readonly string[] = []): Promise<OwnRedis> {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
	const { command, libraries } =
		spawnSync('redis-server', ['--version']).status === 0 ? { command: 'redis-server', libraries: '' } : unpack(folder);
	const own = port ?? (await freePort());
	const args = ['--port', String(own), '--bind', DEFAULT.host, '--save', '', '--appendonly', 'no', '--dir', folder, ...options];
	const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env;
	const child = spawn(command, args, { stdio: 'ignore', env });
	const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()));
	// Ends the server with a test process that ends without `stop`.
	const kill = (): void => void child.kill('SIGKILL');
	process.once('exit', kill);
	const stop = async (): Promise<void> => {
		process.removeListener('exit', kill);
		kill();
		await exited;
		rmSync(folder, { recursive: true, force: true });
	};
	const deadlineMs = performance.now() + START_TIMEOUT_MS;
	while (!(await answers(DEFAULT.host, own))) {
		if (performance.now() > deadlineMs || child.exitCode !== null) {
			await stop();
			throw new Error('redis-server did not start.');
		}
		await sleep(20);
	}
	return { host: DEFAULT.host, port: own, stop, signal: (name) => void child.kill(name) };
}

/** Unpacks the system's packages without installing them. @throws Error that says what to do */
function unpack(folder: string): { command: string; libraries: string } {
	try {
		if (!isKnown('redis-server')) execFileSync('apt-get', ['update'], { stdio: 'pipe' });
		for (const name of PACKAGES.filter(isKnown)) execFileSync('apt-get', ['download', name], { cwd: folder, stdio: 'pipe' });
		for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb')))
			execFileSync('dpkg-deb', ['-x', file, '.'], { cwd: folder, stdio: 'pipe' });
	} catch (cause) {
		throw unobtainable(folder, cause);
	}
	const command = join(folder, 'usr/bin/redis-server');
	if (!existsSync(command)) throw unobtainable(folder);
	const triplets = readdirSync(join(folder, 'usr/lib')).map((name) => join(folder, 'usr/lib', name));
	return { command, libraries: triplets.join(':') };
}

const isKnown = (name: string): boolean => spawnSync('apt-cache', ['show', name]).status === 0;

function unobtainable(folder: string, cause?: unknown): Error {
	rmSync(folder, { recursive: true, force: true });
	return new Error('The tests need a Redis: start one on 127.0.0.1:6379, set TEST_REDIS_URL, or install redis-server.', { cause });
}

function answers(host: string, port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = createConnection({ host, port, timeout: 1_000 });
		const end = (isThere: boolean) => (): void => {
			socket.destroy();
			resolve(isThere);
		};
		socket.on('connect', () => socket.write('PING\r\n'));
		socket.on('data', (chunk) => end(/^(\+PONG|-NOAUTH)/.test(chunk.toString()))());
		socket.on('error', end(false)).on('timeout', end(false));
	});
}
