// Turns references to other documents into references inside one: the other documents are embedded unchanged under `x-documents`,
// and each reference becomes a pointer. Nothing is expanded, so cycles stay cycles. Names that schemas give themselves (`$id`,
// `$anchor`; JSON Schema 2020-12 core §8.2) become pointers too.

import { createHash } from 'node:crypto';
import { asGatewayError, escapeToken, GatewayError, isObject, type Json, type JsonObject, type Log, quote } from '../../core/index.ts';
import { type Document, readTree, refused, warnOfDropped } from './document.ts';
import type { Library } from './library.ts';
import { lookUp } from './references.ts';

interface Reference {
	holder: JsonObject;
	/** The reference as it is written; `uri` and `fragment` are its two parts. */
	ref: string;
	uri: string;
	fragment: string;
	document: LinkedResource;
	/** The innermost enclosing schema with a URI of its own, or the document. */
	resource: LinkedResource;
	/** The keys from the document to the holder. */
	path: readonly string[];
}

/** A document, or a schema with a URI of its own (a "schema resource"). */
interface LinkedResource {
	/** Base URI of the references in it. */
	base: string;
	/** Its pointer in the root document, without `#`. */
	at: string;
}

/** The references and names of all documents that were read so far. */
interface Links {
	references: Reference[];
	/** Pointers of resources by their address. */
	resources: Map<string, string>;
	/** Pointers of anchors by `<pointer of the resource>#<anchor>`. */
	anchors: Map<string, string>;
	/** Schemas with a `$dynamicRef`, and the pointers of the schemas that each name could mean. */
	dynamic: { holders: JsonObject[]; targets: Map<string, string[]> };
	/** Visited objects: YAML aliases make the same object occur more than once. */
	seen: Set<Json>;
}

const KEY = 'x-documents';
/** Fields whose keys are names that the author chose, not keywords. */
const NAMED = new Set(
	[
		'properties patternProperties dependentSchemas $defs definitions schemas responses parameters requestBodies headers securitySchemes',
		'securityDefinitions links callbacks pathItems paths webhooks content mediaTypes encoding additionalOperations x-ms-paths',
	].flatMap((names) => names.split(' ')),
);
/** Fields that hold plain values, which are not references even if they look like one. */
const LITERALS: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const', 'value']);
const isOwn = (key: string): boolean => key.startsWith('x-');
const isLiteral = (key: string): boolean => LITERALS.has(key) || (isOwn(key) && key !== 'x-ms-paths');

/** Changes the document in place. @throws schema_invalid, egress_refused for references that must not be followed */
export async function linkDocuments({ root, version, isTree = false }: Document, library: Library, log: Log): Promise<void> {
	const links: Links = {
		references: [],
		resources: new Map([[library.home, '']]),
		anchors: new Map(),
		dynamic: { holders: [], targets: new Map() },
		seen: new Set(),
	};
	collect(
		root,
		{ base: selfOf(root, library.home), at: '' },
		{ identifies: version === '3.1' || version === '3.2', isRoot: true, isTree },
		links,
	);
	const found = await readOthers(root, links, library, log);
	for (const reference of links.references) {
		const pointer = locate(reference, found, { root, links, library });
		if (pointer !== null) reference.holder['$ref'] = `#${pointer}`;
	}
	for (const holder of links.dynamic.holders) settle(holder, links);
}

/** Resolves a `$dynamicRef` with a single candidate; else its target depends on the dynamic scope (JSON Schema 2020-12 core §8.2.3.2). */
function settle(holder: JsonObject, { dynamic }: Links): void {
	const [, name = ''] = String(holder['$dynamicRef']).split('#');
	const [only, ...more] = dynamic.targets.get(name) ?? [];
	if (only === undefined || more.length > 0 || holder['$ref'] !== undefined) return;
	holder['$ref'] = `#${only}`;
	delete holder['$dynamicRef'];
}

/** Returns the base URI: `$self` "provides the self-assigned URI of this document, which also serves as its base URI" (3.2 §4.1.1). */
function selfOf(value: Json, address: string): string {
	const self = isObject(value) ? value['$self'] : undefined;
	return (typeof self === 'string' ? withoutFragment(self, address) : null) ?? address;
}

