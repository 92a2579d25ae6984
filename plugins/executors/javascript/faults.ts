// What went wrong in the user's code, told by the lines of the user's own text.

import { excerptOf } from '../../../core/index.ts';
import { BEFORE, type EngineFault, LIMITS } from './messages.ts';

const PLACE = /^ *at (?:(.*?) )?\(?tool\.js:(\d+):(\d+)\)?$/gm;
const MAX_PLACES = 6;
const MAX_SOURCE_CHARS = 160;
const MAX_MESSAGE_CHARS = 2000;
const LINE_BREAK = 0x0a;

export interface SyntaxFault {
	line: number;
	column: number;
	message: string;
}

/** Of code that does not compile: where, and what was found there. */
export function syntaxFault({ message, stack }: EngineFault, code: string): SyntaxFault {
	const lastLine = countLines(code);
	const [place] = placesOf(stack, lastLine + 1);
	const end = { line: lastLine, column: code.length - code.lastIndexOf('\n') };
	// It went on to read what stands behind the code.
	if (!place || place.line > lastLine) return { ...end, message: 'the code ends before it is complete' };
	return { line: place.line, column: place.column, message: excerptOf(message, MAX_MESSAGE_CHARS) };
}

/** `TypeError: …`, the line where it happened, and by which calls it came there. */
export function describeFault({ name, message, stack }: EngineFault, code: string): string {
	const what = `${excerptOf(name, LIMITS.faultNameChars)}: ${excerptOf(message, MAX_MESSAGE_CHARS)}`.trimEnd();
	const places = placesOf(stack, countLines(code));
	return [what, ...places.map((place, index) => describePlace(place, index === 0 ? lineOf(code, place.line) : ''))].join('\n');
}

/** The source of one line, fit to be shown. It is looked for, since a list of all lines would take longer than anything else here. */
export function lineOf(code: string, line: number): string {
	const start = startOf(code, line);
	const end = code.indexOf('\n', start);
	return excerptOf(code.slice(start, end === -1 ? code.length : end), MAX_SOURCE_CHARS);
}

const countLines = (code: string): number => walkLines(code, Number.POSITIVE_INFINITY).line;
const startOf = (code: string, line: number): number => walkLines(code, line).start;

/** @returns the line, or the last one before it, and where it begins */
function walkLines(code: string, until: number): { line: number; start: number } {
	let [line, start] = [1, 0];
	for (let at = 0; at < code.length && line < until; at++) {
		if (code.charCodeAt(at) !== LINE_BREAK) continue;
		line++;
		start = at + 1;
	}
	return { line, start };
}

interface Place {
	caller: string;
	line: number;
	column: number;
}

/** Finds the first places that are lines of the user's. */
function placesOf(stack: string, lastLine: number): Place[] {
	return stack
		.matchAll(PLACE)
		.map(([, caller = '', line, column]) => ({ caller, line: Number(line), column: Number(column) }))
		.filter(({ line }) => line >= 1 && line <= lastLine)
		.take(MAX_PLACES)
		.map((place) => (place.line === 1 ? { ...place, column: Math.max(1, place.column - BEFORE.length) } : place))
		.toArray();
}

function describePlace({ caller, line, column }: Place, source: string): string {
	const named = /^[\w$.]{1,100}$/.test(caller) ? ` in ${caller}` : '';
	return `  at line ${line}, column ${column}${named}${source === '' ? '' : `: ${source}`}`;
}
