// Writes and reads tar archives (POSIX.1-1988, "ustar"): the same files always give the same bytes.

const BLOCK = 512;
const MAX_NAME = 100;
const MAX_PREFIX = 155;

/** Contents by path, relative and with `/` between folders. */
export type Files = ReadonlyMap<string, Buffer>;

/** Returns the archive with all files in the order of their paths, of no time and of nobody; scripts are executable. */
export function writeTar(files: Files): Buffer {
	const parts: Buffer[] = [];
	for (const [path, content] of inOrder(files)) {
		parts.push(header(path, content.length), content);
		const rest = content.length % BLOCK;
		if (rest > 0) parts.push(Buffer.alloc(BLOCK - rest));
	}
	return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

/** Sorts by code units, as `git` and every replica does, whatever the locale. */
export const inOrder = (files: Files): [string, Buffer][] => [...files].sort(([a], [b]) => (a < b ? -1 : 1));

export const isExecutable = (path: string): boolean => path.startsWith('scripts/');

/** Whether the format has room for a path: a name of 100 bytes, with 155 bytes of folders before it. */
export const fitsTar = (path: string): boolean => splitPath(path) !== null;

function splitPath(path: string): { name: string; prefix: string } | null {
	if (Buffer.byteLength(path) <= MAX_NAME) return { name: path, prefix: '' };
	for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
		const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
		if (Buffer.byteLength(name) <= MAX_NAME && Buffer.byteLength(prefix) <= MAX_PREFIX) return { name, prefix };
	}
	return null;
}

function header(path: string, size: number): Buffer {
	const split = splitPath(path);
	if (!split) throw new RangeError(`The path ${path} does not fit into a tar archive.`);
	const block = Buffer.alloc(BLOCK);
	block.write(split.name, 0);
	block.write(isExecutable(path) ? '0000755\0' : '0000644\0', 100);
	block.write('0000000\0', 108);
	block.write('0000000\0', 116);
	block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
	block.write('00000000000\0', 136);
	block.write('        ', 148);
	block.write('0', 156);
	block.write('ustar\u000000', 257);
	block.write(split.prefix, 345);
	const sum = block.reduce((total, byte) => total + byte, 0);
	block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
	return block;
}

/** Returns a copy of one file of an archive that `writeTar` wrote; null when it has none at this path. */
export function readFromTar(tar: Buffer, path: string): Buffer | null {
	for (let at = 0; at + BLOCK <= tar.length; ) {
		const name = textAt(tar, at, MAX_NAME);
		if (name === '') return null;
		const prefix = textAt(tar, at + 345, MAX_PREFIX);
		const size = Number.parseInt(textAt(tar, at + 124, 12), 8);
		const start = at + BLOCK;
		if ((prefix === '' ? name : `${prefix}/${name}`) === path) return Buffer.from(tar.subarray(start, start + size));
		at = start + Math.ceil(size / BLOCK) * BLOCK;
	}
	return null;
}

function textAt(bytes: Buffer, start: number, length: number): string {
	const end = bytes.indexOf(0, start);
	return bytes.toString('utf8', start, end === -1 || end > start + length ? start + length : end);
}
