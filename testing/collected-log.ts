// A log that keeps its lines.

import type { Log } from '../core/contract/nouns.ts';

/** A line of the log. */
export interface LogLine {
	level: keyof Log;
	fields: object;
	message: string;
}

/** Returns a log that adds each line to `lines`. */
export function logInto(lines: LogLine[]): Log {
	const at =
		(level: keyof Log) =>
		(fields: object, message: string): void =>
			void lines.push({ level, fields, message });
	return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
