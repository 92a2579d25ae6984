// Reads archives of skills: tar.gz and zip, with plain files alone. One entry that is anything else, or would lie outside of its folder, refuses the
// whole archive.

import { gunzipSync, inflateRawSync } from 'node:zlib';
import { UsageError } from '../gateway/address.ts';

/** Contents by path, relative and with `/` between folders. */
export type Files = Map<string, Buffer>;

export const MAX_ARCHIVE_BYTES = 16 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 2000;
const MAX_PATH = 300;
const BLOCK = 512;

class Collected {
	readonly files: Files = new Map();
	#bytes = 0;

	add(path: string, content: Buffer): void {
		assertInside(path);
		this.#bytes += content.length;
		if (this.#bytes > MAX_BYTES || this.files.size >= MAX_FILES) throw refused('has more than 2,000 files or 64 MiB');
		// Two names that are one on the user's disk would write over each other.
		const folded = path.toLowerCase();
		for (const other of this.files.keys()) {
			const one = other.toLowerCase();
			if (one === folded || one.startsWith(`${folded}/`) || folded.startsWith(`${one}/`)) throw refused(`has ${shown(path)} twice`);
		}
		this.files.set(path, content);
	}
}

/** @throws UsageError */
export function readArchive(bytes: Buffer): Files {
	try {
		const files = bytes.readUInt32LE(0) === 0x04034b50 ? readZip(bytes) : readTar(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }));
		if (!files.has('SKILL.md')) throw refused('has no SKILL.md');
		return files;
	} catch (error) {
		if (error instanceof UsageError) throw error;
		throw refused('cannot be read');
	}
}

/** Checks that a path lies inside of the folder, on every system. @throws UsageError */
export function assertInside(path: string): void {
	const isPlain =
		path.length <= MAX_PATH &&
		!/[\\:*?"<>|]/.test(path) &&
		!/\p{Cc}/u.test(path) &&
		path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !/[. ]$/.test(part) && !isDevice(part));
	if (!isPlain) throw refused(`has ${shown(path)}, which is no path inside of its folder`);
}

/** Names that are no files on Windows. */
const isDevice = (part: string): boolean => /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(part);

const shown = (path: string): string => JSON.stringify(path.slice(0, 100));
const refused = (what: string): UsageError => new UsageError(`The archive ${what}: nothing was written.`);

function readTar(tar: Buffer): Files {
	const collected = new Collected();
	for (let at = 0; at + BLOCK <= tar.length; ) {
		const header = tar.subarray(at, at + BLOCK);
		if (header.every((byte) => byte === 0)) break;
		const text = (from: number, length: number): string => header.toString('utf8', from, from + length).replace(/\0.*$/s, '');
		const size = Number.parseInt(text(124, 12).trim() || '0', 8);
		const type = text(156, 1);
		const path = [text(345, 155), text(0, 100)].filter((part) => part !== '').join('/');
		if (!Number.isSafeInteger(size) || size < 0 || at + BLOCK + size > tar.length) throw refused('is cut off');
		const isFolder = type === '5' && path.endsWith('/');
		if (!isFolder && type !== '0' && type !== '') throw refused(`has ${shown(path)}, which is no plain file`);
		if (!isFolder) collected.add(path, Buffer.from(tar.subarray(at + BLOCK, at + BLOCK + size)));
		at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
	}
	return collected.files;
}

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LINK = 0o120000;
const KIND = 0o170000;

/** Reads by the central directory, as installers do. */
function readZip(zip: Buffer): Files {
	const collected = new Collected();
	let end = zip.length - 22;
	while (end >= 0 && zip.readUInt32LE(end) !== END) end -= 1;
	const count = zip.readUInt16LE(end + 10);
	let at = zip.readUInt32LE(end + 16);
	for (let entry = 0; entry < count; entry += 1) {
		if (zip.readUInt32LE(at) !== ENTRY) throw refused('cannot be read');
		const [method, packed, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)];
		const [name, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)];
		const path = zip.toString('utf8', at + 46, at + 46 + name);
		const mode = zip.readUInt32LE(at + 38) >>> 16;
		if ((mode & KIND) === LINK) throw refused(`has ${shown(path)}, which is no plain file`);
		if (!path.endsWith('/')) {
			const local = zip.readUInt32LE(at + 42);
			const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
			const raw = zip.subarray(from, from + packed);
			const content = method === 0 ? Buffer.from(raw) : inflateRawSync(raw, { maxOutputLength: Math.min(size + 1, MAX_BYTES) });
			if (content.length !== size) throw refused('cannot be read');
			collected.add(path, content);
		}
		at += 46 + name + extra + comment;
	}
	return collected.files;
}
