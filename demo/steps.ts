// Prints each step of the demo in one line: its number, what it did, what it got, how long it took.

import { styleText } from 'node:util';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { RestFailure } from './rest.ts';

/** Runs one step and hands on its value. @throws Error naming the step, the HTTP status and what was said */
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
			// Without codes when standard output is no terminal, or NO_COLOR is set.
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
	// `fetch failed` says why in its cause only.
	return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
