// Indexes the named components of all schemas together (XML Schema Part 1, §2.2), and the derivation of types.

import type { XmlElement } from '../../../core/index.ts';
import type { DocumentSet, SchemaDocument } from '../documents.ts';
import { childrenOf, isTrue, isUsableName, isXsd, keyOf, type Name, nameIn, tokenOf, XSD } from '../names.ts';

export type Kind = 'element' | 'type' | 'group' | 'attribute' | 'attributeGroup';

/** A definition, or an anonymous type inside one, with the context of its schema. */
export interface Component {
	node: XmlElement;
	schema: SchemaContext;
	/** The redefined component of the same name, if this is a redefinition. */
	original: Component | null;
}

export interface SchemaContext {
	targetNamespace: string;
	elementsQualified: boolean;
	attributesQualified: boolean;
}

export interface Components {
	find(kind: Kind, name: Name): Component | null;
	/** Returns the names of all components of a kind, in the order of the documents. */
	list(kind: Kind): Name[];
	/** Finds the complex types derived from this one, directly or not. */
	derivedFrom(name: Name): Descendants;
	/** Finds the elements that may be substituted for this one, directly or not, and are not abstract. */
	substitutesOf(name: Name): Descendants;
}

export interface Descendants {
	names: Name[];
	/** Whether there are more than listed. */
	isCut: boolean;
}

const KINDS: Readonly<Record<string, Kind>> = {
	element: 'element',
	complexType: 'type',
	simpleType: 'type',
	group: 'group',
	attribute: 'attribute',
	attributeGroup: 'attributeGroup',
};
const MAX_SUBTYPES = 30;
const MAX_SUBSTITUTES = 100;

export function indexComponents({ schemas, redefinitions }: Pick<DocumentSet, 'schemas' | 'redefinitions'>): Components {
	const found: Record<Kind, Map<string, { name: Name; component: Component }>> = {
		element: new Map(),
		type: new Map(),
		group: new Map(),
		attribute: new Map(),
		attributeGroup: new Map(),
	};
	const add = (node: XmlElement, schema: SchemaContext, redefines: boolean): void => {
		const kind = node.uri === XSD && Object.hasOwn(KINDS, node.local) ? KINDS[node.local] : undefined;
		const local = tokenOf(node, 'name');
		if (kind === undefined || local === null || !isUsableName(local)) return;
		const name = { uri: schema.targetNamespace, local };
		const known = found[kind].get(keyOf(name));
		// The same document may be reached in several ways: the first definition is kept.
		if (known && !redefines) return;
		found[kind].set(keyOf(name), { name, component: { node, schema, original: known?.component ?? null } });
	};
	for (const document of schemas) {
		const schema = contextOf(document);
		for (const node of document.root.children) add(node, schema, false);
	}
	for (const { definitions, ...document } of redefinitions) {
		const schema = contextOf(document);
		for (const node of definitions) add(node, schema, true);
	}
	const derived = indexBy([...found.type.values()], baseOf);
	const substitutes = indexBy([...found.element.values()], (node) => nameIn(node, 'substitutionGroup'));
	const isAbstract = (name: Name): boolean => isTrue(found.element.get(keyOf(name))?.component.node ?? NOTHING, 'abstract');
	return {
		find: (kind, name) => found[kind].get(keyOf(name))?.component ?? null,
		list: (kind) => [...found[kind].values()].map(({ name }) => name),
		derivedFrom: (name) => closure(name, derived, MAX_SUBTYPES),
		substitutesOf: (name) => {
			const { names, isCut } = closure(name, substitutes, MAX_SUBSTITUTES);
			return { names: names.filter((substitute) => !isAbstract(substitute)), isCut };
		},
	};
}

/** Returns the component unless it is being read; for a redefinition that names itself, the redefined one. */
export function unopened(component: Component | null, open: ReadonlySet<XmlElement>): Component | null {
	let found = component;
	while (found && open.has(found.node)) found = found.original;
	return found;
}

function contextOf({ root, targetNamespace }: SchemaDocument): SchemaContext {
	return {
		targetNamespace,
		elementsQualified: tokenOf(root, 'elementFormDefault') === 'qualified',
		attributesQualified: tokenOf(root, 'attributeFormDefault') === 'qualified',
	};
}

const NOTHING: Pick<XmlElement, 'attributes'> = { attributes: [] };

/** Indexes names by the key of their owner. */
function indexBy(entries: { name: Name; component: Component }[], ownerOf: (node: XmlElement) => Name | null): Map<string, Name[]> {
	const derived = new Map<string, Name[]>();
	for (const { name, component } of entries) {
		const base = ownerOf(component.node);
		if (base === null || keyOf(base) === keyOf(name)) continue;
		const known = derived.get(keyOf(base));
		if (known) known.push(name);
		else derived.set(keyOf(base), [name]);
	}
	return derived;
}

/** Returns the base of a complex type with complex or simple content. */
function baseOf(node: XmlElement): Name | null {
	if (!isXsd(node, 'complexType')) return null;
	const [content] = childrenOf(node, XSD, 'complexContent', 'simpleContent');
	const [derivation] = content ? childrenOf(content, XSD, 'extension', 'restriction') : [];
	return derivation ? nameIn(derivation, 'base') : null;
}

function closure(name: Name, derived: Map<string, Name[]>, most: number): Descendants {
	const seen = new Map<string, Name>([[keyOf(name), name]]);
	// Iteration over a Map also visits entries added meanwhile.
	for (const next of seen.values()) {
		for (const descendant of derived.get(keyOf(next)) ?? []) {
			if (seen.has(keyOf(descendant))) continue;
			if (seen.size > most) return { names: [...seen.values()].slice(1), isCut: true };
			seen.set(keyOf(descendant), descendant);
		}
	}
	return { names: [...seen.values()].slice(1), isCut: false };
}
