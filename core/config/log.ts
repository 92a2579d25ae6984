// Structured logs on stdout: one line per request, without secrets.

import { type DestinationStream, pino } from 'pino';
import type { Log } from '../contract/nouns.ts';

/** Fields whose values are replaced in every line. */
const SECRET = ['authorization', 'cookie', 'password', 'key', 'secret', 'token', 'api_key', 'apiKey'];

export interface ServiceLog extends Log {
	flush(): void;
}

/** @param destination receives lines of JSON; default: standard output */
export function createLog(level: string, destination: DestinationStream = pino.destination({ dest: 1, sync: false })): ServiceLog {
	const redact = { paths: SECRET.flatMap((name) => [name, `*.${name}`, `headers["${name}"]`]), censor: '[secret]' };
	const logger = pino({ level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
	return {
		debug: (fields, message) => logger.debug(fields, message),
		info: (fields, message) => logger.info(fields, message),
		warn: (fields, message) => logger.warn(fields, message),
		error: (fields, message) => logger.error(fields, message),
		flush: () => logger.flush(),
	};
}
