// The embedded default: a real PostgreSQL from npm, which the service starts in its data folder. It is reachable through a unix socket
// only, unless a test asks for more, and ends with the service, however that ends.

import { chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { resolve as absolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../core/contract/nouns.ts';
import type { Endpoint } from '../connection.ts';
import { evictOrphan, lockFolder } from './lock.ts';
import { findPrograms, type Programs } from './programs.ts';
import { removeFolder } from './remove-folder.ts';

export interface EmbeddedOptions {
	/** Created with mode 0700 when it is missing. */
	dataDir: string;
	/** False trades crash safety for speed: for tests only. */
	durable: boolean;
	/** A free port of 127.0.0.1 where it listens, too, and lets everybody in: for tests only. */
	openPort?: number;
	/** The most connections at once. Default: PostgreSQL's own, 100. */
	connections?: number;
	log?: Log;
}

export interface Embedded {
	database: Endpoint;
	stop(): Promise<void>;
}

interface Running {
	stop(): Promise<void>;
}

const ROLE = 'gatehouse';
const PORT = 5432;
/** Long enough for a crash recovery with much to redo. */
const START_TIMEOUT_MS = 5 * 60_000;
/** The time that a predecessor that was killed may take to end: the kernel notifies it at once, and it shuts down by itself. */
const PREDECESSOR_MS = 4_000;
const GIVE_UP_MS = 15_000;
const RETRY_MS = 100;

/** @throws Error naming the folder, when another service uses it or PostgreSQL does not start */
export async function startEmbedded({ dataDir, durable, openPort, connections, log }: EmbeddedOptions): Promise<Embedded> {
	const folder = absolute(dataDir);
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const socketDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
	const leave: (() => void)[] = [() => removeFolder(socketDir)];
	const leaveAll = (): void => {
		for (const step of leave.splice(0)) step();
	};
	try {
		leave.push(lockFolder(folder, socketDir));
		const server = await launch({ dataDir: folder, socketDir, durable, openPort, connections, log });
		const at = openPort === undefined ? { host: socketDir, port: PORT } : { host: '127.0.0.1', port: openPort };
		return {
			database: { ...at, username: ROLE, password: '', name: 'postgres', ssl: false },
			stop: async () => {
				await server.stop();
				leaveAll();
			},
		};
	} catch (error) {
		leaveAll();
		throw error;
	}
}

interface Launch {
	dataDir: string;
	socketDir: string;
	durable: boolean;
	openPort: number | undefined;
	connections: number | undefined;
	log: Log | undefined;
}

async function launch({ dataDir, socketDir, durable, openPort, connections, log }: Launch): Promise<Running> {
	const programs = findPrograms();
	const cluster = join(dataDir, 'postgres');
	if (programs.owner !== null) for (const folder of [dataDir, socketDir]) chownSync(folder, programs.owner, programs.owner);
	if (!existsSync(cluster)) await initialize(programs, cluster, durable);
	const settings = {
		...{
			listen_addresses: openPort === undefined ? '' : '127.0.0.1',
			unix_socket_permissions: '0700',
			timezone: 'UTC',
			log_timezone: 'UTC',
		},
		...(connections === undefined ? {} : { max_connections: String(connections) }),
		...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }),
	};
	const options = ['-D', cluster, '-k', socketDir, '-p', String(openPort ?? PORT)];
	for (const [name, value] of Object.entries(settings)) options.push('-c', `${name}=${value}`);
	return startAfterPredecessor(() => start(programs, options, log), cluster);
}

/** Retries while a predecessor that was just killed is still shutting down. */
async function startAfterPredecessor(attempt: () => Promise<Running>, cluster: string): Promise<Running> {
	const beganMs = performance.now();
	for (;;) {
		try {
			return await attempt();
		} catch (error) {
			if (!(error instanceof Error) || !/lock file|shared memory block/.test(error.message)) throw error;
			const waitedMs = performance.now() - beganMs;
			if (waitedMs > GIVE_UP_MS || (waitedMs > PREDECESSOR_MS && !evictOrphan(cluster))) throw error;
			await sleep(RETRY_MS);
		}
	}
}

/**
 * Creates the cluster beside its final folder and moves it when it is complete: a crash in between leaves nothing that looks like a
 * cluster.
 */
async function initialize(programs: Programs, cluster: string, durable: boolean): Promise<void> {
	const fresh = `${cluster}.new`;
	rmSync(fresh, { recursive: true, force: true });
	const options = ['-D', fresh, '-U', ROLE, '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-instructions'];
	const child = programs.spawn('initdb', durable ? options : [...options, '--no-sync']);
	const said: string[] = [];
	for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
	const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
	if (code !== 0) throw new Error(`The embedded database could not be made in ${cluster}: ${said.join('').trim()}`);
	renameSync(fresh, cluster);
}

function start(programs: Programs, options: string[], log: Log | undefined): Promise<Running> {
	const child = programs.spawn('postgres', options);
	const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
	const said: string[] = [];
	child.stdout.resume();
	const handles = [child, child.stderr as Socket, child.stdout as Socket];
	return new Promise<Running>((resolve, reject) => {
		const timer = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
		let isReady = false;
		let isStopping = false;
		const stop = async (): Promise<void> => {
			isStopping = true;
			// The end of its output is waited for, too: a process with nothing else to do would end before it.
			for (const handle of handles) handle.ref();
			// Fast shutdown: ends the sessions, writes a checkpoint, removes the socket.
			child.kill('SIGINT');
			await exited;
		};
		createInterface({ input: child.stderr }).on('line', (line) => {
			if (!isReady) said.push(line);
			log?.debug({ postgres: line }, 'embedded database');
			if (isReady || !line.includes('database system is ready to accept connections')) return;
			isReady = true;
			clearTimeout(timer);
			// These handles do not keep the process alive: the server ends with it.
			for (const handle of handles) handle.unref();
			resolve({ stop });
		});
		child.on('error', reject);
		child.on('close', (code, signal) => {
			clearTimeout(timer);
			if (!isReady) reject(new Error(`The embedded database did not start: ${said.join('\n') || (signal ?? `exit code ${code}`)}`));
			else if (!isStopping) log?.error({ code, signal }, 'the embedded database ended by itself; restart the service');
		});
	});
}
