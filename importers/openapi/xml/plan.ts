// Plans an XML request body: by the schema's XML Objects (OpenAPI 3.0.4 §4.7.26, 3.2.1 §4.26), the plan tells the executor which node each
// value of a JSON argument becomes. There is no plan where a schema leaves that open: elements are not guessed.

import { isNcName, isObject, type Json, type JsonObject, quote } from '../../../core/index.ts';
import type { Document } from '../document.ts';
import { definitionName } from '../references.ts';
import { type Bare, componentOf, type Facts, gatherFacts, nameFault, ownXml, together, Unwritable, unwrap } from './schema.ts';

/** A node of the plan, in the format of the `http` executor's config. */
export interface XmlNode extends JsonObject {}

/** A plan with the assumption that was made for it (`guess`, null when none was needed), or the reason why there is none. */
export type XmlReading = { plan: JsonObject; guess: string | null } | { fault: string };

interface Planning {
	document: Document;
	/** Content of the definitions that were encountered, by name. */
	types: Map<string, JsonObject>;
	/** Definitions whose content is still to be read. */
	open: { name: string; facts: Facts }[];
	/** Number of references to each definition. */
	uses: Map<string, number>;
	/** Namespace of each prefix. */
	prefixes: Map<string, string>;
	/** Nodes with a prefix but without a namespace of their own. */
	unbound: { node: XmlNode; prefix: string }[];
	nodes: number;
}

const MAX_DEPTH = 40;
const MAX_NODES = 5_000;
const MAX_PLAN_CHARS = 128 * 1024;
const MAX_NAME_CHARS = 200;
const MAX_URI_CHARS = 500;
const NODE_TYPES = ['element', 'attribute', 'text', 'cdata', 'none'];
/** The key of items and of members without a name, which get their names when they are written. */
const INHERITED = '';
const NAMESPACE = /^[^\s\p{Cc}\p{Cs}\ufffe\uffff]+$/u;
const MAX_INLINED = 30;
const XMLNS = 'http://www.w3.org/2000/xmlns/';
const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

/** @param name of the root element, where the schema has none. @returns null when the schema has no structure */
export function planXml(schema: Json | undefined, document: Document, name: string | null = null): XmlReading | null {
	try {
		if (!hasStructure(gatherFacts(schema, document))) return null;
		return readRoot(schema ?? {}, document, name);
	} catch (error) {
		if (error instanceof Unwritable) return { fault: error.message };
		throw error;
	}
}

const hasStructure = ({ members, items, first, others }: Facts): boolean =>
	members.size > 0 || items.length > 0 || first.length > 0 || others.length > 0;

function readRoot(schema: Json, document: Document, name: string | null): XmlReading {
	const planning = newPlanning(document);
	const only = name === null ? rootMember(schema, document) : null;
	const root =
		only === null
			? nodeOf(schema, name, planning, 0)
			: { as: 'none', ...contentOf(unwrap(schema, document), gatherFacts(schema, document), planning, 0) };
	if (only === null && root['as'] !== undefined) throw new Unwritable('its schema names no root element');
	if (only === null) root['name'] ??= name ?? '';
	for (let next = planning.open.pop(); next; next = planning.open.pop())
		planning.types.set(next.name, readContent(next.facts, planning, 0));
	for (const { node, prefix } of planning.unbound) {
		const ns = planning.prefixes.get(prefix);
		if (ns === undefined) throw new Unwritable(`the prefix ${quote(prefix)} has no namespace`);
		node['ns'] = ns;
	}
	const plan = assemble(root, planning);
	if (JSON.stringify(plan).length > MAX_PLAN_CHARS) throw new Unwritable('its schema is too large');
	return { plan, guess: only === null ? null : `the root element of its XML body is assumed to be its only member, ${quote(only)}` };
}

const newPlanning = (document: Document): Planning => ({
	document,
	types: new Map(),
	open: [],
	uses: new Map(),
	prefixes: new Map([['xsi', XSI]]),
	unbound: [],
	nodes: 0,
});

/** Returns the only member of a nameless object, which must then be the root element; else null. */
function rootMember(schema: Json, document: Document): string | null {
	const bare = unwrap(schema, document);
	const { name, nodeType } = ownXml(bare, document);
	if ((name !== undefined || componentOf(bare, document) !== null) && nodeType !== 'none') return null;
	const { members, items, others } = gatherFacts(schema, document);
	const [only, ...more] = members;
	if (only === undefined || more.length > 0 || items.length > 0 || others.length > 0) return null;
	const { as } = nodeOf(only[1], only[0], newPlanning(document), 0);
	return as === undefined ? only[0] : null;
}

