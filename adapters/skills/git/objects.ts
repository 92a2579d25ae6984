// Objects of git (gitformat-pack, "Object types"), and packs of them.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { TimeSlice } from '../../../core/index.ts';
import { type Files, isExecutable } from '../tar.ts';

const compress = promisify(deflate);

export type ObjectType = 'commit' | 'tree' | 'blob';

export interface GitObject {
	type: ObjectType;
	data: Buffer;
}

/** Objects by their ids: 40 hexadecimal digits. */
export type Objects = Map<string, GitObject>;

const NUMBERS: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3 };
const FOLDER = '40000';
const FIRST_SECOND = 1_577_836_800;

/** Adds an object. @returns its id */
export function put(objects: Objects, type: ObjectType, data: Buffer): string {
	const id = createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex');
	objects.set(id, { type, data });
	return id;
}

/** A folder by names: other folders, and files with their ids and modes. */
type Folder = Map<string, Folder | { id: string; mode: string }>;

/** Adds the files and their folders. @returns the id of the root, and those of the files by path */
export async function putFiles(objects: Objects, files: Files): Promise<{ tree: string; blobs: Record<string, string> }> {
	const slice = new TimeSlice();
	const blobs: Record<string, string> = {};
	const root: Folder = new Map();
	for (const [path, content] of files) {
		const id = put(objects, 'blob', content);
		blobs[path] = id;
		const names = path.split('/');
		const mode = isExecutable(names.slice(2).join('/')) ? '100755' : '100644';
		const name = names.pop() ?? '';
		folderAt(root, names).set(name, { id, mode });
		if (slice.isOverNow) await slice.next();
	}
	return { tree: await putFolder(objects, root, slice), blobs };
}

function folderAt(root: Folder, names: readonly string[]): Folder {
	let folder = root;
	for (const name of names) {
		const found = folder.get(name);
		const next: Folder = found instanceof Map ? found : new Map();
		if (next !== found) folder.set(name, next);
		folder = next;
	}
	return folder;
}

async function putFolder(objects: Objects, folder: Folder, slice: TimeSlice): Promise<string> {
	// "tree entries are sorted by name, as if folders ended with a slash".
	const sortable = ([name, entry]: readonly [string, unknown]): string => (entry instanceof Map ? `${name}/` : name);
	const entries = [...folder].sort((one, other) => (sortable(one) < sortable(other) ? -1 : 1));
	const parts: Buffer[] = [];
	for (const [name, entry] of entries) {
		const isFolder = entry instanceof Map;
		const id = isFolder ? await putFolder(objects, entry, slice) : entry.id;
		parts.push(Buffer.from(`${isFolder ? FOLDER : entry.mode} ${name}\0`), Buffer.from(id, 'hex'));
	}
	if (slice.isOverNow) await slice.next();
	return put(objects, 'tree', Buffer.concat(parts));
}

/** Adds a commit of nobody, whose time is its number: the same tree after the same parent is the same commit everywhere. */
export function putCommit(objects: Objects, { tree, parent, number }: { tree: string; parent: string | null; number: number }): string {
	const by = `Gatehouse <noreply@localhost> ${FIRST_SECOND + number} +0000`;
	const lines = [
		`tree ${tree}`,
		...(parent === null ? [] : [`parent ${parent}`]),
		`author ${by}`,
		`committer ${by}`,
		'',
		'Publish skills',
		'',
	];
	return put(objects, 'commit', Buffer.from(lines.join('\n')));
}

export const treeOf = ({ data }: GitObject): string => data.toString('latin1', 5, 45);

/** Adds the ids of a tree and of all that is in it to `found`, as far as they are not in it. */
export function reach(objects: Objects, id: string, found: Set<string>): void {
	const object = objects.get(id);
	if (!object || found.has(id)) return;
	found.add(id);
	if (object.type !== 'tree') return;
	const { data } = object;
	for (let at = 0; at < data.length; ) {
		const end = data.indexOf(0, at);
		reach(objects, data.toString('hex', end + 1, end + 21), found);
		at = end + 21;
	}
}

/** Writes a pack of whole objects (gitformat-pack, "pack-*.pack files"). */
export async function writePack(objects: readonly GitObject[]): Promise<Buffer> {
	const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0');
	head.writeUInt32BE(objects.length, 8);
	const parts: Buffer[] = [head];
	for (const { type, data } of objects) parts.push(entryHead(NUMBERS[type], data.length), await compress(data));
	const pack = Buffer.concat(parts);
	return Buffer.concat([pack, createHash('sha1').update(pack).digest()]);
}

/** The type, and the size in groups of bits, the lowest first. */
function entryHead(type: number, size: number): Buffer {
	const bytes: number[] = [];
	let byte = (type << 4) | (size & 15);
	for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
		bytes.push(byte | 128);
		byte = rest & 127;
	}
	return Buffer.from([...bytes, byte]);
}
