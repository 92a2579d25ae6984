// Models of complex types by which the executor writes and reads: elements in their order, qualified names, types of text. They are
// part of the config of a `soap` tool, so they are kept small: an absent member means no, one, or the name itself.

import type { Json, JsonObject } from '../../core/index.ts';
import type { AttributeUse } from './xsd/attributes.ts';
import type { ElementUse, TypeUse } from './xsd/elements.ts';
import type { Particle } from './xsd/particles.ts';
import type { SimpleType } from './xsd/simple-types.ts';
import type { Definition, Types } from './xsd/types.ts';

export interface Modelled {
	model: JsonObject;
	references: Definition[];
	/** Numbers of the namespaces that the model refers to. */
	namespaces: Set<number>;
}

export interface Models {
	of(definition: Definition): Modelled;
	element(use: ElementUse, isMany: boolean, owner: string): Modelled;
	/** Makes the model that replaces a type that is left out: its members go into its namespace. */
	leftOut(definition: Definition): Modelled;
	/** Returns namespaces by the numbers that models use. */
	namespaces(numbers: Iterable<number>): JsonObject;
	numberOf(uri: string): number;
}

export function createModels(types: Types): Models {
	const uris: string[] = [];
	const numbers = new Map<string, number>();
	const numberOf = (uri: string): number => {
		const known = numbers.get(uri);
		if (known !== undefined) return known;
		numbers.set(uri, uris.push(uri) - 1);
		return uris.length - 1;
	};

	function of(definition: Definition): Modelled {
		const { content, counts, id, name, isAbstract, subtypes } = definition;
		const modelled: Modelled = { model: {}, references: [], namespaces: new Set() };
		const isMany = (key: string): boolean => (counts.get(key)?.max ?? 1) > 1;
		const items = content.items.map((particle) => particleOf(particle, isMany, id, modelled));
		const hasText = content.text !== null || content.isMixed;
		modelled.model = {
			...(name ? { qname: [qualify(name.uri, modelled), name.local] } : {}),
			...(items.length > 0 ? { of: items } : {}),
			...(content.attributes.length > 0 ? { attributes: content.attributes.map((attribute) => attributeOf(attribute, modelled)) } : {}),
			...(hasText ? { text: content.text ? textType(content.text) : 'xs:string' } : {}),
			...(isAbstract ? { abstract: true } : {}),
			...(content.takesAttributes ? { anyAttribute: true } : {}),
			...(content.isOpen ? { open: true } : {}),
			...(subtypes.size > 0 ? { subtypes: Object.fromEntries([...subtypes].map(([value, subtype]) => [value, subtype.id])) } : {}),
			...(content.arrayOf ? { array: elementOf(content.arrayOf, true, id, modelled) } : {}),
		};
		modelled.references.push(...subtypes.values());
		return modelled;
	}

	function particleOf(particle: Particle, isMany: (key: string) => boolean, owner: string, modelled: Modelled): JsonObject {
		if (particle.of === 'element') return { ...elementOf(particle, isMany(particle.key), owner, modelled), ...occurrence(particle) };
		if (particle.of === 'any') return { any: true };
		return { [particle.of]: particle.items.map((item) => particleOf(item, isMany, owner, modelled)), ...occurrence(particle) };
	}

	function elementOf(use: ElementUse, isMany: boolean, owner: string, modelled: Modelled): JsonObject {
		const { name, key, isNillable, fixed } = use;
		return {
			name: name.local,
			...(key === name.local ? {} : { key }),
			...(name.uri === '' ? {} : { ns: qualify(name.uri, modelled) }),
			type: typeOf(use.type, `${owner}_${name.local}`, modelled),
			...(isMany ? { many: true } : {}),
			...(isNillable ? { nil: true } : {}),
			...(fixed === null ? {} : { fixed }),
		};
	}

	function typeOf(type: TypeUse, owner: string, modelled: Modelled): string {
		if ('any' in type) return 'xs:anyType';
		if ('simple' in type) return textType(type.simple);
		const definition = types.complex(type, owner);
		modelled.references.push(definition);
		return definition.id;
	}

	function attributeOf({ name, key, type, isRequired, fixed }: AttributeUse, modelled: Modelled): JsonObject {
		return {
			name: name.local,
			...(key === `@${name.local}` ? {} : { key }),
			...(name.uri === '' ? {} : { ns: qualify(name.uri, modelled) }),
			type: textType(type),
			...(isRequired && fixed !== null ? { fixed } : {}),
		};
	}

	function qualify(uri: string, { namespaces }: Modelled): number {
		const number = numberOf(uri);
		namespaces.add(number);
		return number;
	}

	return {
		of,
		numberOf,
		element(use, isMany, owner) {
			const modelled: Modelled = { model: {}, references: [], namespaces: new Set() };
			modelled.model = elementOf(use, isMany, owner, modelled);
			return modelled;
		},
		leftOut({ name, content }) {
			const modelled: Modelled = { model: {}, references: [], namespaces: new Set() };
			const uri = firstElement(content.items)?.name.uri ?? '';
			modelled.model = {
				open: true,
				...(name ? { qname: [qualify(name.uri, modelled), name.local] } : {}),
				...(uri === '' ? {} : { ns: qualify(uri, modelled) }),
			};
			return modelled;
		},
		namespaces: (used) => Object.fromEntries([...used].toSorted((a, b) => a - b).map((number) => [String(number), uris[number] ?? ''])),
	};
}

/** Writes `xs:int`, or `xs:int*` for a list. */
const textType = ({ base, isList }: SimpleType): string => `xs:${base}${isList ? '*' : ''}`;

const occurrence = ({ min, max }: { min: number; max: number }): { [key: string]: Json } => ({
	...(min === 0 ? { optional: true } : {}),
	...(max > 1 ? { most: Number.isFinite(max) ? max : 0 } : {}),
});

function firstElement(items: readonly Particle[]): ElementUse | null {
	for (const particle of items) {
		if (particle.of === 'element') return particle;
		const inside = 'items' in particle ? firstElement(particle.items) : null;
		if (inside) return inside;
	}
	return null;
}
