// Reads simple types (XML Schema Part 2): restrictions, lists and unions, for the executor and as JSON Schema.

import type { JsonObject, XmlElement } from '../../../core/index.ts';
import { childrenOf, isEncoding, isWellKnown, isXsd, keyOf, type Name, nameIn, show, tokenOf, XSD } from '../names.ts';
import { isBuiltIn, LISTS, NAMES, requestSchema, responseSchema } from './builtins.ts';
import type { Component, Components } from './components.ts';
import { readFacets } from './facets.ts';

export interface SimpleType {
	/** The built-in type that it is derived from, by which its text is written and read. */
	base: string;
	isList: boolean;
	/** Schema of a value in a request. */
	schema: JsonObject;
}

export interface SimpleTypes {
	/** @param faults collects what is lost */
	named(name: Name, faults: Set<string>): SimpleType;
	/** Reads an `xs:simpleType`, or an `xs:restriction` in simple content. */
	at(component: Component, faults: Set<string>): SimpleType;
}

const MAX_CHAIN = 50;
const MAX_MEMBERS = 10;
/** The most characters of a union's schema: it holds those of its members, which may be unions themselves. */
const MAX_UNION_CHARS = 64 * 1024;
const ANY: SimpleType = { base: 'anySimpleType', isList: false, schema: requestSchema('anySimpleType') };

export const builtIn = (local: string): SimpleType | null => {
	if (Object.hasOwn(LISTS, local)) return listOf(builtIn(LISTS[local] ?? '') ?? ANY);
	return isBuiltIn(local) ? { base: local, isList: false, schema: requestSchema(local) } : null;
};

const listOf = ({ base, schema }: SimpleType): SimpleType => ({ base, isList: true, schema: { type: 'array', items: schema } });

/** Returns the schema of a value in an answer. */
export const answerSchema = ({ base, isList }: SimpleType): JsonObject =>
	isList ? { type: ['array', 'null'], items: responseSchema(base) } : responseSchema(base);

export function createSimpleTypes(components: Components): SimpleTypes {
	const known = new Map<string, { type: SimpleType; faults: Set<string> }>();

	function named(name: Name, faults: Set<string>, chain = 0): SimpleType {
		if (name.uri === XSD || isEncoding(name.uri)) return builtIn(name.local) ?? ANY;
		const key = keyOf(name);
		const found = known.get(key) ?? compute(name, chain);
		known.set(key, found);
		for (const fault of found.faults) faults.add(fault);
		return found.type;
	}

	function compute(name: Name, chain: number): { type: SimpleType; faults: Set<string> } {
		const faults = new Set<string>();
		const component = components.find('type', name);
		if (component && isXsd(component.node, 'simpleType') && chain < MAX_CHAIN)
			return { type: convert(component, faults, chain + 1), faults };
		if (!isWellKnown(name.uri))
			faults.add(
				component ? `the type ${show(name)} is derived from itself` : `the type ${show(name)} is not defined: it accepts anything`,
			);
		return { type: ANY, faults };
	}

	function convert({ node, schema, original }: Component, faults: Set<string>, chain: number): SimpleType {
		const inner = (child: XmlElement): SimpleType =>
			chain > MAX_CHAIN ? ANY : convert({ node: child, schema, original: null }, faults, chain + 1);
		/** Returns the type that an attribute names, or that an anonymous type inside defines. */
		const derivedFrom = (from: XmlElement, attribute: string): SimpleType => {
			const [anonymous] = childrenOf(from, XSD, 'simpleType');
			if (anonymous) return inner(anonymous);
			const name = nameIn(from, attribute);
			// A redefinition is based on the type of its own name (Part 1, §4.2.2).
			if (original && name?.local === tokenOf(node, 'name')) return convert(original, faults, chain + 1);
			return name ? named(name, faults, chain + 1) : ANY;
		};
		if (isXsd(node, 'restriction')) return restrict(derivedFrom(node, 'base'), node, faults);
		const [derivation] = childrenOf(node, XSD, 'restriction', 'list', 'union');
		if (!derivation) return ANY;
		if (derivation.local === 'restriction') return restrict(derivedFrom(derivation, 'base'), derivation, faults);
		if (derivation.local === 'list') return listOf(derivedFrom(derivation, 'itemType'));
		const names = (tokenOf(derivation, 'memberTypes') ?? '').split(/\s+/).filter(Boolean);
		const members = names.map((name) => named(memberName(derivation, name), faults, chain + 1));
		const union = unionOf([...members, ...childrenOf(derivation, XSD, 'simpleType').map(inner)]);
		if (!union) faults.add(`the union in line ${derivation.line} is too large to be described: it accepts any text`);
		return union ?? ANY;
	}

	return { named, at: (component, faults) => convert(component, faults, 0) };
}

const memberName = (node: XmlElement, value: string): Name =>
	nameIn({ ...node, attributes: [{ local: 'member', uri: '', value }] }, 'member') ?? { uri: '', local: value };

function restrict(type: SimpleType, node: XmlElement, faults: Set<string>): SimpleType {
	return { ...type, schema: { ...type.schema, ...readFacets(node, type, faults) } };
}

/** Makes a union, whose values are written as the given text, whichever member they belong to, unless all are names; null if it is too large. */
function unionOf(members: SimpleType[]): SimpleType | null {
	const distinct = new Map(members.map(({ schema }) => [JSON.stringify(schema), schema]));
	const schemas = [...distinct.values()];
	if (schemas.length === 0 || schemas.length > MAX_MEMBERS || members.some(({ isList }) => isList)) return ANY;
	if (distinct.keys().reduce((sum, { length }) => sum + length, 0) > MAX_UNION_CHARS) return null;
	const [only] = schemas;
	// Only names are written in another way than they are given.
	const base = members.every((member) => NAMES.has(member.base)) ? 'QName' : 'anySimpleType';
	return { base, isList: false, schema: schemas.length === 1 && only ? only : { anyOf: schemas } };
}
