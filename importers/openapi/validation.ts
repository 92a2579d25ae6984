// What a validator says of the whole document: advice for the report, never a gate. Real documents fail it and work.

import SwaggerParser from '@apidevtools/swagger-parser';
import type { Log } from '../../core/index.ts';
import type { Document } from './document.ts';
import { cleanText } from './text.ts';

/** Beyond this it takes seconds and says little. */
export const MAX_VALIDATED_CHARS = 10 * 1024 * 1024;
const MAX_WARNINGS = 50;

/** Last of all: the validator expands the document in place. Nothing is read or fetched. */
export async function warnOfFaults({ root }: Document, log: Log): Promise<void> {
	const resolve = { external: false, file: false, http: false } as const;
	try {
		// The library checks the shape itself; that is what it is asked for.
		await SwaggerParser.validate(root as never, { resolve, dereference: { circular: 'ignore' } });
	} catch (error) {
		for (const { pointer, message } of faultsOf(error).slice(0, MAX_WARNINGS)) log.warn({ pointer }, message);
	}
}

/** The validator lists one fault a line, `#/paths/… must …`, under a heading; other faults are one sentence. */
function faultsOf(error: unknown): { pointer: string; message: string }[] {
	const lines = (error instanceof Error ? error.message : String(error)).split('\n').map((line) => line.trim());
	const listed = lines.flatMap((line) => {
		const [, pointer, fault] = /^#(\/\S+) (.+)$/.exec(line) ?? [];
		return pointer && fault ? [{ pointer: cleanText(pointer, 300), message: cleanText(fault, 300) }] : [];
	});
	return listed.length > 0 ? listed : [{ pointer: '', message: cleanText(lines[0] ?? '', 300) }];
}
