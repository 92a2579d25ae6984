// Writes attributes, and content that a schema leaves open: elements named after the members of the JSON.

import { escapeXmlAttribute, invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';
import { attributeKey, type TypeModel } from './model.ts';
import { givenName, type Names, pointer, XSD, XSI } from './names.ts';
import type { SizeBudget } from './size-budget.ts';
import { endsStep, type Steps } from './steps.ts';
import { writeText } from './text.ts';

interface AnyContext {
	/** JSON pointer of the value in the arguments. */
	at: string;
	/** Namespace of names without one of their own. */
	uri: string;
	names: Names;
	sizeBudget: SizeBudget;
}

const BUILT_IN = /^xs:([A-Za-z]+)$/;

/** Writes an element; a list once per item. @param isGiven whether the name comes from the arguments. @throws validation_failed */
export function* writeAnything(name: string, value: Json, context: AnyContext, isGiven = false): Steps<string> {
	yield;
	const { at, uri, names, sizeBudget } = context;
	if (Array.isArray(value)) {
		let items = '';
		for (const [index, item] of value.entries()) items += yield* writeAnything(name, item, { ...context, at: `${at}/${index}` }, isGiven);
		return items;
	}
	const full = isGiven ? givenName(name, uri, at) : null;
	const tag = full ? names.qualify(full.uri, full.local) : name;
	if (value === null) return sizeBudget.spend(`<${tag} ${names.qualify(XSI, 'nil')}="true"/>`, at);
	if (!isObject(value)) return sizeBudget.spend(`<${tag}>${yield* writeText('xs:string', value, at, { names })}</${tag}>`, at);
	const { attributes, content } = yield* writeMembers(value, { ...context, uri: full?.uri ?? uri });
	if (content === '') return sizeBudget.spend(`<${tag}${attributes}/>`, at);
	return sizeBudget.spend(`<${tag}${attributes}>`, at) + content + sizeBudget.spend(`</${tag}>`, at);
}

function* writeMembers(members: JsonObject, context: AnyContext): Steps<{ attributes: string; content: string }> {
	const { names, sizeBudget } = context;
	const parts = { attributes: '', content: '' };
	for (const [index, key] of Object.keys(members).entries()) {
		if (endsStep(index)) yield;
		const value = members[key] ?? null;
		const at = pointer(context.at, key);
		if (key === '@xsi:type') parts.attributes += givenType(value, at, names);
		else if (key.startsWith('@')) parts.attributes += yield* givenAttribute(key, value, at, names);
		else if (key === '$value')
			parts.content += value === null ? '' : sizeBudget.spend(yield* writeText('xs:string', value, at, { names }), at);
		else parts.content += yield* writeAnything(key, value, { ...context, at }, true);
	}
	return parts;
}

/** Writes the type that `@xsi:type` names: `xs:int`, or `{namespace}name`. */
export function givenType(value: Json, at: string, names: Names): string {
	const text = typeof value === 'string' ? value : '';
	const builtIn = BUILT_IN.exec(text)?.[1];
	const { uri, local } = builtIn === undefined ? givenName(text, '', at) : { uri: XSD, local: builtIn };
	return ` ${names.qualify(XSI, 'type')}="${names.qualify(uri, local)}"`;
}

function* givenAttribute(key: string, value: Json, at: string, names: Names): Steps<string> {
	if (value === null) return '';
	const { uri, local } = givenName(key.slice(1), '', at);
	return ` ${names.qualify(uri, local)}="${yield* writeText('xs:string', value, at, { names, escaped: escapeXmlAttribute })}"`;
}

/** Members that are to be written, with their names: to list a hundred thousand takes some 20 ms, so it is done once. */
export interface Given {
	members: JsonObject;
	names: readonly string[];
}

interface Qualifying {
	names: Names;
	uriOf(ns: number | undefined): string;
}

/** @returns the attributes with a space before each, and the keys that are not elements */
export function* writeAttributes(
	type: TypeModel,
	{ members, names: given }: Given,
	at: string,
	{ names, uriOf }: Qualifying,
): Steps<{ written: string; keys: Set<string> }> {
	const keys = new Set(['@xsi:type', ...(type.text === undefined ? [] : ['$value'])]);
	let written = '';
	for (const [index, attribute] of (type.attributes ?? []).entries()) {
		if (endsStep(index)) yield;
		const key = attributeKey(attribute);
		keys.add(key);
		const value = members[key] ?? attribute.fixed;
		if (value === undefined || value === null) continue;
		const tag = names.qualify(uriOf(attribute.ns), attribute.name);
		written += ` ${tag}="${yield* writeText(attribute.type, value, pointer(at, key), { names, escaped: escapeXmlAttribute })}"`;
	}
	for (const [index, key] of given.entries()) {
		if (endsStep(index)) yield;
		if (!key.startsWith('@') || keys.has(key)) continue;
		if (!type.open && !type.anyAttribute) throw invalid(pointer(at, key), `${pointer(at, key)} is not a known attribute.`);
		keys.add(key);
		written += yield* givenAttribute(key, members[key] ?? null, pointer(at, key), names);
	}
	return { written, keys };
}
