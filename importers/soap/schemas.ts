// Complex types → JSON Schema 2020-12: strict enough to guide callers in a request, lenient in the description of an answer.

import { cleanText, type JsonObject } from '../../core/index.ts';
import type { AttributeUse } from './xsd/attributes.ts';
import type { ElementUse, TypeUse } from './xsd/elements.ts';
import type { GroupUse, Particle } from './xsd/particles.ts';
import { answerSchema } from './xsd/simple-types.ts';
import { type Count, type Definition, describe, type Types } from './xsd/types.ts';

export type Mode = 'request' | 'response';

export interface Written {
	schema: JsonObject;
	/** Definitions that the schema refers to by `#/$defs/`, in order. */
	references: Definition[];
}

export interface Schemas {
	/** Makes the schema of a type; with `isRoot` as the plain object that arguments are. */
	of(definition: Definition, mode: Mode, isRoot: boolean): Written;
	/** Makes the schema of an element's value, of a list if the element may occur more than once. */
	element(count: Count, owner: string, mode: Mode): Written;
}

const TYPE = '@xsi:type';
/** Name of `@xsi:type` among the arguments. */
const ROOT_TYPE = 'xsi_type';
const MAX_DESCRIPTION_CHARS = 500;
const MAX_ALTERNATIVES = 10;

export function createSchemas(types: Types): Schemas {
	function of(definition: Definition, mode: Mode, isRoot: boolean): Written {
		const references: Definition[] = [];
		const { arrayOf } = definition.content;
		if (arrayOf) {
			const list = element({ element: arrayOf, min: 0, max: Number.POSITIVE_INFINITY }, definition.id, mode, references);
			return { schema: mode === 'request' ? list : { ...list, type: ['array', 'null'] }, references };
		}
		const properties = new Map<string, JsonObject>();
		const subtypes = [...definition.subtypes];
		if (subtypes.length > 0)
			properties.set(
				TYPE,
				typeSchema(
					definition,
					subtypes.map(([value]) => value),
					mode,
				),
			);
		addMembers(definition, mode, properties, references);
		for (const [value, subtype] of subtypes) addMembers(subtype, mode, properties, references, `${isRoot ? ROOT_TYPE : TYPE} ${value}`);
		const isOpen = mode === 'response' || [definition, ...subtypes.map(([, subtype]) => subtype)].some(takesMore);
		const words = [mode === 'request' ? definition.description : '', mode === 'request' ? choicesOf(definition) : '']
			.filter(Boolean)
			.join(' ');
		const schema: JsonObject = {
			type: mode === 'response' && !isRoot ? ['object', 'null'] : 'object',
			...(words === '' ? {} : { description: words }),
			properties: Object.fromEntries(properties),
			...(mode === 'request' ? requirements(definition, subtypes.length > 0, isRoot) : {}),
			...(isOpen ? {} : { additionalProperties: false }),
		};
		return { schema, references };
	}

	/** Adds the members of a type, or those that a subtype adds to it. @param subtype how the description names the subtype */
	function addMembers(
		definition: Definition,
		mode: Mode,
		properties: Map<string, JsonObject>,
		references: Definition[],
		subtype?: string,
	): void {
		const { content, counts, id } = definition;
		const put = (key: string, schema: JsonObject): void => {
			const known = properties.get(key);
			if (known === undefined)
				properties.set(key, subtype === undefined || mode === 'response' ? schema : noted(schema, `Only with ${subtype}.`));
			// Subtypes disagree: the executor knows which one is meant.
			else if (subtype !== undefined && !isSame(known, schema)) properties.set(key, {});
		};
		for (const attribute of content.attributes) put(attribute.key, attributeSchema(attribute, mode));
		if (content.text) put('$value', mode === 'request' ? content.text.schema : answerSchema(content.text));
		else if (content.isMixed) put('$value', { type: mode === 'request' ? 'string' : ['string', 'null'] });
		for (const [key, count] of counts) put(key, element(count, id, mode, references));
	}

	function element({ element: use, min, max }: Count, owner: string, mode: Mode, references: Definition[]): JsonObject {
		const single = valueSchema(use.type, `${owner}_${use.name.local}`, mode, references);
		const item = use.isNillable && mode === 'request' ? orNull(single) : single;
		const note = mode === 'request' ? noteOf(use) : '';
		if (max <= 1) return note === '' ? item : noted(item, note);
		const limits = { ...(min > 0 ? { minItems: min } : {}), ...(Number.isFinite(max) ? { maxItems: max } : {}) };
		const list: JsonObject = { type: 'array', items: item, ...(mode === 'request' ? limits : {}) };
		return note === '' ? list : noted(list, note);
	}

	function valueSchema(type: TypeUse, owner: string, mode: Mode, references: Definition[]): JsonObject {
		if ('any' in type) return {};
		if ('simple' in type) return mode === 'request' ? type.simple.schema : answerSchema(type.simple);
		const definition = types.complex(type, owner);
		references.push(definition);
		return { $ref: `#/$defs/${definition.id}` };
	}

	return {
		of,
		element(count, owner, mode) {
			const references: Definition[] = [];
			return { schema: element(count, owner, mode, references), references };
		},
	};
}

