// Writes attributes, and content that a schema leaves open: elements named after the members of the JSON.

import { escapeXml, escapeXmlAttribute, invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';
import { attributeKey, type TypeModel } from './model.ts';
import { givenName, type Names, pointer, XSD, XSI } from './names.ts';
import { writeText } from './text.ts';

interface AnyContext {
	/** JSON pointer of the value in the arguments. */
	at: string;
	/** Namespace of names without one of their own. */
	uri: string;
	names: Names;
}

const BUILT_IN = /^xs:([A-Za-z]+)$/;

/** Writes an element; a list once per item. @param isGiven whether the name comes from the arguments. @throws validation_failed */
export function writeAnything(name: string, value: Json, { at, uri, names }: AnyContext, isGiven = false): string {
	if (Array.isArray(value))
		return value.map((item, index) => writeAnything(name, item, { at: `${at}/${index}`, uri, names }, isGiven)).join('');
	const full = isGiven ? givenName(name, uri, at) : null;
	const tag = full ? names.qualify(full.uri, full.local) : name;
	if (value === null) return `<${tag} ${names.qualify(XSI, 'nil')}="true"/>`;
	if (!isObject(value)) return `<${tag}>${escapeXml(writeText('xs:string', value, at))}</${tag}>`;
	const { attributes, content } = writeMembers(value, { at, uri: full?.uri ?? uri, names });
	return content === '' ? `<${tag}${attributes}/>` : `<${tag}${attributes}>${content}</${tag}>`;
}

function writeMembers(members: JsonObject, context: AnyContext): { attributes: string; content: string } {
	const parts = { attributes: '', content: '' };
	for (const [key, value] of Object.entries(members)) {
		const at = pointer(context.at, key);
		if (key === '@xsi:type') parts.attributes += givenType(value, at, context.names);
		else if (key.startsWith('@')) parts.attributes += givenAttribute(key, value, at, context.names);
		else if (key === '$value') parts.content += value === null ? '' : escapeXml(writeText('xs:string', value, at));
		else parts.content += writeAnything(key, value, { ...context, at }, true);
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

function givenAttribute(key: string, value: Json, at: string, names: Names): string {
	if (value === null) return '';
	const { uri, local } = givenName(key.slice(1), '', at);
	return ` ${names.qualify(uri, local)}="${escapeXmlAttribute(writeText('xs:string', value, at))}"`;
}

interface Qualifying {
	names: Names;
	uriOf(ns: number | undefined): string;
}

/** @returns the attributes with a space before each, and the keys that are not elements */
export function writeAttributes(
	type: TypeModel,
	members: JsonObject,
	at: string,
	{ names, uriOf }: Qualifying,
): { written: string; keys: Set<string> } {
	const keys = new Set(['@xsi:type', ...(type.text === undefined ? [] : ['$value'])]);
	let written = '';
	for (const attribute of type.attributes ?? []) {
		const key = attributeKey(attribute);
		keys.add(key);
		const value = members[key] ?? attribute.fixed;
		if (value === undefined || value === null) continue;
		const tag = names.qualify(uriOf(attribute.ns), attribute.name);
		written += ` ${tag}="${escapeXmlAttribute(writeText(attribute.type, value, pointer(at, key)))}"`;
	}
	for (const [key, value] of Object.entries(members)) {
		if (!key.startsWith('@') || keys.has(key)) continue;
		if (!type.open && !type.anyAttribute) throw invalid(pointer(at, key), `${pointer(at, key)} is not a known attribute.`);
		keys.add(key);
		written += givenAttribute(key, value, pointer(at, key), names);
	}
	return { written, keys };
}
