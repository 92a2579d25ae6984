// Parses XML into a tree with namespaces resolved, with bounded size and depth. A DOCTYPE is refused: it declares entities,
// which can expand without limit or point at files.

import { setImmediate } from 'node:timers/promises';
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { decodeGradually } from './time-slice.ts';

export interface XmlAttribute {
	local: string;
	/** Empty if it has no namespace. */
	uri: string;
	value: string;
}

export interface XmlElement {
	local: string;
	/** Empty if it has no namespace. */
	uri: string;
	/** Attributes without namespace declarations. */
	attributes: XmlAttribute[];
	children: XmlElement[];
	/** All character data directly in the element. */
	text: string;
	/** Length of the parent's text before it. */
	offset: number;
	line: number;
	scope: XmlScope | null;
}

/** The prefixes that an element declares, and the scope around it. */
export interface XmlScope {
	prefixes: Readonly<Record<string, string>>;
	outer: XmlScope | null;
}

export interface XmlBounds {
	maxDepth: number;
	/** Number of elements and attributes. */
	maxNodes: number;
}

const XMLNS = 'http://www.w3.org/2000/xmlns/';
const XML = 'http://www.w3.org/XML/1998/namespace';
/** Limit for one element, namespace declarations included: an element is parsed in one piece. */
const MAX_ATTRIBUTES = 1_000;
/** Size of a slice, parsed in about 2 ms. */
const SLICE_CHARS = 32 * 1024;

/** Parses a text. @throws Error with line and column in the message */
export function parseXml(text: string, bounds: XmlBounds): XmlElement {
	const reader = createReader(bounds);
	reader.write(text.trimStart());
	return reader.end();
}

/** Parses in slices, between which other work runs. @throws Error with line and column in the message */
export async function parseXmlGradually(text: string, bounds: XmlBounds, signal: AbortSignal): Promise<XmlElement> {
	const reader = createReader(bounds);
	const trimmed = text.trimStart();
	for (let at = 0; at < trimmed.length; at += SLICE_CHARS) {
		reader.write(trimmed.slice(at, at + SLICE_CHARS));
		await setImmediate();
		signal.throwIfAborted();
	}
	return reader.end();
}

export const attributeOf = (element: Pick<XmlElement, 'attributes'>, local: string, uri = ''): string | null =>
	element.attributes.find((attribute) => attribute.local === local && attribute.uri === uri)?.value ?? null;

/** Resolves a name, with or without prefix, in the scope of an element, such as a type's; null for an unknown prefix. */
export function resolveName(name: string, { scope }: XmlElement): { uri: string; local: string } | null {
	const trimmed = name.trim();
	const colon = trimmed.indexOf(':');
	const prefix = colon < 0 ? '' : trimmed.slice(0, colon);
	const local = trimmed.slice(colon + 1);
	if (prefix === 'xml') return { uri: XML, local };
	for (let at = scope; at !== null; at = at.outer) {
		const uri = Object.hasOwn(at.prefixes, prefix) ? at.prefixes[prefix] : undefined;
		if (uri !== undefined) return { uri, local };
	}
	return prefix === '' ? { uri: '', local } : null;
}

/** Decodes bytes by byte order mark, by the charset of a header, or by the declared encoding (XML 1.0, appendix F). */
export const decodeXml = (bytes: Uint8Array, contentType = ''): string => new TextDecoder(charsetOf(bytes, contentType)).decode(bytes);

/** Decodes in the same way bytes that may be many, while other work runs. */
export const decodeXmlGradually = (bytes: Uint8Array, contentType = ''): string | Promise<string> =>
	decodeGradually(bytes, charsetOf(bytes, contentType));

function charsetOf(bytes: Uint8Array, contentType: string): string {
	const declared = /^<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)["']/.exec(Buffer.from(bytes.subarray(0, 200)).toString('latin1'))?.[1];
	const label = markOf(bytes) ?? /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1] ?? declared ?? 'utf-8';
	try {
		return new TextDecoder(label).encoding;
	} catch {
		// An unknown charset is most likely UTF-8.
		return 'utf-8';
	}
}

function markOf(bytes: Uint8Array): string | null {
	if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
	if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
	return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : null;
}

interface Reader {
	write(text: string): void;
	end(): XmlElement;
}

function createReader(bounds: XmlBounds): Reader {
	const parser = new SaxesParser({ xmlns: true });
	const open: XmlElement[] = [];
	let root: XmlElement | null = null;
	let nodes = 0;
	const refuse = (fault: string): never => {
		throw new Error(`${parser.line}:${parser.column}: ${fault}`);
	};
	parser.on('error', (error) => {
		throw error;
	});
	parser.on('doctype', () => refuse('a DOCTYPE is not allowed.'));
	parser.on('opentagstart', () => {
		if (open.length >= bounds.maxDepth) refuse(`it is nested deeper than ${bounds.maxDepth} levels.`);
	});
	let attributes = 0;
	parser.on('attribute', () => {
		if (++attributes > MAX_ATTRIBUTES) refuse(`an element has more than ${MAX_ATTRIBUTES} attributes.`);
		if (++nodes > bounds.maxNodes) refuse(`it has more than ${bounds.maxNodes} elements and attributes.`);
	});
	parser.on('opentag', (tag) => {
		attributes = 0;
		if (++nodes > bounds.maxNodes) refuse(`it has more than ${bounds.maxNodes} elements and attributes.`);
		const parent = open.at(-1);
		const element = elementOf(tag, parent, parser.line);
		if (parent) parent.children.push(element);
		else root = element;
		open.push(element);
	});
	parser.on('closetag', () => void open.pop());
	const append = (text: string): void => {
		const element = open.at(-1);
		if (element) element.text += text;
	};
	parser.on('text', append);
	parser.on('cdata', append);
	const located = (work: () => void): void => {
		try {
			work();
		} catch (cause) {
			throw new Error(describe(cause), { cause });
		}
	};
	return {
		write: (text) => located(() => parser.write(text)),
		end() {
			located(() => parser.close());
			if (root === null) throw new Error('line 1, column 0: it contains no element.');
			return root;
		},
	};
}

function elementOf(tag: SaxesTagNS, parent: XmlElement | undefined, line: number): XmlElement {
	const outer = parent?.scope ?? null;
	const attributes = Object.values(tag.attributes)
		.filter(({ uri }) => uri !== XMLNS)
		.map(({ local, uri, value }: SaxesAttributeNS) => ({ local, uri, value }));
	const scope = Object.keys(tag.ns).length > 0 ? { prefixes: tag.ns, outer } : outer;
	return { local: tag.local, uri: tag.uri, attributes, children: [], text: '', offset: parent?.text.length ?? 0, line, scope };
}

/** Rewrites the parser's positions: its messages begin with `3:14: `. */
function describe(cause: unknown): string {
	const message = cause instanceof Error ? cause.message : String(cause);
	return message.replace(/^(\d+):(\d+): /, 'line $1, column $2: ');
}
