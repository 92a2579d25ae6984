// Several files that are sent together: as a map of paths, or as a zip. All their claims are checked: paths, sizes and contents.

import { Unzip, UnzipInflate, UnzipPassThrough, unzipSync } from 'fflate';
import { type ErrorDetail, GatewayError } from '../contract/errors.ts';
import { pointerToken } from '../kit/json-pointer.ts';

export type Files = Map<string, Uint8Array>;

/** The files as they stand in a body: contents by path, or a zip in base64. */
export type FilesInput = string | Record<string, string | { base64: string }>;

const MAX_FILES = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_PATH_CHARS = 500;
const MAX_FOLDERS = 50;
/** Bytes that are inflated between two checks of the size: deflate expands them at most a thousandfold. */
const CHUNK_BYTES = 8 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** @throws validation_failed naming the file */
export function readFiles(input: FilesInput): Files {
	if (typeof input === 'string') return unzip(decodeBase64(input, '/files'), '/files');
	const files: Files = new Map();
	let sizeBytes = 0;
	for (const [path, content] of Object.entries(input)) {
		const at = `/files/${pointerToken(path, 200)}`;
		checkPath(path, at);
		const bytes = typeof content === 'string' ? Buffer.from(content) : decodeBase64(content.base64, at);
		sizeBytes += bytes.byteLength;
		if (sizeBytes > MAX_BYTES) throw refused('/files', tooMuch);
		files.set(path, bytes);
	}
	return files;
}

/** The first bytes of a zip: the mark of its first entry, or of its end when it has no entries. */
const ZIP_MARKS = [Buffer.from('504b0304', 'hex'), Buffer.from('504b0506', 'hex')];
export const isZip = (bytes: Uint8Array): boolean => ZIP_MARKS.some((mark) => mark.equals(bytes.subarray(0, 4)));

/**
 * Unpacks a zip. Its contents must match its directory, so that no other program reads it differently.
 * @param at JSON pointer of the field that holds the zip. @throws validation_failed
 */
export function unzip(bytes: Uint8Array, at: string): Files {
	const listed = readDirectory(bytes, at);
	const files = inflate(bytes, listed, at);
	const missing = [...listed.keys()].find((path) => !files.has(path));
	if (missing !== undefined) throw refused(at, `The zip’s directory names ${shown(missing)}, which is not in it.`);
	// macOS adds these to the zips of its users.
	for (const path of files.keys()) if (/^__MACOSX\/|(?:^|\/)\.DS_Store$/.test(path)) files.delete(path);
	if (files.size === 0) throw refused(at, 'The zip holds no files.');
	return files;
}

/** Reads the sizes by path; folders are left out. */
function readDirectory(bytes: Uint8Array, at: string): Map<string, number> {
	const sizes = new Map<string, number>();
	let sum = 0;
	const note = ({ name, originalSize, compression }: { name: string; originalSize: number; compression: number }): false => {
		if (isFolder(name)) return false;
		checkPath(name, at);
		if (sizes.has(name)) throw refused(at, `The zip holds ${shown(name)} twice.`);
		if (sizes.size >= MAX_FILES) throw refused(at, `The zip holds more than ${MAX_FILES} files.`);
		if (compression !== 0 && compression !== 8)
			throw refused(at, `${shown(name)} is compressed by an unsupported method: only deflate is read.`);
		sum += originalSize;
		if (sum > MAX_BYTES) throw refused(at, tooMuch);
		sizes.set(name, originalSize);
		return false;
	};
	guarded(at, () => unzipSync(bytes, { filter: note }));
	return sizes;
}

function inflate(bytes: Uint8Array, listed: ReadonlyMap<string, number>, at: string): Files {
	const files: Files = new Map();
	let left = MAX_BYTES;
	const zip = new Unzip((file) => {
		if (isFolder(file.name)) return;
		const size = listed.get(file.name);
		if (size === undefined || files.has(file.name))
			throw refused(at, `The zip holds ${shown(file.name)}, which its directory does not name.`);
		const chunks: Uint8Array[] = [];
		let sizeBytes = 0;
		files.set(file.name, new Uint8Array());
		file.ondata = (error, chunk, final) => {
			// Errors thrown in this callback are passed to it again.
			if (error) throw error instanceof GatewayError ? error : refused(at, `${shown(file.name)} cannot be unpacked.`);
			sizeBytes += chunk.byteLength;
			left -= chunk.byteLength;
			if (sizeBytes > size || left < 0) throw refused(at, `${shown(file.name)} is larger than the zip’s directory says.`);
			chunks.push(chunk);
			if (!final) return;
			if (sizeBytes < size) throw refused(at, `${shown(file.name)} is smaller than the zip’s directory says.`);
			files.set(file.name, Buffer.concat(chunks));
		};
		file.start();
	});
	zip.register(UnzipInflate);
	zip.register(UnzipPassThrough);
	guarded(at, () => {
		for (let from = 0; from < bytes.byteLength; from += CHUNK_BYTES)
			zip.push(bytes.subarray(from, from + CHUNK_BYTES), from + CHUNK_BYTES >= bytes.byteLength);
	});
	const cut = [...files].find(([path, content]) => content.byteLength !== listed.get(path));
	if (cut) throw refused(at, `${shown(cut[0])} is not complete.`);
	return files;
}

/** Turns any error of the library into a refusal. */
function guarded(at: string, read: () => unknown): void {
	try {
		read();
	} catch (error) {
		if (error instanceof GatewayError) throw error;
		throw refused(at, 'The zip cannot be read: it is damaged, encrypted or not a zip.');
	}
}

function checkPath(path: string, at: string): void {
	const fault = pathFault(path);
	if (fault !== null) throw refused(at, `${shown(path)} is not a valid file path: ${fault}.`);
}

function pathFault(path: string): string | null {
	if (path === '' || path.length > MAX_PATH_CHARS) return `it must have 1 to ${MAX_PATH_CHARS} characters`;
	if (/[\p{Cc}\\]/u.test(path) || !path.isWellFormed()) return 'it must not hold backslashes or control characters';
	if (/^(?:\/|[A-Za-z][A-Za-z0-9+.-]*:)/.test(path)) return 'it must be relative';
	const folders = path.split('/');
	if (folders.length > MAX_FOLDERS) return `it must not have more than ${MAX_FOLDERS} folders`;
	return folders.some((folder) => /^\.{0,2}$/.test(folder)) ? 'it must not hold empty, "." or ".." folders' : null;
}

const isFolder = (path: string): boolean => path.endsWith('/');

function decodeBase64(text: string, at: string): Buffer {
	if (!BASE64.test(text)) throw refused(at, `${at} must be base64.`);
	return Buffer.from(text, 'base64');
}

const tooMuch = `The files are larger than ${MAX_BYTES / 1024 / 1024} MiB together.`;
const shown = (path: string): string => JSON.stringify(path.length > 100 ? `${path.slice(0, 99)}…` : path);

function refused(path: string, message: string): GatewayError {
	const details: ErrorDetail[] = [{ path, message }];
	return new GatewayError('validation_failed', message, { details });
}
