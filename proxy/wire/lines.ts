// Lines of a stream of bytes, one message each. A line that is too long is left out as a whole, and told.

/** The most bytes of a line: a message with a large file in it. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

const NEWLINE = 0x0a;

export interface LineReader {
	take(chunk: Buffer): void;
}

/** Makes a reader that gives each line to `onLine`; empty lines are left out. */
export function readLines(onLine: (line: string) => void, onTooLong: () => void, maxBytes = MAX_LINE_BYTES): LineReader {
	let parts: Buffer[] = [];
	let bytes = 0;
	let isTooLong = false;
	const keep = (part: Buffer): void => {
		bytes += part.length;
		if (bytes > maxBytes) {
			isTooLong = true;
			parts = [];
		} else if (!isTooLong) parts.push(part);
	};
	const finish = (): void => {
		const line = isTooLong ? '' : Buffer.concat(parts).toString('utf8').trim();
		const wasTooLong = isTooLong;
		parts = [];
		bytes = 0;
		isTooLong = false;
		if (wasTooLong) onTooLong();
		else if (line !== '') onLine(line);
	};
	return {
		take(chunk) {
			let from = 0;
			for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
				keep(chunk.subarray(from, at));
				finish();
				from = at + 1;
			}
			if (from < chunk.length) keep(chunk.subarray(from));
		},
	};
}