const withoutFragment = (uri: string, base: string): string | null => URL.parse(uri, base)?.href.split('#')[0] ?? null;

interface Dialect {
	/** Whether `$id` and `$anchor` have a meaning in this document. */
	identifies: boolean;
	/** Whether this is the root document, whose top-level extensions are linked only if something refers to them; in others, always. */
	isRoot: boolean;
	/** Whether no object occurs twice in the document. */
	isTree: boolean;
}

function collect(value: Json, document: LinkedResource, { identifies, isRoot, isTree }: Dialect, links: Links): void {
	links.resources.set(document.base, document.at);
	const path: string[] = [];
	const within = (key: string, child: Json, resource: LinkedResource, isNamed: boolean): void => {
		path.push(key);
		walk(child, resource, isNamed);
		path.pop();
	};

	function walk(node: Json, around: LinkedResource, isNamed: boolean): void {
		if (!isNode(node) || links.seen.has(node)) return;
		// In a tree only extensions are reached again, by the references to them.
		if (!isTree || path.length <= 1) links.seen.add(node);
		if (Array.isArray(node)) {
			for (const [index, child] of node.entries()) if (isNode(child)) within(String(index), child, around, false);
			return;
		}
		const resource = isNamed || !identifies ? around : identify(node, { document, around, path }, links);
		const { $ref: ref, $dynamicRef: dynamicRef } = node;
		if (typeof dynamicRef === 'string' && identifies && !isNamed) links.dynamic.holders.push(node);
		if (typeof ref === 'string') {
			const [uri = '', ...fragment] = ref.split('#');
			links.references.push({ holder: node, ref, uri, fragment: fragment.join('#'), document, resource, path: [...path] });
		}
		for (const key in node) {
			const child = node[key] ?? null;
			if (!isNode(child)) continue;
			if (isNamed || !isLiteral(key) || (path.length === 0 && !isRoot && isOwn(key)))
				within(key, child, resource, !isNamed && NAMED.has(key) && isObject(child));
		}
	}

	walk(value, document, false);
	// References that are found during the iteration are visited too.
	for (const { uri, fragment } of isRoot ? links.references : []) {
		const [, key = ''] = fragment.split('/');
		if (uri === '' && isOwn(key) && isObject(value) && Object.hasOwn(value, key)) within(key, value[key] ?? null, document, false);
	}
}

const isNode = (value: Json): value is JsonObject | Json[] => typeof value === 'object' && value !== null;

interface NodePosition {
	document: LinkedResource;
	around: LinkedResource;
	/** Keys from the document to the schema. */
	path: readonly string[];
}

/** Returns the pointer by which a reference would name the value. */
const pointerOf = ({ at }: LinkedResource, path: readonly string[]): string =>
	at + path.map((key) => `/${escapeToken(key).replaceAll('%', '%25')}`).join('');

/** Returns the pointer to the holder of a reference. */
const placeOf = ({ document, path }: Reference): string => pointerOf(document, path);

function identify(node: JsonObject, { document, around, path }: NodePosition, links: Links): LinkedResource {
	const { $id: id, $anchor: anchor, $dynamicAnchor: dynamicAnchor } = node;
	const anchors = [anchor, dynamicAnchor].filter((name) => typeof name === 'string');
	if (anchors.length === 0 && typeof id !== 'string') return around;
	const at = pointerOf(document, path);
	const base = typeof id === 'string' ? withoutFragment(id, around.base) : null;
	const resource = base === null ? around : { base, at };
	if (base !== null && !links.resources.has(base)) links.resources.set(base, at);
	// A plain reference may use either kind of anchor (core §8.2.2).
	for (const name of anchors) links.anchors.set(`${resource.at}#${name}`, at);
	if (typeof dynamicAnchor === 'string') {
		const { targets } = links.dynamic;
		const known = targets.get(dynamicAnchor);
		if (known) known.push(at);
		else targets.set(dynamicAnchor, [at]);
	}
	return resource;
}

