// Reads elements (XML Schema Part 1, §3.3): their names, types and occurrence.

import { quote, type XmlElement } from '../../../core/index.ts';
import { childrenOf, isEncoding, isTrue, isUsableName, isWellKnown, isXsd, type Name, nameIn, show, tokenOf, XSD } from '../names.ts';
import type { Component, Components, SchemaContext } from './components.ts';
import { valueIn } from './facets.ts';
import { builtIn, type SimpleType, type SimpleTypes } from './simple-types.ts';
import type { Definition } from './types.ts';

/** The type of an element: text, a complex type by its component or as a made definition, or anything. */
export type TypeUse = { simple: SimpleType } | ComplexUse | { any: true };
export type ComplexUse = { complex: Component; name: Name | null } | { made: Definition };

export interface ElementUse {
	of: 'element';
	name: Name;
	/** Name of the JSON property, unique in its type. */
	key: string;
	min: number;
	max: number;
	type: TypeUse;
	isNillable: boolean;
	fixed: string | null;
	fallback: string | null;
	node: XmlElement;
}

export interface Occurrence {
	min: number;
	max: number;
}

export interface TypeContext {
	components: Components;
	simpleTypes: SimpleTypes;
}

/** Returns an element that a schema defines at its top level, whose name is always qualified. */
export function globalElement(name: Name, { min, max }: Occurrence, context: TypeContext & { faults: Set<string> }): ElementUse[] {
	const component = context.components.find('element', name);
	if (!component) return [];
	return [{ ...elementOf(component.node, name, { ...context, schema: component.schema }), min, max }];
}

export function localElement(node: XmlElement, { min, max }: Occurrence, visit: Defined): ElementUse {
	const form = tokenOf(node, 'form');
	const isQualified = form === null ? visit.schema.elementsQualified : form === 'qualified';
	const local = tokenOf(node, 'name') ?? '';
	return { ...elementOf(node, { uri: isQualified ? visit.schema.targetNamespace : '', local }, visit), min, max };
}

export type Defined = TypeContext & { faults: Set<string>; schema: SchemaContext };

const TEXT = { base: 'string', isList: false };

function elementOf(node: XmlElement, name: Name, visit: Defined): ElementUse {
	const type = typeOf(node, visit);
	const written = 'simple' in type ? type.simple : TEXT;
	return {
		of: 'element',
		name,
		key: name.local,
		min: 1,
		max: 1,
		type,
		isNillable: isTrue(node, 'nillable'),
		fixed: valueIn(node, 'fixed', written),
		fallback: valueIn(node, 'default', written),
		node,
	};
}

function typeOf(node: XmlElement, visit: Defined, passed = new Set<XmlElement>()): TypeUse {
	const { schema, simpleTypes, faults } = visit;
	const [anonymous] = childrenOf(node, XSD, 'complexType', 'simpleType');
	if (anonymous) {
		const component = { node: anonymous, schema, original: null };
		return anonymous.local === 'complexType' ? { complex: component, name: null } : { simple: simpleTypes.at(component, faults) };
	}
	const name = nameIn(node, 'type');
	if (name) return typeNamed(name, visit);
	// §3.3.2: a member of a substitution group without a type has that of its head.
	const head = nameIn(node, 'substitutionGroup');
	const component = head && visit.components.find('element', head);
	if (!component || passed.has(component.node)) return { any: true };
	return typeOf(component.node, { ...visit, schema: component.schema }, passed.add(component.node));
}

export function typeNamed(name: Name, { components, simpleTypes, faults }: TypeContext & { faults: Set<string> }): TypeUse {
	if (name.uri === XSD || isEncoding(name.uri)) {
		const simple = builtIn(name.local);
		return simple ? { simple } : { any: true };
	}
	const component = components.find('type', name);
	if (component && isXsd(component.node, 'complexType')) return { complex: component, name };
	if (component) return { simple: simpleTypes.named(name, faults) };
	if (!isWellKnown(name.uri)) faults.add(`the type ${show(name)} is not defined: it accepts anything`);
	return { any: true };
}

export function isUsable(node: XmlElement, { faults }: Pick<Defined, 'faults'>): boolean {
	const name = tokenOf(node, 'name') ?? '';
	if (isUsableName(name)) return true;
	faults.add(`the element ${quote(name)} has no usable name: it is left out`);
	return false;
}
