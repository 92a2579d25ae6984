// The model that importers write of an operation's messages: elements in their order, qualified names, types of text. Namespaces
// are numbers of the config's `namespaces`; a type is `xs:int`, `xs:int*` for a list of them, or one of the config's `types`.

import { isNcName, isObject } from '../../../core/index.ts';

export interface ElementModel {
	name: string;
	/** Name of the JSON property, if it is not `name`. */
	key?: string;
	/** Number of the namespace; absent for none. */
	ns?: number;
	type: string;
	/** Whether the element may occur more than once in its type, and so is a list in JSON. */
	many?: boolean;
	nil?: boolean;
	fixed?: string;
	optional?: boolean;
	/** Most occurrences at this position: 0 means no limit, absent means once. */
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
	/** Name of the JSON property, if it is not `@` and the name. */
	key?: string;
	ns?: number;
	type: string;
	/** Value that is written if the argument is absent. */
	fixed?: string;
}

export interface TypeModel {
	qname?: [ns: number, local: string];
	of?: Particle[];
	attributes?: AttributeModel[];
	/** Type of its character data, `$value` in JSON. */
	text?: string;
	abstract?: boolean;
	/** Whether undescribed attributes are accepted. */
	anyAttribute?: boolean;
	/** Whether undescribed members are accepted, which go into the namespace `ns`, and undescribed attributes. */
	open?: boolean;
	ns?: number;
	/** Types that may replace this one, by the value of `@xsi:type`. */
	subtypes?: Record<string, string>;
	/** The items, if this is an array in SOAP's encoding. */
	array?: ElementModel;
}

export interface MessageModel {
	/** The arguments or results are the `content` of the one element, its `value`, or the several `elements` of `type`. */
	root: 'content' | 'value' | 'elements';
	element?: ElementModel;
	type?: string;
	encoded?: boolean;
	/** Type whose elements are the header's; `headerKey` is the argument or member of the result that holds it. */
	header?: string;
	headerKey?: string;
	/** Members of the content, by the arguments that have another name. */
	arguments?: Record<string, string>;
}

export const isElement = (particle: Particle): particle is ElementModel => 'name' in particle;
export const keyOf = ({ key, name }: ElementModel): string => key ?? name;
export const attributeKey = ({ key, name }: AttributeModel): string => key ?? `@${name}`;

/** Returns the particles of a group of any kind. */
export const itemsOf = ({ sequence, choice, all }: GroupModel): Particle[] => sequence ?? choice ?? all ?? [];

export function elementsOf(particles: readonly Particle[]): ElementModel[] {
	return particles.flatMap((particle) => (isElement(particle) ? [particle] : elementsOf(itemsOf(particle))));
}

export const takesAny = (particles: readonly Particle[]): boolean =>
	particles.some((particle) => !isElement(particle) && (particle.any === true || takesAny(itemsOf(particle))));

/** Whether a particle may be empty. */
export const isEmptiable = (particle: Particle): boolean => {
	if (particle.optional) return true;
	if (isElement(particle)) return false;
	return particle.choice ? particle.choice.some(isEmptiable) : particle.any === true || itemsOf(particle).every(isEmptiable);
};

const MAX_NESTING = 200;

/** Finds the fault of `types`, as the rest of a sentence; null if there is none. Takes 2 ms for the largest. */
export function typesFault(types: unknown): string | null {
	if (!isObject(types)) return 'must be an object of types by their names';
	const odd = Object.entries(types).find(([, type]) => !isType(type));
	return odd ? `holds ${JSON.stringify(odd[0].slice(0, 100))}, which is not the model of a type` : null;
}

/** Finds the fault of a message's element, as the rest of a sentence. */
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