/** @param key the inherited name: null for the root, `INHERITED` for items and for members without a name */
function nodeOf(schema: Json, key: string | null, planning: Planning, depth: number): XmlNode {
	if (++planning.nodes > MAX_NODES || depth > MAX_DEPTH) throw new Unwritable('its schema is too large');
	const { document } = planning;
	const bare = unwrap(schema, document);
	const xml = ownXml(bare, document);
	const facts = gatherFacts(schema, document);
	const as = kindOf(xml, facts, key);
	const node: XmlNode = as === 'element' ? {} : { as };
	if (as === 'element' || as === 'attribute') nameNode(node, xml, inferredName(bare, key, document), key, planning);
	// Items without a name of their own inherit the name of the list.
	else if (key !== null && facts.items.some((item) => unwrap(item, document).xml['name'] === undefined)) tagName(key);
	const inner = referredElement(schema, planning, depth);
	if (inner) return { ...node, inner };
	if (as === 'element' || as === 'none') return Object.assign(node, contentOf(bare, facts, planning, depth));
	if (hasStructure(facts)) throw new Unwritable(`${quote(key ?? '')} holds more than text, which an XML ${as} cannot`);
	return node;
}

/** Returns the node type (OpenAPI 3.2.1 §4.26.1; §4.26.2.1 for lists). */
function kindOf({ nodeType, attribute, wrapped }: JsonObject, { types, members, items, first, others }: Facts, key: string | null): string {
	if (typeof nodeType === 'string' && NODE_TYPES.includes(nodeType)) return nodeType;
	if (attribute === true) return 'attribute';
	if (!types.has('array') && items.length === 0 && first.length === 0) return 'element';
	if (types.has('object') || members.size > 0 || others.length > 0)
		throw new Unwritable(`${quote(key ?? 'the body')} may be a list or an object`);
	return wrapped === true ? 'element' : 'none';
}

/** Infers the name (OpenAPI 3.2.1 §4.26.3). Before 3.2, a property that refers to a component has the name of the property. */
function inferredName(bare: Bare, key: string | null, document: Document): string | null {
	return key === null || document.version === '3.2' ? (componentOf(bare, document) ?? key) : key;
}

function nameNode(node: XmlNode, xml: JsonObject, inferred: string | null, key: string | null, planning: Planning): void {
	const spelled = typeof xml['name'] === 'string' ? xml['name'].trim() : inferred;
	if (spelled === null) throw new Unwritable('its schema names no root element');
	const [local = '', ...before] = spelled.split(':').toReversed();
	if (before.length > 1) throw nameFault(spelled);
	if (local !== INHERITED) tagName(local);
	if (spelled !== key) node['name'] = local;
	const prefix = typeof xml['prefix'] === 'string' && xml['prefix'] !== '' ? xml['prefix'] : before[0];
	qualify(node, { prefix, ns: typeof xml['namespace'] === 'string' ? xml['namespace'].trim() : '' }, planning);
}

function tagName(name: string | null): void {
	if (name === INHERITED) return;
	if (name === null || name.length > MAX_NAME_CHARS || name === 'xmlns' || !isNcName(name)) throw nameFault(name ?? '');
}

function qualify(node: XmlNode, { prefix, ns }: { prefix: string | undefined; ns: string }, { prefixes, unbound }: Planning): void {
	if (ns !== '' && (ns.length > MAX_URI_CHARS || !NAMESPACE.test(ns) || ns === XMLNS))
		throw new Unwritable(`${quote(ns)} is not a namespace`);
	if (prefix === 'xml') node['prefix'] = prefix;
	else if (prefix !== undefined) {
		tagName(prefix);
		node['prefix'] = prefix;
		if (ns === '') unbound.push({ node, prefix });
		else bind(node, prefix, ns, prefixes);
	} else if (ns !== '' && node['as'] === 'attribute') {
		// Namespaces in XML 1.0 §6.2: "Default namespace declarations do not apply directly to attribute names".
		const [known] = [...prefixes].find(([, uri]) => uri === ns) ?? [];
		node['prefix'] = known ?? `ns${prefixes.size}`;
		bind(node, String(node['prefix']), ns, prefixes);
	} else if (ns !== '') node['ns'] = ns;
}

