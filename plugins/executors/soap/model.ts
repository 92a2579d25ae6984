// What importers write of the messages of an operation: elements in their order, qualified names, types of text. Namespaces
// are numbers of the config's `namespaces`; a type is `xs:int`, `xs:int*` for a list of them, or one of the config's `types`.

import { isNcName, isObject } from '../../../core/index.ts';

export interface ElementModel {
	name: string;
	/** Of the JSON property, where it is not the name. */
	key?: string;
	/** Absent: of no namespace. */
	ns?: number;
	type: string;
	/** It may stand in its type more than once: a list in JSON. */
	many?: boolean;
	nil?: boolean;
	fixed?: string;
	optional?: boolean;
	/** How often at this place, 0 without limit. Absent: once. */
	most?: number;
}

export interface GroupModel {
	sequence?: Particle[];
	choice?: Particle[];
	all?: Particle[];
	any?: boolean;
	optional?: boolean;
	most?: number;
}

export type Particle = ElementModel | GroupModel;

export interface AttributeModel {
	name: string;
	/** Of the JSON property, where it is not `@` and the name. */
	key?: string;
	ns?: number;
	type: string;
	/** Written where it is absent. */
	fixed?: string;
}

export interface TypeModel {
	qname?: [ns: number, local: string];
	of?: Particle[];
	attributes?: AttributeModel[];
	/** Type of its character data, `$value` in JSON. */
	text?: string;
	abstract?: boolean;
	/** Attributes that are not told are taken. */
	anyAttribute?: boolean;
	/** Members that are not told are taken, and go into the namespace `ns`; attributes, too. */
	open?: boolean;
	ns?: number;
	/** Types that may stand in its place, by what `@xsi:type` says. */
	subtypes?: Record<string, string>;
	/** An array in SOAP's encoding: its items. */
	array?: ElementModel;
}

export interface MessageModel {
	/** Arguments or results are the `content` of the one element, its `value`, or several `elements`, those of `type`. */
	root: 'content' | 'value' | 'elements';
	element?: ElementModel;
	type?: string;
	encoded?: boolean;
	/** Type whose elements are the header's, and the argument or member of the result that it is. */
	header?: string;
	headerKey?: string;
	/** Members of the content, by arguments that are called otherwise. */
	arguments?: Record<string, string>;
}

export const isElement = (particle: Particle): particle is ElementModel => 'name' in particle;
export const keyOf = ({ key, name }: ElementModel): string => key ?? name;
export const attributeKey = ({ key, name }: AttributeModel): string => key ?? `@${name}`;

/** The content of a group, however it is ordered. */
export const itemsOf = ({ sequence, choice, all }: GroupModel): Particle[] => sequence ?? choice ?? all ?? [];

export function elementsOf(particles: readonly Particle[]): ElementModel[] {
	return particles.flatMap((particle) => (isElement(particle) ? [particle] : elementsOf(itemsOf(particle))));
}

export const takesAny = (particles: readonly Particle[]): boolean =>
	particles.some((particle) => !isElement(particle) && (particle.any === true || takesAny(itemsOf(particle))));

/** Whether nothing at all is an instance of it. */
export const isEmptiable = (particle: Particle): boolean => {
	if (particle.optional) return true;
	if (isElement(particle)) return false;
	return particle.choice ? particle.choice.some(isEmptiable) : particle.any === true || itemsOf(particle).every(isEmptiable);
};

const MAX_NESTING = 200;

/** What is wrong with `types`, as the rest of a sentence; null when nothing is. Costs 2 ms for the largest. */
export function typesFault(types: unknown): string | null {
	if (!isObject(types)) return 'must be an object of types by their names';
	const odd = Object.entries(types).find(([, type]) => !isType(type));
	return odd ? `holds ${JSON.stringify(odd[0].slice(0, 100))}, which is no model of a type` : null;
}

/** What is wrong with one element of a message. */
export const elementFault = (element: unknown): string | null => (isElementModel(element) ? null : 'must be the model of an element');

function isType(type: unknown): boolean {
	if (!isObject(type)) return false;
	const { qname, of = [], attributes = [], text = '', subtypes = {}, array, ns = 0 } = type;
	return (
		(qname === undefined || (Array.isArray(qname) && isCount(qname[0]) && isName(qname[1]))) &&
		isList(of, (particle) => isParticle(particle, 0)) &&
		isList(attributes, isAttribute) &&
		isText(text) &&
		isObject(subtypes) &&
		Object.values(subtypes).every(isText) &&
		(array === undefined || isElementModel(array)) &&
		isCount(ns)
	);
}

function isParticle(particle: unknown, nesting: number): boolean {
	if (!isObject(particle) || nesting > MAX_NESTING) return false;
	if ('name' in particle) return isElementModel(particle);
	const { sequence = [], choice = [], all = [], most = 0 } = particle;
	return [sequence, choice, all].every((items) => isList(items, (item) => isParticle(item, nesting + 1))) && isCount(most);
}

function isElementModel(element: unknown): boolean {
	if (!isObject(element)) return false;
	const { name, key = '', ns = 0, type, fixed = '', most = 0 } = element;
	return isName(name) && isText(key) && isCount(ns) && isText(type) && isText(fixed) && isCount(most);
}

function isAttribute(attribute: unknown): boolean {
	if (!isObject(attribute)) return false;
	const { name, key = '', ns = 0, type, fixed = '' } = attribute;
	return isName(name) && isText(key) && isCount(ns) && isText(type) && isText(fixed);
}

const isName = (value: unknown): boolean => typeof value === 'string' && isNcName(value);
const isText = (value: unknown): boolean => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isList = (value: unknown, fits: (item: unknown) => boolean): boolean => Array.isArray(value) && value.every(fits);
