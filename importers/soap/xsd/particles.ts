// Reads particles (XML Schema Part 1, §3.8 and §3.9): sequences, choices and groups of elements, in the order of the schema.

import type { XmlElement } from '../../../core/index.ts';
import { childrenOf, isTrue, isWellKnown, isXsd, keyOf, type Name, nameIn, show, tokenOf, XSD } from '../names.ts';
import { type SchemaContext, unopened } from './components.ts';
import { type ElementUse, globalElement, isUsable, localElement, type Occurrence, type TypeContext } from './elements.ts';

export interface GroupUse {
	of: 'sequence' | 'choice' | 'all';
	min: number;
	max: number;
	items: Particle[];
}

export type Particle = ElementUse | GroupUse | { of: 'any'; min: number; max: number };

/** The state of reading one complex type. */
export interface Visit extends TypeContext {
	faults: Set<string>;
	schema: SchemaContext;
	/** Types, groups and attribute groups that are being read, which are not entered again. */
	open: ReadonlySet<XmlElement>;
	budget: { particles: number };
}

const MAX_PARTICLES = 2_000;
export const MAX_OPEN = 60;

export function readParticle(node: XmlElement, visit: Visit): Particle[] {
	const { min, max } = occurrence(node);
	if (max === 0) return [];
	if (++visit.budget.particles > MAX_PARTICLES) {
		visit.faults.add(`a type has more than ${MAX_PARTICLES} elements: the others are left out`);
		return [];
	}
	if (node.local === 'element') return readElement(node, { min, max }, visit);
	if (node.local === 'any') return [{ of: 'any', min, max }];
	if (node.local === 'group') return readGroup(node, { min, max }, visit);
	const items = node.children.filter((child) => isXsd(child, 'element', 'any', 'group', 'sequence', 'choice', 'all'));
	const read = items.flatMap((child) => readParticle(child, visit));
	if (read.length === 0) return [];
	return [{ of: node.local === 'choice' ? 'choice' : node.local === 'all' ? 'all' : 'sequence', min, max, items: read }];
}

function readGroup(node: XmlElement, { min, max }: { min: number; max: number }, visit: Visit): Particle[] {
	const name = nameIn(node, 'ref');
	const found = name && visit.components.find('group', name);
	const group = unopened(found, visit.open);
	if (!name || !group || visit.open.size > MAX_OPEN) {
		visit.faults.add(`the group ${name ? show(name) : 'without a name'} ${found ? 'holds itself' : 'is not defined'}: it is left out`);
		return [];
	}
	const inner: Visit = { ...visit, schema: group.schema, open: new Set([...visit.open, group.node]) };
	const items = childrenOf(group.node, XSD, 'sequence', 'choice', 'all').flatMap((child) => readParticle(child, inner));
	return items.length === 0 ? [] : [{ of: 'sequence', min, max, items }];
}

function occurrence(node: XmlElement): Occurrence {
	const count = (attribute: string): number => {
		const value = tokenOf(node, attribute) ?? '1';
		if (value === 'unbounded') return Number.POSITIVE_INFINITY;
		const number = Number(value);
		return Number.isSafeInteger(number) && number >= 0 ? number : 1;
	};
	const [min, max] = [count('minOccurs'), count('maxOccurs')];
	return { min: Math.min(Number.isFinite(min) ? min : 1, max), max };
}

function readElement(node: XmlElement, { min, max }: Occurrence, visit: Visit): Particle[] {
	const reference = nameIn(node, 'ref');
	if (!reference) return isUsable(node, visit) ? [localElement(node, { min, max }, visit)] : [];
	const elements = elementAndSubstitutes(reference, visit).flatMap((name) => globalElement(name, { min, max }, visit));
	visit.budget.particles += elements.length;
	const [only] = elements;
	if (elements.length === 0) {
		if (!isWellKnown(reference.uri)) visit.faults.add(`the element ${show(reference)} is not defined: it accepts anything`);
		return [
			{
				of: 'element',
				name: reference,
				key: reference.local,
				min,
				max,
				type: { any: true },
				isNillable: true,
				fixed: null,
				fallback: null,
				node,
			},
		];
	}
	if (elements.length === 1 && only) return [only];
	return [{ of: 'choice', min, max, items: elements.map((element) => ({ ...element, min: 1, max: 1 })) }];
}

/** Returns the head, unless it is abstract, and all elements that may be substituted for it (§3.3.4). */
function elementAndSubstitutes(name: Name, { components, faults }: Visit): Name[] {
	const { names, isCut } = components.substitutesOf(name);
	if (isCut) faults.add(`more than ${names.length} elements can be substituted for ${show(name)}: only those can be given`);
	const head = components.find('element', name);
	return head && isTrue(head.node, 'abstract') ? names : [name, ...names];
}

/** Makes a function that returns one key for each name: the second of two with the same local name gets a number. */
export function createKeys(): (name: Name, wanted: string) => string {
	const keys = new Map<string, string>();
	const taken = new Set<string>();
	return (name, wanted) => {
		const known = keys.get(keyOf(name));
		if (known !== undefined) return known;
		let key = wanted;
		for (let count = 2; taken.has(key); count++) key = `${wanted}_${count}`;
		taken.add(key);
		keys.set(keyOf(name), key);
		return key;
	};
}

export function withKeys(items: Particle[]): Particle[] {
	const keyFor = createKeys();
	const walk = (particle: Particle): Particle => {
		if (particle.of === 'any') return particle;
		if (particle.of === 'element') return { ...particle, key: keyFor(particle.name, particle.name.local) };
		return { ...particle, items: particle.items.map(walk) };
	};
	return items.map(walk);
}
