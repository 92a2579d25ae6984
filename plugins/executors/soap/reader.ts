// Reads elements as JSON, by the model of their types: repeatable elements are lists, digits are kept, and so is undescribed content.

import { attributeOf, type Json, type JsonObject, resolveName, type XmlElement } from '../../../core/index.ts';
import type { SoapConfig } from './config.ts';
import { type AttributeModel, attributeKey, type ElementModel, elementsOf, keyOf, type TypeModel } from './model.ts';
import { ENCODINGS, ENVELOPES, XML, XSD, XSI } from './names.ts';
import type { Steps } from './steps.ts';
import { isListType, isNameType, readText } from './text.ts';
import { typeNamed, uriOf } from './writer.ts';

export interface Reading {
	config: SoapConfig;
	/** Attachments of the answer, by content id. */
	attachments: ReadonlyMap<string, Buffer>;
	/** Elements that others refer to, by their id, in SOAP's encoding; null in a literal message. */
	referred: ReadonlyMap<string, XmlElement> | null;
	/** Elements and characters that may still be read: an answer can refer to one of its parts, or an attachment, many times. */
	budget: { elements: number; chars: number };
	/** Names of all members, which are few: an object of many takes long to make, to copy and to print. */
	names: Set<string>;
	/** Elements, attributes and items that are read before the next step. */
	untilStep: number;
	/** Finders of child elements, by type, made on demand. */
	finders: Map<TypeModel, Finder>;
	/** Attributes by `nameKey`, and by the name alone, of types, made on demand. */
	attributes: Map<TypeModel, ReadonlyMap<string, AttributeModel>>;
	/** Subtypes by the name that `xsi:type` shows, by declared type, made on demand. */
	subtypes: Map<TypeModel, Subtypes>;
}

/** Subtypes by `nameKey`. */
type Subtypes = ReadonlyMap<string, { type: TypeModel; value: string }>;

type Finder = (child: XmlElement) => ElementModel | undefined;

const XOP = 'http://www.w3.org/2004/08/xop/include';
const MAX_ELEMENTS = 200_000;
/** Twice the characters that an answer of the largest size can hold. */
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_NAMES = 5_000;
/** So many elements, attributes and items are read in about 1 ms. */
const STEP_NODES = 500;
const MAX_DEPTH = 100;
const UNDESCRIBED: TypeModel = {};
const SCHEMELESS = new Set<string>([XSI, ...Object.values(ENVELOPES), ...Object.values(ENCODINGS)]);

/** @param root element whose descendants may be referred to. @param isEncoded whether references are followed */
export function* createReading(
	config: SoapConfig,
	root: XmlElement,
	isEncoded: boolean,
	attachments: Reading['attachments'],
): Steps<Reading> {
	const budget = { elements: MAX_ELEMENTS, chars: MAX_CHARS };
	const made = { finders: new Map(), attributes: new Map(), subtypes: new Map() };
	const referred = isEncoded ? yield* indexIds(root) : null;
	return { config, attachments, referred, budget, names: new Set(), untilStep: STEP_NODES, ...made };
}

function* indexIds(root: XmlElement): Steps<Map<string, XmlElement>> {
	const found = new Map<string, XmlElement>();
	const open = [root];
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		yield;
		const id = attributeOf(next, 'id') ?? attributeOf(next, 'id', ENCODINGS['1.2']);
		if (id !== null && !found.has(id)) found.set(id, next);
		// Spread into one call, more than some hundred thousand children would overflow the stack.
		for (const child of next.children) open.push(child);
	}
	return found;
}

