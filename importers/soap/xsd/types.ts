// Complex types by their names among the definitions of a tool: each is read once, when it is first needed.

import { createHash } from 'node:crypto';
import { cleanText, type XmlElement } from '../../../core/index.ts';
import { childrenOf, isTrue, keyOf, type Name, show, XSD } from '../names.ts';
import type { Component, Components } from './components.ts';
import { type Content, readContent } from './content.ts';
import type { ComplexUse, ElementUse } from './elements.ts';
import type { Particle } from './particles.ts';
import { createSimpleTypes, type SimpleTypes } from './simple-types.ts';

/** A complex type, or one made for a message of several parts. */
export interface Definition {
	/** Name among the definitions. */
	id: string;
	/** Name in the schema; null for an anonymous type. */
	name: Name | null;
	description: string;
	isAbstract: boolean;
	content: Content;
	/** Occurrence of each element in the type, by its key. */
	counts: ReadonlyMap<string, Count>;
	/** Types that may replace this one, by the value of `@xsi:type`. */
	subtypes: ReadonlyMap<string, Definition>;
}

export interface Count {
	element: ElementUse;
	min: number;
	max: number;
}

export interface Types {
	components: Components;
	simpleTypes: SimpleTypes;
	/** @param owner name of the element's owner, after which an anonymous type is named */
	complex(use: ComplexUse, owner: string): Definition;
	/** Makes a type that no schema defines, such as that of a message's parts. */
	made(owner: string, items: Particle[]): Definition;
}

const MAX_ID_CHARS = 100;
const MAX_DESCRIPTION_CHARS = 500;

export function createTypes(components: Components): Types {
	const context = { components, simpleTypes: createSimpleTypes(components) };
	const global = nameGlobally(components);
	const taken = new Set(global.values());
	const known = new Map<XmlElement, Definition>();

	const fresh = (wanted: string): string => {
		const base = plain(wanted);
		let id = base;
		for (let count = 2; taken.has(id); count++) id = `${base}_${count}`;
		taken.add(id);
		return id;
	};

	function define(component: Component, name: Name | null, owner: string): Definition {
		const found = known.get(component.node);
		if (found) return found;
		const id = (name && global.get(keyOf(name))) ?? fresh(owner);
		const content = readContent(component, context);
		const definition: Definition = {
			id,
			name,
			description: describe(component.node, MAX_DESCRIPTION_CHARS),
			isAbstract: isTrue(component.node, 'abstract'),
			content,
			counts: countAll(content.items),
			subtypes: new Map(),
		};
		known.set(component.node, definition);
		return name ? Object.assign(definition, { subtypes: subtypesOf(name, content.faults) }) : definition;
	}

	function subtypesOf(name: Name, faults: Set<string>): Map<string, Definition> {
		const { names, isCut } = components.derivedFrom(name);
		if (isCut) faults.add(`more than ${names.length} types are derived from ${show(name)}: only those can be given`);
		const subtypes = new Map<string, Definition>();
		for (const subtype of names) {
			const component = components.find('type', subtype);
			const definition = component && define(component, subtype, subtype.local);
			const isUnique = names.filter(({ local }) => local === subtype.local).length === 1 && subtype.local !== name.local;
			if (definition && !definition.isAbstract) subtypes.set(isUnique ? subtype.local : keyOf(subtype), definition);
		}
		return subtypes;
	}

	const made = (owner: string, items: Particle[]): Definition => ({
		id: fresh(owner),
		name: null,
		description: '',
		isAbstract: false,
		content: { items, attributes: [], text: null, isMixed: false, takesAttributes: false, isOpen: false, arrayOf: null, faults: new Set() },
		counts: countAll(items),
		subtypes: new Map(),
	});

	return { ...context, complex: (use, owner) => ('made' in use ? use.made : define(use.complex, use.name, owner)), made };
}

/** Names global types. If two namespaces share a name, both get a hash, so that names do not depend on the order. */
function nameGlobally(components: Components): Map<string, string> {
	const names = components.list('type');
	const shared = Map.groupBy(names, ({ local }) => plain(local));
	return new Map(
		names.map((name) => {
			const id = plain(name.local);
			return [keyOf(name), (shared.get(id)?.length ?? 0) > 1 ? `${id}_${hash(keyOf(name))}` : id];
		}),
	);
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** Makes a name that fits into `#/$defs/…`. */
function plain(name: string): string {
	const safe = name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, MAX_ID_CHARS);
	return safe === name ? safe : `${safe.slice(0, MAX_ID_CHARS - 9)}_${hash(name)}`;
}

/** Counts elements: the sum in a sequence, the maximum in a choice, multiplied by the occurrence of the groups around them. */
function countAll(items: readonly Particle[]): Map<string, Count> {
	const sum = new Map<string, Count>();
	for (const particle of items) {
		for (const [key, { element, min, max }] of countOne(particle)) {
			const known = sum.get(key);
			sum.set(key, { element: known?.element ?? element, min: (known?.min ?? 0) + min, max: (known?.max ?? 0) + max });
		}
	}
	return sum;
}

function countOne(particle: Particle): Map<string, Count> {
	if (particle.of === 'any') return new Map();
	const { min, max } = particle;
	if (particle.of === 'element') return new Map([[particle.key, { element: particle, min, max }]]);
	const inside = particle.of === 'choice' ? countBranches(particle.items) : countAll(particle.items);
	return new Map([...inside].map(([key, count]) => [key, { ...count, min: count.min * min, max: count.max * max }]));
}

function countBranches(items: readonly Particle[]): Map<string, Count> {
	const branches = items.map(countOne);
	const most = new Map<string, Count>();
	for (const [key, count] of branches.flatMap((branch) => [...branch])) {
		const inAll = branches.every((branch) => branch.has(key));
		const known = most.get(key);
		const min = inAll ? Math.min(known?.min ?? count.min, count.min) : 0;
		most.set(key, { element: known?.element ?? count.element, min, max: Math.max(known?.max ?? 0, count.max) });
	}
	return most;
}

/** Returns the text of `xs:documentation`. */
export function describe(node: XmlElement, maxChars: number): string {
	const notes = childrenOf(node, XSD, 'annotation').flatMap((annotation) => childrenOf(annotation, XSD, 'documentation'));
	return cleanText(notes.map(textOf).join(' ').replace(/\s+/g, ' '), maxChars);
}

export function textOf({ text, children }: XmlElement): string {
	const pieces = children.map((child, index) => text.slice(children[index - 1]?.offset ?? 0, child.offset) + textOf(child));
	return pieces.join('') + text.slice(children.at(-1)?.offset ?? 0);
}
