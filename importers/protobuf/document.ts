// Reads the types of an upload: one .proto, several that import each other, or descriptor sets. Imports that are not in it are taken
// from the well-known and the bundled files; nothing is read from disk or network.

import { clone, create, createFileRegistry, type DescFile, type FileRegistry } from '@bufbuild/protobuf';
import { Edition, type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { cleanText, type GatewayError, type Log, quote, type SchemaSource } from '../../core/index.ts';
import { createBundle, wellKnownAt } from './bundled-files.ts';
import { checkExtensions, checkFile, findAmbiguous } from './check.ts';
import { commentsOf } from './comments.ts';
import { readDescriptorSet } from './descriptor-sets.ts';
import { isDescriptorSet } from './detect.ts';
import { refused } from './fault.ts';
import { checkImport, checkSize, createFinder, decode } from './files.ts';
import { listSymbols, resolveReferences, type Unresolved } from './references.ts';
import { parseText } from './text.ts';

export interface Description {
	registry: FileRegistry;
	/** Registry with the options that describe a method or field. */
	options: FileRegistry;
	/** The uploaded files, or the one named as `entry`, in the order of paths. */
	files: DescFile[];
	/** Comments by full name. */
	comments: ReadonlyMap<string, string>;
	/** Faults of messages, extensions and methods that use an undefined type, and of messages with ambiguous fields, by full name. */
	unresolved: ReadonlyMap<string, GatewayError>;
	format: string;
}

/** Path of a single text that was uploaded without a name. */
const ONLY = 'schema.proto';
const MAX_NAMED = 10;
const MAX_CHAIN = 200;

interface Loading {
	/** The uploaded files, not yet read: texts or compiled files. */
	given: Map<string, string | FileDescriptorProto>;
	find: (wanted: string, from: string) => string | null;
	bundle: FileRegistry;
	comments: Map<string, string>;
	read: Map<string, FileDescriptorProto>;
	/** Loaded files, each after its imports. */
	done: Map<string, FileDescriptorProto>;
	open: Set<string>;
	missing: Map<string, string[]>;
}

/** Reads an upload; with an `entry`, only the services of that file. @throws schema_invalid naming the file */
export function readDescription(source: Handed, log: Log): Description {
	checkSize(source.files);
	const { given, copies } = uploaded(source);
	if (given.size === 0) throw refused('There is neither a .proto file nor a descriptor set to read.');
	const paths = [...given.keys()].sort();
	const roots = paths.filter(rootsOf(source, copies));
	const bundle = createBundle();
	const loading: Loading = {
		given,
		find: finderOf(paths, copies),
		bundle,
		comments: new Map(),
		read: new Map(),
		done: new Map(),
		open: new Set(),
		missing: new Map(),
	};
	// Files that no service needs are ignored: uploads have tests and examples that define one name twice.
	for (const path of roots) if (read(path, loading).service.length > 0) load(path, loading);
	const { registry, unresolved, needed } = link(loading);
	checkExtensions(registry);
	for (const [name, fault] of findAmbiguous(registry)) if (!unresolved.has(name)) unresolved.set(name, fault);
	warnOfMissing(loading.missing, needed, log);
	const files = roots.map((path) => registry.getFile(path)).filter((file) => file !== undefined);
	return { registry, options: bundle, files, comments: loading.comments, unresolved, format: formatOf(files) };
}

type Handed = Pick<SchemaSource, 'text' | 'files'> & Partial<Pick<SchemaSource, 'path'>>;

interface Uploaded {
	given: Loading['given'];
	/** Path of the first file with the same text, by path: many uploads have one file twice. */
	copies: Map<string, string>;
}

function uploaded({ text, files, path: entry }: Handed): Uploaded {
	const given: Loading['given'] = new Map();
	const copies: Uploaded['copies'] = new Map();
	const texts = new Map<string, string>();
	const add = (path: string, one: string | FileDescriptorProto): void => {
		const first = typeof one === 'string' ? texts.get(one) : undefined;
		if (first !== undefined) copies.set(path, first);
		else given.set(path, one);
		if (typeof one === 'string') texts.set(one, first ?? path);
	};
	const addSet = (bytes: Uint8Array, path: string): void => {
		for (const file of readDescriptorSet(bytes, path)) if (!given.has(file.name)) add(file.name, file);
	};
	if (files.size === 0) {
		const bytes = Buffer.from(text);
		if (isDescriptorSet(bytes)) addSet(bytes, '');
		else if (text.trim() !== '') add(ONLY, withoutMark(text));
	}
	for (const [path, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
		if (path.endsWith('.proto') || (path === entry && !isDescriptorSet(bytes))) add(path, withoutMark(decode(path, bytes)));
		else if (isDescriptorSet(bytes)) addSet(bytes, path);
	}
	return { given, copies };
}

/** Selects the files to import. A descriptor set named as `entry` holds many files, all of which are meant. */
function rootsOf({ path: entry = null, files }: Handed, copies: Uploaded['copies']): (path: string) => boolean {
	if (entry === null || isDescriptorSet(files.get(entry) ?? new Uint8Array())) return () => true;
	return (path) => path === (copies.get(entry) ?? entry);
}

function finderOf(paths: readonly string[], copies: Uploaded['copies']): Loading['find'] {
	const find = createFinder([...paths, ...copies.keys()]);
	return (wanted, from) => {
		const found = find(wanted, from);
		return found === null ? null : (copies.get(found) ?? found);
	};
}

const withoutMark = (text: string): string => text.replace(/^\ufeff/, '');

/** Loads a file after its imports. @throws schema_invalid for cycles, imports from outside the upload, and invalid files */
function load(path: string, loading: Loading): void {
	const { open, done } = loading;
	if (done.has(path)) return;
	if (open.has(path)) throw refused(`${quote(path)} imports itself, by way of ${[...open].slice(-3).map(quote).join(', ')}.`, path);
	if (open.size >= MAX_CHAIN) throw refused(`${quote(path)} is imported by way of more than ${MAX_CHAIN} other files.`, path);
	open.add(path);
	const file = read(path, loading);
	checkFile(file);
	file.dependency = file.dependency.map((wanted) => locate(wanted, path, loading)).filter((found) => found !== null);
	open.delete(path);
	done.set(path, file);
}

function read(path: string, { given, bundle, comments, read: known }: Loading): FileDescriptorProto {
	const before = known.get(path);
	if (before) return before;
	const one = given.get(path) ?? '';
	const { file, comments: found } = typeof one === 'string' ? parseText(path, one, bundle) : { file: one, comments: commentsOf(one) };
	for (const [name, comment] of found) comments.set(name, comment);
	known.set(path, file);
	return file;
}

/** @returns the path of the imported file; null if it is missing */
function locate(wanted: string, from: string, loading: Loading): string | null {
	checkImport(wanted, from);
	const known = wellKnownAt(wanted);
	if (known) return adopt(known, loading);
	const own = loading.find(wanted, from);
	if (own !== null) {
		load(own, loading);
		return own;
	}
	const bundled = loading.bundle.getFile(wanted);
	if (bundled) return adopt(bundled, loading);
	loading.missing.set(from, [...(loading.missing.get(from) ?? []), wanted]);
	return null;
}

/** Takes a bundled file; of the files that it imports, the upload may have its own copies, which are taken before the bundled ones. */
function adopt({ proto }: DescFile, loading: Loading): string {
	const { name } = proto;
	if (loading.done.has(name)) return name;
	const dependency = proto.dependency.map((wanted) => locate(wanted, name, loading)).filter((found) => found !== null);
	loading.done.set(name, Object.assign(clone(FileDescriptorProtoSchema, proto), { dependency }));
	return name;
}

interface Linked {
	registry: FileRegistry;
	unresolved: Unresolved;
	/** Missing imports of files that use undefined types. */
	needed: Set<string>;
}

function link({ done, given, missing }: Loading): Linked {
	const files = [...done.values()];
	const symbols = listSymbols(files);
	const unresolved: Unresolved = new Map();
	const needed = new Set<string>();
	const linked = new Set<string>();
	for (const [path, file] of done) {
		const wanted = missing.get(path) ?? [];
		const found = given.has(path) ? resolveReferences(file, symbols, wanted, linked) : [];
		linked.add(path);
		for (const [name, fault] of found) {
			unresolved.set(name, fault);
			for (const one of wanted) needed.add(one);
		}
	}
	try {
		return { registry: createFileRegistry(create(FileDescriptorSetSchema, { file: files })), unresolved, needed };
	} catch (error) {
		throw refused(`The types cannot be linked: ${cleanText(error instanceof Error ? error.message : String(error), 300)}.`);
	}
}

/** Warns of missing imports. One that no type needs was imported for its options only. */
function warnOfMissing(missing: ReadonlyMap<string, string[]>, needed: ReadonlySet<string>, log: Log): void {
	const wanted = [...new Set([...missing.values()].flat())];
	for (const path of wanted.slice(0, MAX_NAMED)) {
		const loss = needed.has(path) ? 'methods that need its types are skipped' : 'its options are ignored';
		log.warn({ pointer: path }, `${quote(path)} is missing, and ${loss}.`);
	}
	if (wanted.length > MAX_NAMED) log.warn({}, `${wanted.length - MAX_NAMED} more imports are missing.`);
}

function formatOf(files: readonly DescFile[]): string {
	const names = new Set(
		files.map(({ proto }) =>
			proto.syntax === 'editions' ? `edition ${Edition[proto.edition]?.replace('EDITION_', '')}` : proto.syntax || 'proto2',
		),
	);
	return `protobuf ${[...names].sort().join(', ')}`;
}
