// Writes JSON as elements, by the model of their types: in the order that the schema requires, qualified, escaped. Nothing of an
// argument reaches the message unescaped, and no member is dropped in silence: one that cannot be written is a fault that names it.

import { invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';
import { givenType, writeAnything, writeAttributes } from './any.ts';
import type { SoapConfig } from './config.ts';
import type { MatchBudget } from './match-budget.ts';
import {
	type ElementModel,
	elementsOf,
	type GroupModel,
	isElement,
	isEmptiable,
	itemsOf,
	keyOf,
	type Particle,
	type TypeModel,
	takesAny,
} from './model.ts';
import { ENCODINGS, type Names, pointer, XSD, XSI } from './names.ts';
import { type Pending, pendingOf } from './pending.ts';
import type { SizeBudget } from './size-budget.ts';
import { endsStep, type Steps } from './steps.ts';
import { writeText } from './text.ts';

export interface Writing {
	config: SoapConfig;
	names: Names;
	matchBudget: MatchBudget;
	sizeBudget: SizeBudget;
	/** Counts elements, written or missing, for the steps. */
	pace: { elements: number };
	/** Whether every element gets an `xsi:type`, as SOAP's encoding requires. */
	isEncoded: boolean;
}

/** The type of a value that the config does not describe, because no importer wrote it. */
const UNKNOWN: TypeModel = { open: true };
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const MAX_NAMED = 20;

export const uriOf = (ns: number | undefined, { config }: Pick<Writing, 'config'>): string =>
	ns === undefined ? '' : (config.namespaces[ns] ?? '');

export const typeNamed = (type: string, { config }: Pick<Writing, 'config'>): TypeModel =>
	Object.hasOwn(config.types, type) ? (config.types[type] ?? UNKNOWN) : UNKNOWN;

/** @param at JSON pointer of the value in the arguments. @throws validation_failed */
export function* writeElement(element: ElementModel, value: Json, at: string, writing: Writing, extra = ''): Steps<string> {
	if (endsStep(writing.pace.elements++)) yield;
	const { names, isEncoded, sizeBudget } = writing;
	const tag = names.qualify(uriOf(element.ns, writing), element.name);
	if (value === null) return sizeBudget.spend(writeNull(element, tag, at, names), at);
	if (element.type === 'xs:anyType') return yield* writeAnything(tag, value, { at, uri: uriOf(element.ns, writing), names, sizeBudget });
	if (element.type.startsWith('xs:')) {
		const type = isEncoded ? ` ${names.qualify(XSI, 'type')}="${names.qualify(XSD, element.type.replace(/^xs:|\*$/g, ''))}"` : '';
		return sizeBudget.spend(`<${tag}${extra}${type}>${yield* writeText(element.type, value, at, writing)}</${tag}>`, at);
	}
	const type = typeNamed(element.type, writing);
	if (type.array) return yield* writeArray(type.array, tag, value, at, writing);
	const { attributes, content } = yield* writeContent(type, value, at, writing);
	if (content === '') return sizeBudget.spend(`<${tag}${extra}${attributes}/>`, at);
	return sizeBudget.spend(`<${tag}${extra}${attributes}>`, at) + content + sizeBudget.spend(`</${tag}>`, at);
}

function writeNull({ nil, optional, type }: ElementModel, tag: string, at: string, names: Names): string {
	if (nil || type === 'xs:anyType') return `<${tag} ${names.qualify(XSI, 'nil')}="true"/>`;
	if (optional) return '';
	throw invalid(at, `${at} must not be null.`);
}

/** Writes the content of an element of a complex type, and its attributes with a space before each. */
export function* writeContent(
	declared: TypeModel,
	value: Json,
	at: string,
	writing: Writing,
): Steps<{ attributes: string; content: string }> {
	// Text with attributes may be given as the text alone.
	const members: JsonObject =
		isObject(value) || declared.text === undefined || Array.isArray(value) ? membersOf(value, at) : { $value: value };
	const { type, shown } = chosenType(declared, members, at, writing);
	writing.matchBudget.spend(type.of ?? [], at);
	const given = { members, names: Object.keys(members) };
	const { written, keys } = yield* writeAttributes(type, given, at, { names: writing.names, uriOf: (ns) => uriOf(ns, writing) });
	const pending = yield* pendingOf(given, type, keys, at);
	const text = type.text === undefined || members['$value'] === undefined ? '' : yield* writeValue(type, members['$value'], at, writing);
	const content = yield* writeAll(type.of ?? [], pending, at, writing);
	const others = type.open && !takesAny(type.of ?? []) ? yield* writeOthers(pending, uriOf(type.ns, writing), writing) : '';
	pending.assertEmpty();
	return { attributes: shown + written, content: text + content + others };
}

function membersOf(value: Json, at: string): JsonObject {
	if (isObject(value)) return value;
	throw invalid(at, `${at || '/'} must be an object.`);
}

function* writeValue({ text = 'xs:string' }: TypeModel, value: Json, at: string, { names, sizeBudget }: Writing): Steps<string> {
	const place = pointer(at, '$value');
	return value === null ? '' : sizeBudget.spend(yield* writeText(text, value, place, { names }), place);
}

/** Returns the type itself, or the one that `@xsi:type` names. */
function chosenType(declared: TypeModel, members: JsonObject, at: string, writing: Writing): { type: TypeModel; shown: string } {
	const asked = members['@xsi:type'];
	const { subtypes = {} } = declared;
	const place = pointer(at, '@xsi:type');
	if (asked === undefined || asked === null || (asked === declared.qname?.[1] && !declared.abstract)) {
		if (!declared.abstract || isEmpty(subtypes))
			return { type: declared, shown: writing.isEncoded ? typeAttribute(declared, writing) : '' };
		throw invalid(place, `${place} is required: it names the type of the value, one of ${Object.keys(subtypes).join(', ')}.`);
	}
	// The caller may know subtypes of a type that is not fully described.
	if (declared.open && isEmpty(subtypes)) return { type: declared, shown: givenType(asked, place, writing.names) };
	const id = typeof asked === 'string' && Object.hasOwn(subtypes, asked) ? subtypes[asked] : undefined;
	if (id === undefined)
		throw invalid(place, `${place} must be one of ${Object.keys(subtypes).join(', ') || 'no types: there are no others here'}.`);
	const type = typeNamed(id, writing);
	return { type, shown: typeAttribute(type, writing) };
}

/** Whether there is no member. A list of them would be made for each element: a type may have a thousand subtypes. */
function isEmpty(members: object): boolean {
	for (const _name in members) return false;
	return true;
}

const typeAttribute = ({ qname }: TypeModel, writing: Writing): string =>
	qname ? ` ${writing.names.qualify(XSI, 'type')}="${writing.names.qualify(uriOf(qname[0], writing), qname[1])}"` : '';

function* writeAll(particles: readonly Particle[], pending: Pending, at: string, writing: Writing): Steps<string> {
	let written = '';
	for (const particle of particles) written += yield* writeParticle(particle, pending, at, writing);
	return written;
}

function* writeParticle(particle: Particle, pending: Pending, at: string, writing: Writing): Steps<string> {
	if (isElement(particle)) return yield* writeMember(particle, pending, at, writing);
	if (particle.any) return yield* writeOthers(pending, '', writing);
	return yield* writeGroup(particle, pending, at, writing);
}

/** Writes a group, which may occur several times: each occurrence takes its part of each list, until nothing is left. */
function* writeGroup(group: GroupModel, pending: Pending, at: string, writing: Writing): Steps<string> {
	const most = group.most === undefined ? 1 : group.most || NO_LIMIT;
	if (!pending.has(group)) return group.optional ? '' : yield* writeOccurrence(group, pending, at, writing);
	let written = '';
	for (let count = 0; count < most && pending.has(group); count++) written += yield* writeOccurrence(group, pending, at, writing);
	return written;
}

function* writeOccurrence(group: GroupModel, pending: Pending, at: string, writing: Writing): Steps<string> {
	yield;
	writing.matchBudget.spend(itemsOf(group), at);
	if (group.choice) return yield* writeChoice(group.choice, pending, at, writing);
	return yield* writeAll(itemsOf(group), pending, at, writing);
}

/** Writes the alternative to which most of the given members belong; those that lack nothing come first. */
function* writeChoice(alternatives: readonly Particle[], pending: Pending, at: string, writing: Writing): Steps<string> {
	const [chosen] = alternatives
		.map((alternative) => ({ alternative, covers: pending.covers(alternative) }))
		.filter(({ covers }) => covers > 0)
		.map((usable) => ({ ...usable, completes: pending.completes(usable.alternative) }))
		.toSorted((a, b) => Number(b.completes) - Number(a.completes) || b.covers - a.covers);
	if (chosen) return yield* writeParticle(chosen.alternative, pending, at, writing);
	if (alternatives.some(isEmptiable)) return '';
	const keys = elementsOf(alternatives).map(keyOf).slice(0, MAX_NAMED);
	throw invalid(at, `${at || '/'} must hold one of: ${[...new Set(keys)].join(', ')}.`);
}

function* writeMember(element: ElementModel, pending: Pending, at: string, writing: Writing): Steps<string> {
	if (endsStep(writing.pace.elements++)) yield;
	const most = element.most === undefined ? 1 : element.most || NO_LIMIT;
	const isGiven = pending.has(element);
	let written = '';
	for (const { value, at: place } of pending.take(keyOf(element), most)) written += yield* writeElement(element, value, place, writing);
	if (isGiven || element.optional) return written;
	if (element.fixed !== undefined) return yield* writeElement(element, element.fixed, at, writing);
	const place = pointer(at, keyOf(element));
	throw invalid(place, `${place} is required but is missing.`);
}

function* writeOthers(pending: Pending, uri: string, { names, sizeBudget }: Writing): Steps<string> {
	let written = '';
	for (const { key, value, at } of pending.takeOthers()) written += yield* writeAnything(key, value, { at, uri, names, sizeBudget }, true);
	return written;
}

/** Writes an array in SOAP's encoding (SOAP 1.1 §5.4.2; SOAP 1.2 part 2, §3.1.6). */
function* writeArray(item: ElementModel, tag: string, value: Json, at: string, writing: Writing): Steps<string> {
	if (!Array.isArray(value)) throw invalid(at, `${at} must be an array.`);
	const { names, config, sizeBudget } = writing;
	const encoding = ENCODINGS[config.version];
	const type = itemType(item, writing);
	const sized =
		config.version === '1.1'
			? ` ${names.qualify(encoding, 'arrayType')}="${type}[${value.length}]"`
			: ` ${names.qualify(encoding, 'itemType')}="${type}" ${names.qualify(encoding, 'arraySize')}="${value.length}"`;
	const shown = writing.isEncoded ? ` ${names.qualify(XSI, 'type')}="${names.qualify(encoding, 'Array')}"` : '';
	let items = '';
	const nilable = { ...item, nil: true };
	for (const [index, one] of value.entries()) items += yield* writeElement(nilable, one, `${at}/${index}`, writing);
	return sizeBudget.spend(`<${tag}${shown}${sized}>`, at) + items + sizeBudget.spend(`</${tag}>`, at);
}

function itemType({ type }: ElementModel, writing: Writing): string {
	if (type.startsWith('xs:')) return writing.names.qualify(XSD, type.replace(/^xs:|\*$/g, ''));
	const { qname } = typeNamed(type, writing);
	return qname ? writing.names.qualify(uriOf(qname[0], writing), qname[1]) : writing.names.qualify(XSD, 'anyType');
}
