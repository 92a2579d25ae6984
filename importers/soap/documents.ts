// Loads the document and all that it imports: from the files that came with it, or through the guard from where it was fetched.
// Nothing else is read. A missing document is a warning here, and a loss in the operations that need it.

import { decodeXml, GatewayError, type ImportContext, parseXml, quote, type SchemaSource, type XmlElement } from '../../core/index.ts';
import { detect } from './detect.ts';
import { MAX_CHARS, readLocation, resolveLocation, schemaFiles, withoutLateDeclaration } from './locations.ts';
import { isWellKnown, isXsd, tokenOf, WSDL, WSDL_2 } from './names.ts';

const MAX_DOCUMENTS = 50;
const MAX_IMPORT_DEPTH = 5;
/** Real schemas nest their elements about twenty levels deep. */
const BOUNDS = { maxDepth: 100, maxNodes: 1_000_000 };

/** A schema of the set, with the namespace that it takes on if it is included. */
export interface SchemaDocument {
	root: XmlElement;
	targetNamespace: string;
}

export interface DocumentSet {
	definitions: XmlElement[];
	schemas: SchemaDocument[];
	/** Definitions that replace those of a redefined document, from the innermost to the outermost. */
	redefinitions: (SchemaDocument & { definitions: XmlElement[] })[];
	/** The root of the first document. */
	root: XmlElement;
}

/** A document's text; `at` is its path among the files, or its URL. */
interface Located {
	at: string | null;
	text: string;
}

interface Loading {
	source: SchemaSource;
	context: ImportContext;
	set: DocumentSet;
	/** Paths of schemas among the files, by namespace. */
	schemaFiles: ReadonlyMap<string, string[]>;
	/** References to follow, the nearest first, so that a document's depth is that of its shortest path. */
	references: Reference[];
	/** Locations of WSDL documents, and those of schemas with the namespace under which they were read. */
	seen: Set<string>;
	count: number;
	chars: number;
}

interface Reference {
	element: XmlElement;
	location: string;
	/** Resolved location, if it is known already. */
	target?: string;
	/** Location of the document that holds the reference. */
	at: string | null;
	depth: number;
	/** The namespace that an included schema takes on if it has none; null for imports. */
	included: string | null;
}

/** @throws schema_invalid naming line and column, or the kind of document that it is instead */
export async function loadDocuments(given: SchemaSource, context: ImportContext): Promise<DocumentSet> {
	const source = fromBytes(given);
	const first = firstDocuments(source);
	const [main] = first;
	if (!main) throw refused('None of the files is a WSDL document.');
	const root = read(main.text, null);
	checkRoot(root);
	const set: DocumentSet = { definitions: [], schemas: [], redefinitions: [], root };
	const known = schemaFiles(source.files);
	const loading: Loading = { source, context, set, schemaFiles: known, references: [], seen: new Set(), count: 0, chars: 0 };
	for (const located of first) addDefinitions(located === main ? root : read(located.text, located.at), located.at, 0, loading);
	// The list grows during the iteration.
	for (const reference of loading.references) await follow(reference, loading);
	return set;
}

/** Finds the documents to start from: the named one, else every WSDL 1.1, else every other. @throws schema_invalid if there are too many */
function firstDocuments({ text, url, path, files }: SchemaSource): Located[] {
	if (text.trim() !== '' || files.size === 0) return [{ at: path ?? url, text }];
	const named = path === null ? undefined : files.get(path);
	if (named) return [{ at: path, text: decodeXml(named) }];
	const known = [...files]
		.map(([at, bytes]) => ({ at, text: decodeXml(bytes) }))
		.map((document) => ({ ...document, sureness: detect(document.text) }))
		.toSorted((a, b) => (a.at < b.at ? -1 : 1));
	const best = Math.max(...known.map(({ sureness }) => sureness));
	const found = known.filter(({ sureness }) => sureness > 0 && sureness === best);
	if (found.length > MAX_DOCUMENTS)
		throw refused(`${found.length} of the files are WSDL documents, ${MAX_DOCUMENTS} are read: name one as "entry".`);
	return found;
}

/** Decodes a fetched document that is not UTF-8, and so came as the bytes of a single file; its imports are resolved against its URL. */
function fromBytes(source: SchemaSource): SchemaSource {
	const [only, ...more] = source.files.values();
	if (source.url === null || source.text !== '' || !only || more.length > 0) return source;
	return { text: decodeXml(only), url: source.url, path: null, files: new Map() };
}

function read(text: string, at: string | null): XmlElement {
	if (text.length > MAX_CHARS) throw refused(`The document is longer than ${MAX_CHARS} characters.`);
	try {
		return parseXml(withoutLateDeclaration(text), BOUNDS);
	} catch (cause) {
		const name = at === null ? 'The document' : `${quote(at)}`;
		throw refused(`${name} cannot be read: ${cause instanceof Error ? cause.message.slice(0, 300) : ''}`);
	}
}

