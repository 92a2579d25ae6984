// The plan that importers write for an XML body: the node that each value of the argument becomes (OpenAPI 3.2.1 §4.26, XML Object).

import { isNcName, isObject } from '../../../core/index.ts';

/** The nodes inside a value: an object has members, a list has items. Text needs no description. */
export interface XmlContent {
	/** Nodes by their names in JSON, in the order in which they are written. */
	members?: Record<string, XmlNode>;
	/** The node of any other member. */
	others?: XmlNode;
	items?: XmlNode;
	/** The first items of a list, before `items`. */
	first?: XmlNode[];
}

export interface XmlNode extends XmlContent {
	/** An element if absent; `none` writes the content without a node around it. */
	as?: 'attribute' | 'text' | 'cdata' | 'none';
	/** Name of the node; if absent, that of the member, or of the list around it. */
	name?: string;
	prefix?: string;
	/** The namespace of the prefix if there is one, else the default namespace of this element. */
	ns?: string;
	/** The type among the plan's `types` that describes the content. */
	of?: string;
	/** A node inside this one, of the same value. */
	inner?: XmlNode;
}

export interface XmlPlan {
	root: XmlNode;
	types?: Record<string, XmlContent>;
}

const KINDS = new Set(['attribute', 'text', 'cdata', 'none']);
const MAX_NESTING = 100;
const MAX_NODES = 10_000;
const MAX_NAME_CHARS = 200;
const MAX_URI_CHARS = 500;
const NAMESPACE = /^[^\s\p{Cc}\p{Cs}\ufffe\uffff]+$/u;
/** Reserved names: the first cannot be bound to another prefix, the second cannot be declared (Namespaces in XML 1.0 §3). */
const XML = 'http://www.w3.org/XML/1998/namespace';
const XMLNS = 'http://www.w3.org/2000/xmlns/';
export const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

/** Finds the fault of a plan, as the rest of a sentence; null when there is none. */
export function planFault(plan: unknown): string | null {
	if (!isObject(plan) || !isObject(plan['root'])) return 'must be a plan with a root';
	const { root, types = {}, ...more } = plan;
	if (Object.keys(more).length > 0) return `has the unknown member ${JSON.stringify(Object.keys(more)[0])}`;
	if (!isObject(types)) return 'must have its types as an object';
	const seen: Seen = { types, prefixes: new Map([['xsi', XSI]]), nodes: 0 };
	const fault = nodeFault(root, seen, 0);
	if (fault !== null) return fault;
	for (const content of Object.values(types)) {
		const wrong = isObject(content) ? contentFault(content, seen, 0) : 'has a type that is not an object';
		if (wrong !== null) return wrong;
	}
	return null;
}

interface Seen {
	types: Record<string, unknown>;
	/** The namespace of each prefix, the same in the whole document: prefixes are declared once. */
	prefixes: Map<string, string>;
	nodes: number;
}

function nodeFault(node: unknown, seen: Seen, nesting: number): string | null {
	if (!isObject(node)) return 'has a node that is not an object';
	if (nesting > MAX_NESTING || ++seen.nodes > MAX_NODES) return `has more than ${MAX_NODES} nodes, or nests deeper than ${MAX_NESTING}`;
	const { as, name, prefix, ns, of, inner, ...content } = node;
	if (as !== undefined && !KINDS.has(as as string)) return `has a node that is not one of ${[...KINDS].join(', ')}`;
	if (name !== undefined && !isTagName(name)) return `has a node whose name ${shown(name)} is not valid in XML`;
	if (of !== undefined && !(typeof of === 'string' && Object.hasOwn(seen.types, of))) return `has no type ${shown(of)}`;
	const odd = namespaceFault(prefix, ns, seen) ?? (inner === undefined ? null : nodeFault(inner, seen, nesting + 1));
	return odd ?? contentFault(content, seen, nesting);
}

function namespaceFault(prefix: unknown, ns: unknown, { prefixes }: Seen): string | null {
	if (ns !== undefined && !(typeof ns === 'string' && NAMESPACE.test(ns) && ns.length <= MAX_URI_CHARS && ns !== XMLNS))
		return `has ${shown(ns)} where a namespace is expected`;
	if (prefix === undefined) return null;
	if (prefix === 'xml') return ns === undefined || ns === XML ? null : 'has another namespace for the prefix "xml" than its own';
	if (typeof prefix !== 'string' || !isTagName(prefix)) return `has the prefix ${shown(prefix)}, which is not valid in XML`;
	if (typeof ns !== 'string') return `has the prefix ${shown(prefix)} without a namespace`;
	const known = prefixes.get(prefix) ?? ns;
	prefixes.set(prefix, known);
	return known === ns ? null : `has two namespaces for the prefix ${shown(prefix)}`;
}

function contentFault(content: Record<string, unknown>, seen: Seen, nesting: number): string | null {
	const { members = {}, others, items, first = [], ...more } = content;
	const [unknown] = Object.keys(more);
	if (unknown !== undefined) return `has the unknown member ${shown(unknown)}`;
	if (!isObject(members) || !Array.isArray(first)) return 'has members that are not an object, or first items that are not a list';
	for (const node of [
		...Object.values(members),
		...first,
		...(others === undefined ? [] : [others]),
		...(items === undefined ? [] : [items]),
	]) {
		const fault = nodeFault(node, seen, nesting + 1);
		if (fault !== null) return fault;
	}
	return null;
}

/** Whether an element or attribute can have the name: `xmlns` declares namespaces. */
export const isTagName = (name: unknown): name is string =>
	typeof name === 'string' && name.length <= MAX_NAME_CHARS && name !== 'xmlns' && isNcName(name);

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 100) ?? '';
