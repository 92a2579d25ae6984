// Prints each step of the demo in one line: its number, its title, its result, and the time it took.

import { styleText } from 'node:util';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { RestFailure } from './rest.ts';

/** Runs one step and returns its value. @throws Error naming the step, the HTTP status and the message of the answer */
export type Step = <T>(title: string, run: () => Promise<{ value: T; got: string }>) => Promise<T>;

const TITLE_WIDTH = 30;

/** @param signal stops before the next step */
export function createSteps(print: (line: string) => void, signal: AbortSignal): Step {
	let count = 0;
	return async (title, run) => {
		signal.throwIfAborted();
		const number = String(++count).padStart(2);
		const startedAt = performance.now();
		try {
			const { value, got } = await run();
			const tookMs = Math.round(performance.now() - startedAt);
			// No colour codes are printed when standard output is no terminal, or NO_COLOR is set.
			print(`${styleText('green', number)}  ${title.padEnd(TITLE_WIDTH)} ${got} ${styleText('dim', `(${tookMs} ms)`)}`);
			return value;
		} catch (cause) {
			throw new Error(`${number}  ${title}: ${describeFailure(cause)}`, { cause });
		}
	};
}

function describeFailure(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	if (error instanceof RestFailure) return `HTTP ${error.status}: ${error.message}`;
	if (error instanceof StreamableHTTPError) return `HTTP ${error.code ?? 'without a status'}: ${error.message}`;
	// The reason of `fetch failed` is in its cause only.
	return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
