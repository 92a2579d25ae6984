// `gatehouse dev`: runs the service with the plugins of a folder in a process of its own, and starts it again after each change.

import { type ChildProcess, fork } from 'node:child_process';
import type { Config } from '../config/config.ts';
import { findFolder } from '../registry/folders.ts';
import { reasonOf } from '../registry/loading.ts';
import { type Changes, watchFolder } from './watch.ts';

/** The argument with which the service's process is started: the folder follows it. Nobody else uses it. */
export const SERVE_FOLDER = 'serve-folder';

export interface Development {
	/** The folder of the package. */
	folder: string;
	/** The path of the service's data, which are no change of the package. */
	dataDir: string;
	/** The database that outlives the restarts. */
	database: Config['database'];
	/** The path of the program that serves. */
	program: string;
	/** The environment of the service. */
	env: NodeJS.ProcessEnv;
	tell(sentence: string): void;
}

/** The first message to the service's process. */
export type DevelopmentMessage = Pick<Development, 'database'>;

/** The message of the service's process to this one. */
export interface ServiceMessage {
	listening: string;
}

/** The time after which a service that does not end is killed: a plugin under development may hold it up. */
const ENDING_MS = 3000;

/** @throws Error with one sentence: the command is used wrongly, or the folder is no package */
export function folderOf(args: readonly string[]): string {
	const [folder, ...more] = args;
	if (folder === undefined || more.length > 0 || folder.startsWith('-')) throw new Error('Usage: gatehouse dev <folder>');
	return findFolder(folder).folder;
}

/** Runs until it is stopped. */
export function develop(given: Development): { stop(): Promise<void> } {
	const stopping = Promise.withResolvers<'stop'>();
	const changes = watchFolder(given.folder, given.dataDir);
	const ended = run(given, changes, stopping.promise).catch((error: unknown) => given.tell(reasonOf(error)));
	return {
		async stop() {
			stopping.resolve('stop');
			await ended;
			changes[Symbol.dispose]();
		},
	};
}

async function run(given: Development, changes: Changes, stopped: Promise<'stop'>): Promise<void> {
	const { folder, tell } = given;
	for (;;) {
		const changed = changes.next().then(() => 'change' as const);
		const service = start(given);
		const first = await Promise.race([changed, stopped, service.ended]);
		if (first === 'end') tell(`The service ended. It starts again when a file in ${folder} changes.`);
		const why = first === 'end' ? await Promise.race([changed, stopped]) : first;
		await service.stop();
		if (why === 'stop') return;
		tell(`A file in ${folder} changed: starting again.`);
	}
}

interface RunningService {
	ended: Promise<'end'>;
	stop(): Promise<void>;
}

function start({ folder, database, program, env, tell }: Development): RunningService {
	const child = fork(program, [SERVE_FOLDER, folder], { env });
	// A process that has ended already is told nothing.
	child.send({ database } satisfies DevelopmentMessage, () => undefined);
	child.on('message', ({ listening }: ServiceMessage) => tell(`Listening at ${listening} with the plugins in ${folder}.`));
	const ended = endOf(child);
	return {
		ended,
		async stop() {
			child.kill('SIGTERM');
			const late = setTimeout(() => child.kill('SIGKILL'), ENDING_MS);
			await ended;
			clearTimeout(late);
		},
	};
}

const endOf = (child: ChildProcess): Promise<'end'> =>
	new Promise((resolve) => {
		child.once('exit', () => resolve('end'));
		child.once('error', () => resolve('end'));
	});