/** Binds a prefix to its only namespace, since each prefix is declared once, at the root. */
function bind(node: XmlNode, prefix: string, ns: string, prefixes: Map<string, string>): void {
	if ((prefixes.get(prefix) ?? ns) !== ns) throw new Unwritable(`the prefix ${quote(prefix)} stands for two namespaces`);
	prefixes.set(prefix, ns);
	node['ns'] = ns;
}

/** Returns the inner element of a schema that is an element and refers to another (OpenAPI 3.2.1 §4.26.6.7); else null. */
function referredElement(schema: Json, planning: Planning, depth: number): XmlNode | null {
	if (planning.document.version !== '3.2' || !isObject(schema) || typeof schema['$ref'] !== 'string') return null;
	if (!isObject(schema['xml']) || schema['xml']['nodeType'] !== 'element') return null;
	const inner = nodeOf({ $ref: schema['$ref'] }, INHERITED, planning, depth + 1);
	return inner['as'] === undefined ? inner : null;
}

/** Returns the content of a value; a definition is referred to by name, since it may be recursive. */
function contentOf({ pointer }: Bare, facts: Facts, planning: Planning, depth: number): JsonObject {
	if (!hasStructure(facts)) return {};
	if (pointer === null) return readContent(facts, planning, depth);
	const { document, types, uses, open } = planning;
	const name = definitionName(pointer, document);
	if (!uses.has(name)) open.push({ name, facts });
	if (!types.has(name)) types.set(name, {});
	uses.set(name, (uses.get(name) ?? 0) + 1);
	return { of: name };
}

function readContent({ members, others, items, first }: Facts, planning: Planning, depth: number): JsonObject {
	const content: JsonObject = {};
	if (members.size > 0) {
		const nodes = [...members].map(([key, member]): [string, XmlNode] => [key, nodeOf(member, key, planning, depth + 1)]);
		assertDistinct(nodes);
		content['members'] = Object.fromEntries(nodes);
	}
	if (others.length > 0) {
		const node = nodeOf(together(others), INHERITED, planning, depth + 1);
		if (node['name'] !== undefined) throw new Unwritable('members with arbitrary names would all have the same name in XML');
		if (Object.keys(node).length > 0) content['others'] = node;
	}
	if (items.length > 0) content['items'] = nodeOf(together(items), INHERITED, planning, depth + 1);
	if (first.length > 1) throw new Unwritable('the first items of a list are described in two ways');
	if (first[0]) content['first'] = first[0].map((item) => nodeOf(item, INHERITED, planning, depth + 1));
	return content;
}

/** Checks that no attribute "may appear more than once in the same start-tag" (XML 1.0 §3.1). */
function assertDistinct(nodes: readonly [key: string, node: XmlNode][]): void {
	const attributes = nodes.filter(([, { as }]) => as === 'attribute');
	const names = new Set(attributes.map(([key, { prefix, name }]) => `${String(prefix ?? '')}:${String(name ?? key)}`));
	if (names.size < attributes.length) throw new Unwritable('two of its members are the same attribute');
}

/** Inlines definitions that are used once, so that comparing two plans shows a new member as one change only. */
function assemble(root: XmlNode, { types, uses }: Planning): JsonObject {
	const kept = new Set<string>();
	const settle = (node: JsonObject, depth: number): JsonObject => {
		const { of, ...own } = node;
		const isInline = typeof of === 'string' && uses.get(of) === 1 && depth < MAX_INLINED;
		if (typeof of === 'string' && !isInline) kept.add(of);
		const whole = isInline ? { ...own, ...types.get(of) } : node;
		return Object.fromEntries(Object.entries(whole).map(([field, value]) => [field, settleField(field, value, depth + 1)]));
	};
	const settleField = (field: string, value: Json, depth: number): Json => {
		if (field === 'members' && isObject(value))
			return Object.fromEntries(Object.entries(value).map(([key, node]) => [key, isObject(node) ? settle(node, depth) : node]));
		if (field === 'first' && Array.isArray(value)) return value.map((node) => (isObject(node) ? settle(node, depth) : node));
		return isObject(value) ? settle(value, depth) : value;
	};
	const settled = settle(root, 0);
	const others: JsonObject = {};
	// Elements that are added during the iteration are visited too.
	for (const name of kept) others[name] = settle(types.get(name) ?? {}, 0);
	return kept.size > 0 ? { root: settled, types: others } : { root: settled };
}
