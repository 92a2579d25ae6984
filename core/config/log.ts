// Structured logs on stdout: one line per request, without secrets.

import { type DestinationStream, pino } from 'pino';
import type { Log } from '../contract/nouns.ts';
import { HIDDEN, withoutCredentials } from '../telemetry/credentials-hidden.ts';
import { prettyLine } from '../telemetry/pretty-line.ts';

/** Fields whose values are replaced in every line. */
const SECRET = ['authorization', 'cookie', 'password', 'key', 'secret', 'token', 'api_key', 'apiKey'];
export type LogFormat = 'json' | 'pretty';

export interface ServiceLog extends Log {
	flush(): void;
	/** Gives each line to somebody else, too, as JSON; null ends that. */
	tee(sink: ((line: string) => void) | null): void;
}

/** @param destination receives lines of JSON; default: standard output */
export function createLog(
	level: string,
	destination: DestinationStream = pino.destination({ dest: 1, sync: false }),
	format: LogFormat = 'json',
): ServiceLog {
	const redact = { paths: SECRET.flatMap((name) => [name, `*.${name}`, `headers["${name}"]`]), censor: HIDDEN };
	const formatters = { level: (label: string) => ({ level: label }) };
	let sink: ((line: string) => void) | null = null;
	const guarded = {
		write(line: string): void {
			const clean = withoutCredentials(line);
			destination.write(format === 'pretty' ? prettyLine(clean) : clean);
			sink?.(clean);
		},
	};
	const logger = pino({ level, redact, base: null, formatters, timestamp: pino.stdTimeFunctions.isoTime }, guarded);
	return {
		debug: (fields, message) => logger.debug(fields, message),
		info: (fields, message) => logger.info(fields, message),
		warn: (fields, message) => logger.warn(fields, message),
		error: (fields, message) => logger.error(fields, message),
		// Only pino's own destination has it.
		flush: () => (destination as { flush?(done: () => void): void }).flush?.(() => undefined),
		tee: (given) => {
			sink = given;
		},
	};
}
