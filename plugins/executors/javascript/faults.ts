// What went wrong in the user's code, told by the lines of the user's own text.

import { excerptOf } from '../../../core/index.ts';
import { BEFORE, type EngineFault } from './messages.ts';

const PLACE = /^ *at (?:(.*?) )?\(?tool\.js:(\d+):(\d+)\)?$/gm;
const MAX_PLACES = 6;
const MAX_SOURCE_CHARS = 160;
const MAX_MESSAGE_CHARS = 2000;

export interface SyntaxFault {
	line: number;
	column: number;
	message: string;
}

/** Of code that does not compile: where, and what was found there. */
export function syntaxFault({ message, stack }: EngineFault, code: string): SyntaxFault {
	const lines = code.split('\n');
	const [place] = placesOf(stack, lines.length + 1);
	const end = { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
	// It went on to read what stands behind the code.
	if (!place || place.line > lines.length) return { ...end, message: 'the code ends before it is complete' };
	return { line: place.line, column: place.column, message: excerptOf(message, MAX_MESSAGE_CHARS) };
}

/** `TypeError: …`, the line where it happened, and by which calls it came there. */
export function describeFault({ name, message, stack }: EngineFault, code: string): string {
	const lines = code.split('\n');
	const what = `${excerptOf(name, 100)}: ${excerptOf(message, MAX_MESSAGE_CHARS)}`.trimEnd();
	const places = placesOf(stack, lines.length).slice(0, MAX_PLACES);
	return [what, ...places.map((place, index) => describePlace(place, index === 0 ? lines[place.line - 1] : undefined))].join('\n');
}

interface Place {
	caller: string;
	line: number;
	column: number;
}

function placesOf(stack: string, lastLine: number): Place[] {
	return [...stack.matchAll(PLACE)]
		.map(([, caller = '', line, column]) => ({ caller, line: Number(line), column: Number(column) }))
		.filter(({ line }) => line >= 1 && line <= lastLine)
		.map((place) => (place.line === 1 ? { ...place, column: Math.max(1, place.column - BEFORE.length) } : place));
}

function describePlace({ caller, line, column }: Place, source: string | undefined): string {
	const named = /^[\w$.]{1,100}$/.test(caller) ? ` in ${caller}` : '';
	const shown = source === undefined ? '' : `: ${excerptOf(source, MAX_SOURCE_CHARS)}`;
	return `  at line ${line}, column ${column}${named}${shown}`;
}
