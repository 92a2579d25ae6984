// Turns the end of a run into the result of a tool.

import { excerptOf, jsonResult, type ToolResult } from '../../../core/index.ts';
import { isContent, readContent } from './blocks.ts';
import { describeFault } from './faults.ts';
import type { Ended } from './thread.ts';

const MAX_LINE_CHARS = 4096;

export interface Ran {
	code: string;
	timeoutMs: number;
	memoryMb: number;
}

export async function toResult(ending: Ended['ending'], { code, timeoutMs, memoryMb }: Ran): Promise<ToolResult> {
	if (ending.type === 'returned') return answerOf(ending.json);
	if (ending.type === 'threw') return failed(describeFault(ending.fault, code));
	if (ending.type === 'unusable') return failed(`The result ${excerptOf(ending.message)}.`);
	if (ending.type === 'late') return failed(`The code took longer than ${timeoutMs} ms, and was stopped.`);
	if (ending.type === 'stuck') return failed('The code waits for a promise that nothing will settle.');
	return failed(`The code was stopped: it took more memory than ${memoryMb} MB, or more than the sandbox can do.`);
}

export const failed = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** Turns JSON into a result: content as it is, and data; a string is shown without quotes. */
async function answerOf(json: string): Promise<ToolResult> {
	const result = await jsonResult(json);
	if (isContent(result.structured)) {
		const read = readContent(result.structured);
		return typeof read === 'string' ? failed(`The result ${read}.`) : read;
	}
	if (typeof result.structured !== 'string') return result;
	return { content: [{ type: 'text', text: result.structured }], structured: result.structured };
}

export const withLogs = (result: ToolResult, logs: string[]): ToolResult =>
	logs.length === 0 ? result : { ...result, logs: logs.map((line) => excerptOf(line, MAX_LINE_CHARS)) };