/** @throws Error if the answer is too deep, too large, or refers to itself */
export function* readElement(type: string, written: XmlElement, reading: Reading, depth = 0): Steps<Json> {
	spend(sizeOf(written), reading);
	if (isStepOver(reading, 1 + written.attributes.length)) yield;
	if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels, or refers to itself`);
	const element = referredBy(written, reading);
	if (element !== written) return yield* readElement(type, element, reading, depth + 1);
	if (isNil(element)) return null;
	if (type === 'xs:anyType') return yield* readAnything(element, reading, depth);
	if (type.startsWith('xs:')) return yield* readValue(type, characters(element, reading), element, reading);
	return yield* readComplex(typeNamed(type, reading), element, reading, depth);
}

/** Counts an element or an item. @param nodes with its attributes. @returns whether a step ends before it */
function isStepOver(reading: Reading, nodes = 1): boolean {
	if (--reading.budget.elements < 0) throw new Error(`it stands for more than ${MAX_ELEMENTS} elements`);
	reading.untilStep -= nodes;
	if (reading.untilStep >= 0) return false;
	reading.untilStep = STEP_NODES;
	return true;
}

/** Reads a text in the scope of its element; each item of a list counts as an element does. */
function* readValue(type: string, text: string, within: XmlElement, reading: Reading): Steps<Json> {
	if (!isListType(type)) return readScalar(type, text, within, reading);
	const items: Json[] = [];
	for (const [item] of text.matchAll(/\S+/g)) {
		if (isStepOver(reading)) yield;
		items.push(readScalar(type, item, within, reading));
	}
	return items;
}

function readScalar(type: string, text: string, within: XmlElement, reading: Reading): Json {
	const name = isNameType(type) ? resolveName(text, within) : null;
	if (name === null || name.uri === '') return readText(type, text);
	// Each name repeats its namespace.
	spend(name.uri.length, reading);
	return `{${name.uri}}${name.local}`;
}

function spend(chars: number, { budget }: Reading): void {
	budget.chars -= chars;
	if (budget.chars < 0) throw new Error(`it stands for more than ${MAX_CHARS} characters`);
}

const sizeOf = ({ local, text, attributes }: XmlElement): number =>
	attributes.reduce((sum, attribute) => sum + attribute.local.length + attribute.value.length, local.length + text.length);

/** Follows a reference to another element: `href` in SOAP 1.1 §5.2.1, `ref` in SOAP 1.2. */
function referredBy(element: XmlElement, { referred }: Reading): XmlElement {
	const href = attributeOf(element, 'href') ?? attributeOf(element, 'ref', ENCODINGS['1.2']);
	return (href === null ? undefined : referred?.get(href.replace(/^#/, ''))) ?? element;
}

const isNil = (element: XmlElement): boolean => /^\s*(?:true|1)\s*$/.test(attributeOf(element, 'nil', XSI) ?? '');

/** Reads the text of an element, or in base64 the attachment that it includes (XOP §2.1). */
function characters({ text, children }: XmlElement, reading: Reading): string {
	const include = children.find(({ uri, local }) => uri === XOP && local === 'Include');
	if (!include) return text;
	const id = decode((attributeOf(include, 'href') ?? '').replace(/^cid:/i, ''));
	const attachment = reading.attachments.get(id);
	if (!attachment) throw new Error('it includes a part that did not come with it');
	spend(Math.ceil(attachment.length / 3) * 4, reading);
	return attachment.toString('base64');
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		// A stray percent sign stands for itself.
		return text;
	}
}

function* readComplex(declared: TypeModel, element: XmlElement, reading: Reading, depth: number): Steps<Json> {
	if (declared.array) {
		const { type } = declared.array;
		const items: Json[] = [];
		for (const child of element.children) items.push(yield* readElement(type, child, reading, depth + 1));
		return items;
	}
	const { type, value } = typeShown(declared, element, reading);
	const result = new Members(reading.names);
	if (value !== null) result.put('@xsi:type', value, false);
	yield* readAttributes(type, element, reading, result);
	const text = characters(element, reading);
	if (type.text !== undefined && (type.of === undefined || text.trim() !== ''))
		result.put('$value', yield* readValue(type.text, text, element, reading), false);
	else if (type.text === undefined && text.trim() !== '') result.put('$value', text.trim(), false);
	const find = finderOf(type, reading);
	for (const child of element.children) {
		const known = find(child);
		if (known) result.put(keyOf(known), yield* readElement(known.type, child, reading, depth + 1), known.many === true);
		else if (child.uri !== XOP) result.put(child.local, yield* readElement('xs:anyType', child, reading, depth + 1), false);
	}
	return result.json;
}

/** Returns the subtype that `xsi:type` names, or else the declared type. */
function typeShown(declared: TypeModel, element: XmlElement, reading: Reading): { type: TypeModel; value: string | null } {
	const shown = declared.subtypes && attributeOf(element, 'type', XSI);
	const name = shown ? resolveName(shown, element) : null;
	const subtype = name ? subtypesOf(declared, reading).get(nameKey(name.uri, name.local)) : undefined;
	return subtype ?? { type: declared, value: null };
}

function subtypesOf(declared: TypeModel, reading: Reading): Subtypes {
	const known = reading.subtypes.get(declared) ?? indexSubtypes(declared, reading);
	reading.subtypes.set(declared, known);
	return known;
}

/** Indexes the subtypes of a type; the first of those with one name counts. */
function indexSubtypes({ subtypes = {} }: TypeModel, reading: Reading): Subtypes {
	const found = new Map<string, { type: TypeModel; value: string }>();
	for (const [value, id] of Object.entries(subtypes)) {
		const type = typeNamed(id, reading);
		const key = type.qname && nameKey(uriOf(type.qname[0], reading), type.qname[1]);
		if (key !== undefined && !found.has(key)) found.set(key, { type, value });
	}
	return found;
}

/** Joins a name by a character that XML does not have, since either part may hold spaces. */
const nameKey = (uri: string, local: string): string => `${uri}\u0000${local}`;

function* readAttributes(type: TypeModel, element: XmlElement, reading: Reading, result: Members): Steps<void> {
	if (element.attributes.length === 0) return;
	const known = attributesOf(type, reading);
	for (const { local, uri, value } of element.attributes) {
		if (SCHEMELESS.has(uri) || (reading.referred !== null && uri === '' && (local === 'id' || local === 'href'))) continue;
		const model = known.get(nameKey(uri, local)) ?? known.get(local);
		const key = model ? attributeKey(model) : `@${uri === XML ? 'xml:' : ''}${local}`;
		result.put(key, model ? yield* readValue(model.type, value, element, reading) : value, false);
	}
}

/** Indexes the attributes of a type by their qualified names, and by their local ones alone; the first of those with one name counts. */
function attributesOf(type: TypeModel, reading: Reading): ReadonlyMap<string, AttributeModel> {
	const known = reading.attributes.get(type);
	if (known) return known;
	const found = new Map<string, AttributeModel>();
	for (const attribute of type.attributes ?? [])
		for (const key of [nameKey(uriOf(attribute.ns, reading), attribute.name), attribute.name])
			if (!found.has(key)) found.set(key, attribute);
	reading.attributes.set(type, found);
	return found;
}

function finderOf(type: TypeModel, reading: Reading): Finder {
	const known = reading.finders.get(type) ?? createFinder(type, reading);
	reading.finders.set(type, known);
	return known;
}

/** Finds elements by namespace and name, else by the name alone, since servers get namespaces wrong. */
function createFinder({ of = [] }: TypeModel, reading: Reading): Finder {
	const exact = new Map<string, ElementModel>();
	const loose = new Map<string, ElementModel>();
	for (const element of elementsOf(of)) {
		const key = `${uriOf(element.ns, reading)} ${element.name}`;
		if (!exact.has(key)) exact.set(key, element);
		if (!loose.has(element.name)) loose.set(element.name, element);
	}
	return ({ uri, local }) => exact.get(`${uri} ${local}`) ?? loose.get(local);
}

/** Reads an element without a model: as text if it holds nothing else, with lists for repeated names. */
export function* readAnything(element: XmlElement, reading: Reading, depth = 0): Steps<Json> {
	const result = new Members(reading.names);
	yield* readAttributes(UNDESCRIBED, element, reading, result);
	for (const child of element.children) {
		if (child.uri !== XOP) result.put(child.local, yield* readElement('xs:anyType', child, reading, depth + 1), false);
	}
	const text = characters(element, reading);
	if (result.isEmpty) return readScalar(builtInType(element), text, element, reading);
	if (text.trim() !== '') result.put('$value', text.trim(), false);
	return result.json;
}

function builtInType(element: XmlElement): string {
	const shown = attributeOf(element, 'type', XSI);
	const name = shown ? resolveName(shown, element) : null;
	return name && (name.uri === XSD || name.uri === ENCODINGS['1.1']) ? `xs:${name.local}` : 'xs:string';
}

/** Collects the members of an object, in the order of the answer. */
class Members {
	readonly #members = new Map<string, Json>();
	readonly #lists = new Set<string>();
	readonly #names: Set<string>;

	/** @param names those of all objects */
	constructor(names: Set<string>) {
		this.#names = names;
	}

	/** @param isList whether the member is always a list; else it is one only if the name is repeated */
	put(key: string, value: Json, isList: boolean): void {
		const known = this.#members.get(key);
		if (known === undefined) {
			if (this.#names.add(key).size > MAX_NAMES) throw new Error(`it has more than ${MAX_NAMES} different names`);
			if (isList) this.#lists.add(key);
			this.#members.set(key, isList ? [value] : value);
		} else if (this.#lists.has(key) && Array.isArray(known)) known.push(value);
		else {
			this.#lists.add(key);
			this.#members.set(key, [known, value]);
		}
	}

	get isEmpty(): boolean {
		return this.#members.size === 0;
	}

	get json(): JsonObject {
		// `Object.fromEntries` would make an own property of this name, which is unsafe to copy.
		this.#members.delete('__proto__');
		return Object.fromEntries(this.#members);
	}
}
