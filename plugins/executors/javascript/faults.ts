// Describes faults of the user's code by the lines of the user's own text.

import { excerptOf } from '../../../core/index.ts';
import { BEFORE, type EngineFault, LIMITS } from './messages.ts';

const FRAME = /^ *at (?:(.*?) )?\(?tool\.js:(\d+):(\d+)\)?$/gm;
const MAX_FRAMES = 6;
const MAX_SOURCE_CHARS = 160;
const MAX_MESSAGE_CHARS = 2000;
const LINE_BREAK = 0x0a;

export interface SyntaxFault {
	line: number;
	column: number;
	message: string;
}

/** Locates the error in code that does not compile. */
export function syntaxFault({ message, stack }: EngineFault, code: string): SyntaxFault {
	const lastLine = countLines(code);
	const [frame] = framesOf(stack, lastLine + 1);
	const end = { line: lastLine, column: code.length - code.lastIndexOf('\n') };
	// The parser went on to read the wrapper behind the code.
	if (!frame || frame.line > lastLine) return { ...end, message: 'the code ends before it is complete' };
	return { line: frame.line, column: frame.column, message: excerptOf(message, MAX_MESSAGE_CHARS) };
}

/** Writes `TypeError: …`, the line that threw, and the calls that led there. */
export function describeFault({ name, message, stack }: EngineFault, code: string): string {
	const what = `${excerptOf(name, LIMITS.faultNameChars)}: ${excerptOf(message, MAX_MESSAGE_CHARS)}`.trimEnd();
	const frames = framesOf(stack, countLines(code));
	return [what, ...frames.map((frame, index) => describeFrame(frame, index === 0 ? lineOf(code, frame.line) : ''))].join('\n');
}

/** Returns an excerpt of one line. The line is searched for, since a list of all lines would take longer than anything else here. */
export function lineOf(code: string, line: number): string {
	const start = startOf(code, line);
	const end = code.indexOf('\n', start);
	return excerptOf(code.slice(start, end === -1 ? code.length : end), MAX_SOURCE_CHARS);
}

const countLines = (code: string): number => walkLines(code, Number.POSITIVE_INFINITY).line;
const startOf = (code: string, line: number): number => walkLines(code, line).start;

/** @returns the line, or the last one if there are fewer, and the index at which it begins */
function walkLines(code: string, until: number): { line: number; start: number } {
	let [line, start] = [1, 0];
	for (let at = 0; at < code.length && line < until; at++) {
		if (code.charCodeAt(at) !== LINE_BREAK) continue;
		line++;
		start = at + 1;
	}
	return { line, start };
}

interface StackFrame {
	caller: string;
	line: number;
	column: number;
}

/** Finds the first frames that are in the user's text. */
function framesOf(stack: string, lastLine: number): StackFrame[] {
	return stack
		.matchAll(FRAME)
		.map(([, caller = '', line, column]) => ({ caller, line: Number(line), column: Number(column) }))
		.filter(({ line }) => line >= 1 && line <= lastLine)
		.take(MAX_FRAMES)
		.map((frame) => (frame.line === 1 ? { ...frame, column: Math.max(1, frame.column - BEFORE.length) } : frame))
		.toArray();
}

function describeFrame({ caller, line, column }: StackFrame, source: string): string {
	const named = /^[\w$.]{1,100}$/.test(caller) ? ` in ${caller}` : '';
	return `  at line ${line}, column ${column}${named}${source === '' ? '' : `: ${source}`}`;
}