function checkRoot(root: XmlElement): void {
	if (root.uri === WSDL && root.local === 'definitions') return;
	if (root.uri === WSDL_2) throw refused('The document is WSDL 2.0, only WSDL 1.1 is read.');
	throw refused(`The document is not WSDL: its root is ${quote(root.local)}, not "definitions" of ${WSDL}.`);
}

function addDefinitions(root: XmlElement, at: string | null, depth: number, loading: Loading): void {
	if (at !== null && loading.seen.has(at)) return;
	if (at !== null) loading.seen.add(at);
	loading.set.definitions.push(root);
	for (const child of root.children) {
		if (child.uri !== WSDL) continue;
		const location = child.local === 'import' ? tokenOf(child, 'location') : null;
		if (location !== null) loading.references.push({ element: child, location, at, depth, included: null });
		if (child.local !== 'types') continue;
		for (const schema of child.children) if (isXsd(schema, 'schema')) addSchema(schema, { at, depth, included: null }, loading);
	}
}

function addSchema(root: XmlElement, { at, depth, included }: Pick<Reference, 'at' | 'depth' | 'included'>, loading: Loading): void {
	const own = tokenOf(root, 'targetNamespace');
	const targetNamespace = own ?? included ?? '';
	// In an included schema without a namespace, names without a prefix are in the namespace that it takes on (Part 1, §4.2.1).
	if (own === null && targetNamespace !== '' && root.scope) root.scope.prefixes = { '': targetNamespace, ...root.scope.prefixes };
	loading.set.schemas.push({ root, targetNamespace });
	for (const child of root.children) {
		if (!isXsd(child, 'import', 'include', 'redefine')) continue;
		const location = tokenOf(child, 'schemaLocation');
		const within = child.local === 'import' ? null : targetNamespace;
		if (location !== null) loading.references.push({ element: child, location, at, depth, included: within });
		const unlocated = location === null && within === null ? (loading.schemaFiles.get(tokenOf(child, 'namespace') ?? '') ?? []) : [];
		for (const target of unlocated) loading.references.push({ element: child, location: target, target, at, depth, included: null });
		// Redefinitions found later are nearer to the original.
		if (child.local === 'redefine') loading.set.redefinitions.unshift({ root, targetNamespace, definitions: child.children });
	}
}

async function follow(reference: Reference, loading: Loading): Promise<void> {
	const { element, location, at, depth, included } = reference;
	const target = reference.target ?? resolveLocation(location, at, loading.source);
	if (target === null) return warnMissing(element, location, 'it did not come with the document', loading);
	const key = `${target} ${included ?? tokenOf(element, 'namespace') ?? ''}`;
	if (loading.seen.has(target) || loading.seen.has(key)) return;
	loading.seen.add(key);
	const found = await obtain(target, depth + 1, loading);
	if ('fault' in found) return warnMissing(element, location, found.fault, loading);
	const { root } = found;
	if (isXsd(root, 'schema')) {
		// The namespace of a reference is not always that of the schema.
		const read = `${found.at} ${tokenOf(root, 'targetNamespace') ?? included ?? ''}`;
		if (read !== key && loading.seen.has(read)) return;
		loading.seen.add(read);
		return addSchema(root, { at: found.at, depth: depth + 1, included }, loading);
	}
	if (root.uri === WSDL && root.local === 'definitions') return addDefinitions(root, found.at, depth + 1, loading);
	return warnMissing(element, location, 'it is neither a schema nor a WSDL document', loading);
}

async function obtain(target: string, depth: number, loading: Loading): Promise<{ root: XmlElement; at: string } | { fault: string }> {
	if (depth > MAX_IMPORT_DEPTH) return { fault: `it is more than ${MAX_IMPORT_DEPTH} imports away` };
	if (++loading.count > MAX_DOCUMENTS) return { fault: `only ${MAX_DOCUMENTS} documents are read` };
	const found = await readLocation(target, loading);
	if ('fault' in found) return found;
	const { text, at } = found;
	loading.chars += text.length;
	if (loading.chars > MAX_CHARS) return { fault: `all documents together are longer than ${MAX_CHARS} characters` };
	try {
		return { root: parseXml(withoutLateDeclaration(text), BOUNDS), at };
	} catch (error) {
		return { fault: error instanceof Error ? error.message.slice(0, 200).replace(/\.$/, '') : 'it cannot be read' };
	}
}

function warnMissing(element: XmlElement, location: string, fault: string, { context }: Loading): void {
	const namespace = tokenOf(element, 'namespace') ?? '';
	const known = isWellKnown(namespace) || isWellKnown(location);
	const loss = known ? '' : ' Types that need it accept anything.';
	context.log.warn({ pointer: `line ${element.line}` }, `The import of ${quote(location)} was left out: ${fault}.${loss}`);
}

export function refused(message: string): GatewayError {
	return new GatewayError('schema_invalid', message, { details: [{ path: '', message }] });
}
