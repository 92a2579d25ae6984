// Reads the content of a complex type (XML Schema Part 1, §3.4): its particles in the order of the schema, those of its bases first.

import { attributeOf, type XmlElement } from '../../../core/index.ts';
import { childrenOf, isEncoding, isTrue, isWellKnown, isXsd, keyOf, type Name, nameIn, show, WSDL, XSD } from '../names.ts';
import { type AttributeUse, readAttributes } from './attributes.ts';
import { type Component, unopened } from './components.ts';
import { type ElementUse, type TypeContext, typeNamed } from './elements.ts';
import { createKeys, MAX_OPEN, type Particle, readParticle, type Visit, withKeys } from './particles.ts';
import { builtIn, type SimpleType } from './simple-types.ts';

export interface Content {
	items: Particle[];
	attributes: AttributeUse[];
	/** Type of the text, in simple content. */
	text: SimpleType | null;
	isMixed: boolean;
	/** Whether undescribed attributes are allowed. */
	takesAttributes: boolean;
	/** Whether a part of the type is unknown, so that undescribed elements are allowed, too. */
	isOpen: boolean;
	/** The items, if this is an array in SOAP's encoding. */
	arrayOf: ElementUse | null;
	faults: Set<string>;
}

export function readContent(component: Component, context: TypeContext): Content {
	const faults = new Set<string>();
	const content = readType(component, { ...context, faults, schema: component.schema, open: new Set(), budget: { particles: 0 } });
	const attributes = content.attributes.filter(({ isProhibited }) => !isProhibited);
	const attributeKey = createKeys();
	return {
		...content,
		attributes: attributes.map((attribute) => ({ ...attribute, key: attributeKey(attribute.name, attribute.key) })),
		items: withKeys(content.items),
	};
}

const empty = (faults: Set<string>): Content => ({
	items: [],
	attributes: [],
	text: null,
	isMixed: false,
	takesAttributes: false,
	isOpen: false,
	arrayOf: null,
	faults,
});

function readType({ node, schema }: Component, outer: Visit): Content {
	const visit: Visit = { ...outer, schema, open: new Set([...outer.open, node]) };
	const [complex] = childrenOf(node, XSD, 'complexContent');
	const [simple] = childrenOf(node, XSD, 'simpleContent');
	const derivation = [complex, simple].flatMap((content) => (content ? childrenOf(content, XSD, 'extension', 'restriction') : []))[0];
	if (!derivation) return { ...direct(node, visit), isMixed: isTrue(node, 'mixed') };
	const own = direct(derivation, visit);
	const name = nameIn(derivation, 'base');
	if (simple) return withText(derivation, name, own, visit);
	const isMixed = isTrue(complex ?? node, 'mixed') || isTrue(node, 'mixed');
	if (name && isEncoding(name.uri) && name.local === 'Array') return { ...own, items: [], arrayOf: arrayItem(derivation, own, visit) };
	const base = name ? readBase(name, visit) : empty(visit.faults);
	if (derivation.local === 'restriction') return { ...own, attributes: inherit(base.attributes, own.attributes), isMixed };
	return {
		...own,
		items: [...base.items, ...own.items],
		attributes: inherit(base.attributes, own.attributes),
		text: base.text,
		isMixed: isMixed || base.isMixed,
		takesAttributes: base.takesAttributes || own.takesAttributes,
		isOpen: base.isOpen,
		arrayOf: base.arrayOf,
	};
}

function readBase(name: Name, visit: Visit): Content {
	if (name.uri === XSD) return empty(visit.faults);
	const found = visit.components.find('type', name);
	const base = unopened(found, visit.open);
	if (!found) return lose(`the type ${show(name)} is not defined: its members are left out`, name, visit);
	if (!base || visit.open.size > MAX_OPEN) return lose(`the type ${show(name)} is derived from itself`, name, visit);
	return isXsd(base.node, 'complexType') ? readType(base, visit) : empty(visit.faults);
}

function lose(fault: string, name: Name, { faults }: Visit): Content {
	if (!isWellKnown(name.uri)) faults.add(fault);
	return { ...empty(faults), isOpen: true };
}

/** Adds the text of the base, which is a simple type or a complex one with simple content, and may be restricted (§3.4.2). */
function withText(derivation: XmlElement, name: Name | null, own: Content, visit: Visit): Content {
	const base = name === null || name.uri === XSD ? null : unopened(visit.components.find('type', name), visit.open);
	const inherited = base && isXsd(base.node, 'complexType') && visit.open.size < MAX_OPEN ? readType(base, visit) : null;
	const [anonymous] = childrenOf(derivation, XSD, 'simpleType');
	const isNarrowed = derivation.local === 'restriction' && (anonymous !== undefined || inherited === null);
	const text = isNarrowed
		? visit.simpleTypes.at({ node: derivation, schema: visit.schema, original: null }, visit.faults)
		: (inherited?.text ?? (name ? visit.simpleTypes.named(name, visit.faults) : builtIn('string')));
	const takesAttributes = own.takesAttributes || (derivation.local === 'extension' && inherited?.takesAttributes === true);
	return { ...own, items: [], text, takesAttributes, attributes: inherit(inherited?.attributes ?? [], own.attributes) };
}

/** Joins attributes; of two with one name the later takes precedence. */
function inherit(base: AttributeUse[], own: AttributeUse[]): AttributeUse[] {
	const all = new Map([...base, ...own].map((attribute) => [keyOf(attribute.name), attribute]));
	return [...all.values()];
}

function direct(node: XmlElement, visit: Visit): Content {
	const particles = childrenOf(node, XSD, 'sequence', 'choice', 'all', 'group').flatMap((child) => readParticle(child, visit));
	return { ...empty(visit.faults), items: particles, ...readAttributes(node, visit) };
}

/** Returns the items of an array (SOAP 1.1 §5.4.2): the type in `arrayType`, or the one element of the restriction. */
function arrayItem(derivation: XmlElement, { items }: Content, visit: Visit): ElementUse {
	const written = childrenOf(derivation, XSD, 'attribute').find((child) => nameIn(child, 'ref')?.local === 'arrayType');
	const arrayType = written ? attributeOf(written, 'arrayType', WSDL) : null;
	const [group] = items;
	const [element] = group && 'items' in group ? group.items : [];
	if (element?.of === 'element' && arrayType === null) return { ...element, min: 0, max: Number.POSITIVE_INFINITY };
	const name =
		arrayType && written
			? nameIn({ ...written, attributes: [{ local: 'type', uri: '', value: arrayType.replace(/\[.*$/, '') }] }, 'type')
			: null;
	return {
		of: 'element',
		name: { uri: '', local: 'item' },
		key: 'item',
		min: 0,
		max: Number.POSITIVE_INFINITY,
		type: name ? typeNamed(name, visit) : { any: true },
		isNillable: true,
		fixed: null,
		fallback: null,
		node: derivation,
	};
}
