// The standard output, which is for messages of the protocol alone: whatever else is written there by mistake goes to standard error.

import type { JsonObject } from './messages.ts';

/** Sends a message, as an object or as the text of one line. Resolves when there is room for the next. */
export type Send = (message: JsonObject | string) => Promise<void>;

/** Takes the standard output for messages. Must be called before anything else may write. @param onGone is called when nobody reads any more */
export function takeOutput(onGone: () => void): Send {
	const { stdout, stderr } = process;
	const write = stdout.write.bind(stdout);
	stdout.write = stderr.write.bind(stderr);
	// Whoever reads has left: EPIPE.
	stdout.on('error', onGone);
	stderr.on('error', () => undefined);
	let room: Promise<void> | null = null;
	stdout.on('drain', () => (room = null));
	return (message) => {
		const text = typeof message === 'string' ? message : JSON.stringify(message);
		const isFull = !write(`${text}\n`);
		if (isFull) room ??= new Promise((resolve) => stdout.once('drain', resolve));
		return room ?? Promise.resolve();
	};
}

/** Writes a sentence for people. */
export const tell = (sentence: string): void => {
	process.stderr.write(`gatehouse-proxy: ${sentence}\n`);
};