/** @returns pointers to the embedded documents, by the address that was requested */
async function readOthers(root: JsonObject, links: Links, library: Library, log: Log): Promise<ReadonlyMap<string, string>> {
	const found = new Map<string, string>();
	const asked = new Set<string>();
	const embedded: JsonObject = {};
	let next = [...links.references];
	for (let depth = 1; next.length > 0; depth++) {
		const known = links.references.length;
		for (const reference of next) {
			const { uri, ref, document } = reference;
			if (uri === '' || isKnown(reference, links)) continue;
			const address = blaming(reference, () => library.resolve(uri, document.base));
			if (asked.has(address) || links.resources.has(address)) continue;
			asked.add(address);
			if (depth > library.maxDepth) {
				const message = `The reference ${quote(ref)} leads through more than ${library.maxDepth} documents: import them as files.`;
				throw refused(message, placeOf(reference));
			}
			const other = await readOther(address, ref, library).catch((error: unknown) => blame(reference, error));
			if ('fault' in other) {
				if (other.fault !== null) log.warn({ pointer: document.at }, `${quote(ref)} could not be read: ${other.fault}.`);
				continue;
			}
			const key = keyOf(other.address, library.home);
			const at = `/${KEY}/${key}`;
			embedded[key] = other.value;
			warnOfDropped(other.dropped, log, at);
			found.set(address, at);
			links.resources.set(other.address, at);
			collect(other.value, { base: selfOf(other.value, other.address), at }, { identifies: true, isRoot: false, isTree: false }, links);
		}
		next = links.references.slice(known);
	}
	if (found.size > 0) root[KEY] = embedded;
	return found;
}

function blaming<T>(reference: Reference, work: () => T): T {
	try {
		return work();
	} catch (error) {
		return blame(reference, error);
	}
}

/** Adds the location of the reference to a refusal. */
function blame(reference: Reference, error: unknown): never {
	const known = asGatewayError(error);
	if (!known || known.details.some(({ path }) => path !== '')) throw error;
	throw new GatewayError(known.code, known.message, { details: [{ path: placeOf(reference), message: known.message }], cause: error });
}

function isKnown({ uri, resource }: Reference, { resources }: Links): boolean {
	const named = withoutFragment(uri, resource.base);
	return named !== null && resources.has(named);
}

async function readOther(
	address: string,
	ref: string,
	library: Library,
): Promise<{ value: Json; dropped: string[]; address: string } | { fault: string | null }> {
	const answer = await library.read(address, ref);
	if ('fault' in answer) return answer;
	try {
		return { ...readTree(answer.text), address: answer.address };
	} catch (error) {
		const known = asGatewayError(error);
		if (known?.code !== 'schema_invalid') throw error;
		return { fault: known.message.replace(/\.$/, '') };
	}
}

/** Returns a key that depends only on where the documents are relative to each other. */
function keyOf(address: string, home: string): string {
	const folder = home.slice(0, home.lastIndexOf('/') + 1);
	const name = address.startsWith(folder) ? address.slice(folder.length) : address;
	const last = name.slice(name.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]+/g, '_');
	return `${last.slice(0, 40)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

interface LinkContext {
	root: JsonObject;
	links: Links;
	library: Library;
}

/** @returns null when the reference is right as it is, or its target was not read */
function locate(reference: Reference, found: ReadonlyMap<string, string>, { root, links, library }: LinkContext): string | null {
	const { uri, fragment, document, resource } = reference;
	const target = uri === '' ? resource.at : targetOf(reference, found, links, library);
	if (target === undefined) return null;
	if (fragment !== '' && !fragment.startsWith('/')) return links.anchors.get(`${target}#${fragment}`) ?? null;
	const pointer = target + fragment;
	if (uri !== '') return pointer === '' ? null : pointer;
	// Many schemas with an `$id` still use pointers that are relative to the whole document.
	const inDocument = target !== document.at && 'fault' in lookUp(root, `#${pointer}`);
	return inDocument ? document.at + fragment : pointer === fragment ? null : pointer;
}

function targetOf({ uri, document, resource }: Reference, found: ReadonlyMap<string, string>, { resources }: Links, library: Library) {
	const named = withoutFragment(uri, resource.base);
	const known = named === null ? undefined : resources.get(named);
	if (known !== undefined) return known;
	const address = library.resolve(uri, document.base);
	return found.get(address) ?? resources.get(address);
}
