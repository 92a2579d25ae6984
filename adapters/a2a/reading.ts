// Reads what clients send, in the form of 1.0: each fault names its field.

import { isObject, type Json, type JsonObject, mediaTypeOf } from '../../core/index.ts';
import { A2AError, wrong } from './errors.ts';
import { type Message, type Part, STATES, type TaskState } from './wire.ts';

const MAX_ID_CHARS = 256;
const MAX_PARTS = 100;
const CONTENTS = ['text', 'raw', 'url', 'data'] as const;
/** A date and time of RFC 3339. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** Returns an optional member that must be an object. */
export function objectAt(value: Json | undefined, path: string): JsonObject | null {
	if (value === undefined || value === null) return null;
	if (!isObject(value)) throw wrong(path, `${nameOf(path)} must be an object.`);
	return value;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Returns an optional text; an empty one is none, as in Protocol Buffers. */
export function textAt(value: Json | undefined, path: string, max = MAX_ID_CHARS): string | null {
	if (value === undefined || value === null || value === '') return null;
	if (typeof value !== 'string' || value.length > max) throw wrong(path, `${nameOf(path)} must be a string of at most ${max} characters.`);
	return value;
}

export function neededText(value: Json | undefined, path: string): string {
	const text = textAt(value, path);
	if (text === null) throw wrong(path, `${nameOf(path)} must be a string that is not empty.`);
	return text;
}

export function flagAt(value: Json | undefined, path: string): boolean | null {
	if (value === undefined || value === null) return null;
	if (typeof value !== 'boolean') throw wrong(path, `${nameOf(path)} must be true or false.`);
	return value;
}

/** Returns an optional whole number within bounds. */
export function wholeAt(value: Json | undefined, path: string, { min, max }: { min: number; max: number }): number | null {
	if (value === undefined || value === null) return null;
	if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
	throw wrong(path, `${nameOf(path)} must be a whole number from ${min} to ${max}.`);
}

/** The number of messages that a client wants; null: it does not say. */
export const historyLengthAt = (value: Json | undefined, path: string): number | null =>
	wholeAt(value, path, { min: 0, max: 2_147_483_647 });

export function stateAt(value: Json | undefined, path: string): TaskState | null {
	if (value === undefined || value === null || value === '' || value === 'TASK_STATE_UNSPECIFIED') return null;
	if (typeof value === 'string' && Object.hasOwn(STATES, value)) return value as TaskState;
	throw wrong(path, `${nameOf(path)} must be one of ${Object.keys(STATES).join(', ')}.`);
}

export function timeAt(value: Json | undefined, path: string): Date | null {
	if (value === undefined || value === null || value === '') return null;
	const time = typeof value === 'string' && TIMESTAMP.test(value) ? new Date(value) : null;
	if (time && !Number.isNaN(time.getTime())) return time;
	throw wrong(path, `${nameOf(path)} must be a date and time such as 2026-01-31T12:00:00Z.`);
}

/** @param message `params.message` */
export function readMessage(message: Json | undefined, path: string): Message {
	if (!isObject(message)) throw wrong(path, 'message must be an object.');
	const { role } = message;
	if (role !== 'ROLE_USER') throw wrong(`${path}/role`, 'role must be ROLE_USER.');
	const [contextId, taskId] = [textAt(message.contextId, `${path}/contextId`), textAt(message.taskId, `${path}/taskId`)];
	const metadata = objectAt(message.metadata, `${path}/metadata`);
	const [extensions, referenceTaskIds] = [
		textsAt(message.extensions, `${path}/extensions`),
		textsAt(message.referenceTaskIds, `${path}/referenceTaskIds`),
	];
	return {
		messageId: neededText(message.messageId, `${path}/messageId`),
		...(contextId !== null && { contextId }),
		...(taskId !== null && { taskId }),
		role,
		parts: readParts(message.parts, `${path}/parts`),
		...(metadata && { metadata }),
		...(extensions && { extensions }),
		...(referenceTaskIds && { referenceTaskIds }),
	};
}

function textsAt(value: Json | undefined, path: string): string[] | null {
	if (value === undefined || value === null) return null;
	if (!Array.isArray(value) || value.length > MAX_PARTS)
		throw wrong(path, `${nameOf(path)} must be a list of at most ${MAX_PARTS} strings.`);
	return value.length === 0 ? null : value.map((one, index) => neededText(one, `${path}/${index}`));
}

function readParts(parts: Json | undefined, path: string): Part[] {
	if (!Array.isArray(parts) || parts.length === 0 || parts.length > MAX_PARTS)
		throw wrong(path, `parts must be a list of 1 to ${MAX_PARTS} parts.`);
	return parts.map((part, index) => readPart(part, `${path}/${index}`));
}

function readPart(part: Json, path: string): Part {
	if (!isObject(part)) throw wrong(path, 'A part must be an object.');
	// A null is what is left out, unless it is all that there is: then it is data.
	const filled = CONTENTS.filter((content) => part[content] !== undefined && part[content] !== null);
	const given = filled.length === 0 && part.data === null ? (['data'] as const) : filled;
	const [content] = given;
	if (content === undefined || given.length > 1) throw wrong(path, 'A part must have exactly one of text, raw, url and data.');
	const value = part[content];
	if (content !== 'data' && typeof value !== 'string') throw wrong(`${path}/${content}`, `${content} must be a string.`);
	const [mediaType, filename] = [textAt(part.mediaType, `${path}/mediaType`), textAt(part.filename, `${path}/filename`)];
	const metadata = objectAt(part.metadata, `${path}/metadata`);
	return checked({
		[content]: value,
		...(mediaType !== null && { mediaType }),
		...(filename !== null && { filename }),
		...(metadata && { metadata }),
	});
}

const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json');

/** Refuses media that no skill takes: skills take JSON and text. @throws A2AError */
function checked(part: Part): Part {
	const { text, raw, url, data, mediaType } = part;
	const type = mediaType === undefined ? null : (mediaTypeOf(mediaType) ?? '');
	const fits =
		(data !== undefined && (type === null || isJson(type))) ||
		(text !== undefined && (type === null || isJson(type) || type.startsWith('text/'))) ||
		(raw !== undefined && type !== null && (isJson(type) || type.startsWith('text/')));
	if (fits) return part;
	const given = url === undefined ? (mediaType ?? 'data without a mediaType') : 'a file by its URL';
	throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', `The skills take application/json and text/plain, not ${given.slice(0, 100)}.`);
}
