// Reads attributes of complex types (XML Schema Part 1, §3.2 and §3.6) as properties whose names begin with `@`.

import type { XmlElement } from '../../../core/index.ts';
import { childrenOf, isEncoding, isUsableName, isWellKnown, type Name, nameIn, show, tokenOf, XML, XSD } from '../names.ts';
import { type Components, type SchemaContext, unopened } from './components.ts';
import { valueIn } from './facets.ts';
import { builtIn, type SimpleType, type SimpleTypes } from './simple-types.ts';

export interface AttributeUse {
	name: Name;
	/** Name of the JSON property: `@lang`. */
	key: string;
	type: SimpleType;
	isRequired: boolean;
	isProhibited: boolean;
	fixed: string | null;
	fallback: string | null;
	node: XmlElement;
}

interface Visit {
	components: Components;
	simpleTypes: SimpleTypes;
	schema: SchemaContext;
	faults: Set<string>;
	open: ReadonlySet<XmlElement>;
}

const MAX_ATTRIBUTES = 500;

/** Reads the attributes of a complex type or its derivation. @returns in `takesAttributes` whether undescribed ones are allowed, too */
export function readAttributes(node: XmlElement, visit: Visit): { attributes: AttributeUse[]; takesAttributes: boolean } {
	const attributes: AttributeUse[] = [];
	const found = { takesAttributes: false, open: new Set(visit.open) };
	const walk = (owner: XmlElement, schema: SchemaContext): void => {
		if (childrenOf(owner, XSD, 'anyAttribute').length > 0) found.takesAttributes = true;
		for (const child of childrenOf(owner, XSD, 'attribute', 'attributeGroup')) {
			if (attributes.length >= MAX_ATTRIBUTES) return;
			if (child.local === 'attribute') attributes.push(...readAttribute(child, { ...visit, schema }));
			else walkGroup(child);
		}
	};
	const walkGroup = (reference: XmlElement): void => {
		const name = nameIn(reference, 'ref');
		const known = name && visit.components.find('attributeGroup', name);
		if (!known) {
			if (name && !isWellKnown(name.uri)) visit.faults.add(`the attribute group ${show(name)} is not defined: it is left out`);
			return;
		}
		// A group that holds itself, or was read already, adds nothing.
		const group = unopened(known, found.open);
		if (!group) return;
		found.open.add(group.node);
		walk(group.node, group.schema);
	};
	walk(node, visit.schema);
	return { attributes, takesAttributes: found.takesAttributes };
}

function readAttribute(node: XmlElement, visit: Visit): AttributeUse[] {
	const reference = nameIn(node, 'ref');
	// SOAP's encoding describes arrays by such attributes; `content.ts` reads them.
	if (reference && isEncoding(reference.uri)) return [];
	const use = tokenOf(node, 'use');
	const common = (type: SimpleType) => ({
		type,
		isRequired: use === 'required',
		isProhibited: use === 'prohibited',
		fixed: valueIn(node, 'fixed', type),
		fallback: valueIn(node, 'default', type),
		node,
	});
	if (reference?.uri === XML) return [{ ...common(stringType()), name: reference, key: `@xml:${reference.local}` }];
	const component = reference && visit.components.find('attribute', reference);
	if (reference) {
		if (!component && !isWellKnown(reference.uri)) visit.faults.add(`the attribute ${show(reference)} is not defined: it accepts anything`);
		const type = component ? typeOf(component.node, { ...visit, schema: component.schema }) : stringType();
		const own = common(type);
		const fixed = own.fixed ?? (component ? valueIn(component.node, 'fixed', type) : null);
		return [{ ...own, fixed, name: reference, key: `@${reference.local}` }];
	}
	const form = tokenOf(node, 'form');
	const isQualified = form === null ? visit.schema.attributesQualified : form === 'qualified';
	const local = tokenOf(node, 'name') ?? '';
	if (!isUsableName(local)) return [];
	const name = { uri: isQualified ? visit.schema.targetNamespace : '', local };
	return [{ ...common(typeOf(node, visit)), name, key: `@${local}` }];
}

function typeOf(node: XmlElement, { simpleTypes, schema, faults }: Visit): SimpleType {
	const [anonymous] = childrenOf(node, XSD, 'simpleType');
	if (anonymous) return simpleTypes.at({ node: anonymous, schema, original: null }, faults);
	const name = nameIn(node, 'type');
	return name ? simpleTypes.named(name, faults) : stringType();
}

// The cast holds: `string` is a built-in type.
const stringType = (): SimpleType => builtIn('string') as SimpleType;
