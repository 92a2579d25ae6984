// Texts of others inside documents of ours: what an API or a tenant says of a tool stays a quotation, and cannot become a heading, the end of a
// code block or of the head of a document.

import { cleanText, type Json } from '../../../core/index.ts';

/** Characters that begin something in Markdown inside a line. */
const MARKS = /[\\`*_[\]<>|#~]/g;

/** Returns a text as one line of plain Markdown. */
export const inline = (text: string, maxChars: number): string => escaped(oneLine(text, maxChars));

/** Returns a text as one line without marks, for fields that are not Markdown. */
export const oneLine = (text: string, maxChars: number): string => cleanText(text.replace(/\s+/g, ' '), maxChars).replace(/[<>]/g, '');

const escaped = (line: string): string => line.replace(MARKS, (mark) => `\\${mark}`);

/** Returns a text as a quotation: each of its lines is marked, so that it ends where we say. */
export function quotation(text: string, maxChars: number): string {
	const lines = cleanText(text, maxChars).split('\n');
	return lines.map((line) => `> ${line}`.trimEnd()).join('\n');
}

/** Returns a code block, with a fence that the code does not have. */
export function codeBlock(language: string, code: string): string {
	const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
	const fence = '`'.repeat(longest + 1);
	return `${fence}${language}\n${code}\n${fence}`;
}

/** Control and formatting characters, which a reader does not see and JSON allows. */
const UNSEEN = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Writes JSON in which every character is seen: the others are escaped. */
export const jsonText = (value: Json, indent = 0): string =>
	JSON.stringify(value, null, indent).replace(UNSEEN, (unseen) =>
		Array.from({ length: unseen.length }, (_, at) => `\\u${unseen.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
	);
