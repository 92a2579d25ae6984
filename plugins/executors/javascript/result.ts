// Checks a run's result as text, since parsing a large one would block the main thread.

import { type Ending, LIMITS } from './messages.ts';

/** @param json the text that the sandbox wrote */
export function measure(json: string): Ending {
	if (json === '' || Buffer.byteLength(json) > LIMITS.resultBytes)
		return unusable(`is larger than ${LIMITS.resultBytes / 1024 / 1024} MB of JSON`);
	const { values, depth } = shapeOf(json);
	if (depth > LIMITS.resultDepth) return unusable(`is nested deeper than ${LIMITS.resultDepth} levels`);
	if (values > LIMITS.resultValues) return unusable(`holds more than ${LIMITS.resultValues} values`);
	return { type: 'returned', json };
}

const unusable = (message: string): Ending => ({ type: 'unusable', message });

/** Counts the values, at most, and their depth, without parsing them. */
function shapeOf(json: string): { values: number; depth: number } {
	let [values, depth, level] = [1, 0, 0];
	for (let at = 0; at < json.length; at++) {
		const char = json.charCodeAt(at);
		if (char === 0x22) at = endOfString(json, at);
		else if (char === 0x2c) values++;
		else if (char === 0x5b || char === 0x7b) {
			values++;
			depth = Math.max(depth, ++level);
		} else if (char === 0x5d || char === 0x7d) level--;
	}
	return { values, depth };
}

/** @param start index of the opening quote */
function endOfString(json: string, start: number): number {
	let at = start + 1;
	while (at < json.length && json.charCodeAt(at) !== 0x22) at += json.charCodeAt(at) === 0x5c ? 2 : 1;
	return at;
}
