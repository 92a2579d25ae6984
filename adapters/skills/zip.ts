// Writes zip archives (APPNOTE 6.3) of no time: the same files always give the same bytes.

import { promisify } from 'node:util';
import { crc32, deflateRaw } from 'node:zlib';
import { type Files, inOrder, isExecutable } from './tar.ts';

const compress = promisify(deflateRaw);
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
/** 1980-01-01, the earliest date of the format. */
const DATE = 0x21;
/** "UTF-8 encoding" of names. */
const UTF8 = 0x800;
const DEFLATED = 8;
const MADE_BY_UNIX = 0x314;

export async function writeZip(files: Files): Promise<Buffer> {
	const parts: Buffer[] = [];
	const central: Buffer[] = [];
	let offset = 0;
	for (const [path, content] of inOrder(files)) {
		const name = Buffer.from(path);
		const body = await compress(content, { level: 9 });
		const shared = sharedFields(content, body, name);
		const local = Buffer.concat([uint32(LOCAL), shared, name]);
		const mode = isExecutable(path) ? 0o100755 : 0o100644;
		// Comment, disk and internal attributes are empty.
		const place = Buffer.concat([Buffer.alloc(6), uint32((mode << 16) >>> 0), uint32(offset)]);
		central.push(Buffer.concat([uint32(CENTRAL), uint16(MADE_BY_UNIX), shared, place, name]));
		parts.push(local, body);
		offset += local.length + body.length;
	}
	const directory = Buffer.concat(central);
	const counts = Buffer.concat([uint16(files.size), uint16(files.size), uint32(directory.length), uint32(offset), uint16(0)]);
	return Buffer.concat([...parts, directory, uint32(END), Buffer.alloc(4), counts]);
}

/** The fields that a file has at its beginning and in the directory. */
function sharedFields(content: Buffer, body: Buffer, name: Buffer): Buffer {
	return Buffer.concat([
		...[uint16(20), uint16(UTF8), uint16(DEFLATED), uint16(0), uint16(DATE)],
		...[uint32(crc32(content)), uint32(body.length), uint32(content.length), uint16(name.length), uint16(0)],
	]);
}

function uint16(value: number): Buffer {
	const bytes = Buffer.alloc(2);
	bytes.writeUInt16LE(value);
	return bytes;
}

function uint32(value: number): Buffer {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value);
	return bytes;
}