/** Whether undescribed members are accepted. */
function takesMore({ content }: Definition): boolean {
	const hasAny = (particle: Particle): boolean => particle.of === 'any' || ('items' in particle && particle.items.some(hasAny));
	return content.isOpen || content.takesAttributes || content.items.some(hasAny);
}

function typeSchema(definition: Definition, values: string[], mode: Mode): JsonObject {
	if (mode === 'response') return { type: ['string', 'null'] };
	const own = definition.isAbstract || !definition.name ? [] : [definition.name.local];
	return {
		enum: [...own, ...values],
		description: own.length > 0 ? `Which type the value is of, by default ${own[0]}.` : 'Which type the value is of.',
	};
}

function attributeSchema({ type, node, fixed, fallback }: AttributeUse, mode: Mode): JsonObject {
	if (mode === 'response') return answerSchema(type);
	const note = noteOf({ node, fixed, fallback });
	return note === '' ? type.schema : noted(type.schema, note);
}

/** Describes an element, with its default, which is not filled in: the server applies its own. */
function noteOf({ node, fixed, fallback }: Pick<ElementUse, 'node' | 'fixed' | 'fallback'>): string {
	const said = fixed !== null ? `Always: ${cleanText(fixed, 200)}.` : fallback !== null ? `Default: ${cleanText(fallback, 200)}.` : '';
	return [describe(node, MAX_DESCRIPTION_CHARS), said].filter(Boolean).join(' ');
}

function noted(schema: JsonObject, note: string): JsonObject {
	const before = schema['description'];
	return { ...schema, description: typeof before === 'string' ? `${note} ${before}` : note };
}

function orNull(schema: JsonObject): JsonObject {
	const { type, enum: values, anyOf } = schema;
	if (schema['$ref'] !== undefined) return { anyOf: [schema, { type: 'null' }] };
	if (type === undefined) return Array.isArray(anyOf) ? { ...schema, anyOf: [...anyOf, { type: 'null' }] } : schema;
	return {
		...schema,
		type: [...(Array.isArray(type) ? type : [type]), 'null'],
		...(Array.isArray(values) ? { enum: [...values, null] } : {}),
	};
}

const withoutWords = ({ description: _, ...schema }: JsonObject): JsonObject => schema;
const isSame = (a: JsonObject, b: JsonObject): boolean => JSON.stringify(withoutWords(a)) === JSON.stringify(withoutWords(b));

/** Lists members that are always required; fixed values are written by the executor. */
function requirements({ content, counts, isAbstract }: Definition, hasSubtypes: boolean, isRoot: boolean): JsonObject {
	const required = [
		...(isAbstract && hasSubtypes ? [TYPE] : []),
		...content.attributes.filter(({ isRequired, fixed }) => isRequired && fixed === null).map(({ key }) => key),
		...(content.text && !content.text.isList && content.text.schema['type'] !== 'string' ? ['$value'] : []),
		...[...counts].filter(([, { min, element }]) => min > 0 && element.fixed === null).map(([key]) => key),
	];
	const alternatives = isRoot || hasSubtypes ? [] : exclusive(content.items, counts);
	return {
		...(required.length > 0 ? { required } : {}),
		...(alternatives.length > 1 ? { oneOf: alternatives.map((key) => ({ required: [key] })) } : {}),
	};
}

/** Returns the keys of a choice of which exactly one element is required, if a schema can express it. */
function exclusive(items: readonly Particle[], counts: Definition['counts']): string[] {
	const inside = items.flatMap((particle) => (particle.of === 'sequence' && isOnce(particle) ? particle.items : [particle]));
	const [choice] = inside.flatMap((particle) => (particle.of === 'choice' ? [particle] : []));
	if (!choice || !isOnce(choice) || choice.items.length > MAX_ALTERNATIVES) return [];
	const keys = choice.items.map((item) =>
		item.of === 'element' && item.min > 0 && counts.get(item.key)?.max === item.max ? item.key : null,
	);
	const usable = keys.filter((key) => key !== null);
	return new Set(usable).size === keys.length ? usable : [];
}

const isOnce = ({ min, max }: GroupUse): boolean => min === 1 && max === 1;

/** Describes choices in words, since not every choice can be expressed in a schema that models and clients accept. */
function choicesOf({ content }: Definition): string {
	const said: string[] = [];
	const walk = (particle: Particle): void => {
		if (!('items' in particle)) return;
		if (particle.of === 'choice' && particle.max === 1) {
			const names = particle.items.map((item) => keysOf(item).join(' with ')).filter(Boolean);
			if (names.length > 1) said.push(`${particle.min === 0 ? 'At most one' : 'One'} of: ${names.slice(0, 20).join(', ')}.`);
		}
		particle.items.forEach(walk);
	};
	content.items.forEach(walk);
	return cleanText(said.join(' '), MAX_DESCRIPTION_CHARS);
}

function keysOf(particle: Particle): string[] {
	if (particle.of === 'any') return [];
	return particle.of === 'element' ? [particle.key] : particle.items.flatMap(keysOf);
}
