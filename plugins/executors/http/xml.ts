// A body in XML, written from JSON by the plan that its importer made of the schema. Nothing of an argument reaches the document
// unescaped, and no member is dropped in silence: one that cannot be written is a fault that names it.

import {
	escapeXml,
	escapeXmlAttribute,
	type GatewayError,
	invalid,
	isObject,
	type Json,
	type JsonObject,
	pointerToken,
	xmlScalar,
} from '../../../core/index.ts';
import type { Body } from './body.ts';
import { charsetName, inCharset } from './charset.ts';
import { isTagName, type XmlContent, type XmlNode, type XmlPlan, XSI } from './xml-plan.ts';

/** An element, or the document, that is being written. */
interface Open {
	attributes: string;
	/** Names of the attributes. */
	names: Set<string> | null;
	content: string;
	/** Number of child elements. */
	elements: number;
	hasText: boolean;
	/** The default namespace. */
	space: string;
}

/** So many nodes are written in 5 to 15 ms. */
const MAX_NODES = 20_000;
const MAX_CHARS = 4 * 1024 * 1024;
/** A body nests 64 levels, and a plan may make several nodes of one. */
const MAX_DEPTH = 300;
/** The node of values that the plan does not describe. */
const ANYTHING: XmlNode = {};

/** @param at JSON pointer of the argument. @throws validation_failed naming what cannot be written */
export function writeXml(contentType: string, plan: XmlPlan, value: Json, at: string): Body {
	const charset = charsetName(contentType);
	const text = `<?xml version="1.0" encoding="${(charset ?? 'utf-8').toUpperCase()}"?>\n${new Writer(plan, at).document(value)}`;
	return { contentType: charset === null ? `${contentType}; charset=utf-8` : contentType, content: inCharset(text, contentType, at) };
}

class Writer {
	readonly #plan: XmlPlan;
	readonly #at: string;
	/** Path from the argument to the value that is being written. */
	readonly #path: (string | number)[] = [];
	/** Prefixes that the document uses, declared at its root. */
	readonly #prefixes = new Map<string, string>();
	/** Names that are known to be valid in XML. */
	readonly #names = new Set<string>();
	readonly #places = new Map<XmlContent, ReadonlyMap<string, number>>();
	#depth = 0;
	#nodesLeft = MAX_NODES;
	#charsLeft = MAX_CHARS;

	constructor(plan: XmlPlan, at: string) {
		this.#plan = plan;
		this.#at = at;
	}

	document(value: Json): string {
		const open = newOpen('');
		this.#write(this.#plan.root, null, value, open);
		// XML 1.0 §2.1: one root. A plan without a name for it leaves that to the only member.
		if (open.elements !== 1 || open.attributes !== '' || open.hasText)
			throw invalid(this.#at, `${this.#at} must hold exactly one member, once: it is the root element of an XML document.`);
		const declared = [...this.#prefixes].map(([prefix, uri]) => ` xmlns:${prefix}="${escapeXmlAttribute(uri)}"`).join('');
		return open.content.replace(/^<[^\s/>]+/, (tag) => tag + declared);
	}

	#write(node: XmlNode, key: string | null, value: Json, open: Open): void {
		if (--this.#nodesLeft < 0) throw this.#tooMuch(`holds more than ${MAX_NODES} values`);
		if (++this.#depth > MAX_DEPTH) throw this.#fault('is nested too deeply for an XML document');
		if (node.as === undefined) this.#element(node, key, value, open);
		else if (value !== null) this.#other(node, key, value, open);
		this.#depth -= 1;
	}

	#other(node: XmlNode, key: string | null, value: Json, open: Open): void {
		if (node.as === 'none') this.#bare(node, key, value, open);
		else if (node.as === 'attribute') this.#attribute(node, key, value, open);
		else this.#text(node.as === 'cdata' ? cdata(this.#scalar(value)) : escapeXml(this.#scalar(value)), open);
	}

	#element(node: XmlNode, key: string | null, value: Json, outer: Open): void {
		const content = this.#contentOf(node);
		// A list that the plan does not describe becomes one element for each item.
		if (Array.isArray(value) && !node.inner && !content.items && !content.first) this.#items({ items: node }, key, value, outer);
		else this.#tagged(node, content, key, value, outer);
	}

	#tagged(node: XmlNode, content: XmlContent, key: string | null, value: Json, outer: Open): void {
		const local = this.#nameOf(node, key);
		const tag = this.#qualified(node, local);
		const space = node.ns !== undefined && node.prefix === undefined ? node.ns : outer.space;
		const start = space === outer.space ? `<${tag}` : `<${tag} xmlns="${escapeXmlAttribute(space)}"`;
		this.#spend(start.length + tag.length);
		outer.elements += 1;
		if (value === null) {
			this.#prefixes.set('xsi', XSI);
			// OpenAPI 3.2.1 §4.26.4: "For elements, produce an empty element with an `xsi:nil="true"` attribute."
			outer.content += `${start} xsi:nil="true"/>`;
			return;
		}
		const inner = newOpen(space);
		if (node.inner) this.#write(node.inner, local, value, inner);
		else this.#held(content, local, value, inner);
		outer.content += inner.content === '' ? `${start}${inner.attributes}/>` : `${start}${inner.attributes}>${inner.content}</${tag}>`;
	}

	#held(content: XmlContent, key: string | null, value: Json, open: Open): void {
		if (Array.isArray(value)) this.#items(content, key, value, open);
		else if (isObject(value)) this.#members(content, value, open);
		else this.#text(escapeXml(this.#scalar(value)), open);
	}

	/** Writes content without a node around it. A single value stands for a list of one, which many servers also accept and return. */
	#bare(node: XmlNode, key: string | null, value: Json, open: Open): void {
		const content = this.#contentOf(node);
		if (node.inner) this.#write(node.inner, key, value, open);
		else if (content.items && !Array.isArray(value) && !isObject(value)) this.#write(content.items, key, value, open);
		else this.#held(content, key, value, open);
	}

	#items({ items = ANYTHING, first = [] }: XmlContent, key: string | null, values: Json[], open: Open): void {
		for (const [index, value] of values.entries()) {
			this.#path.push(index);
			this.#write(first[index] ?? items, key, value, open);
			this.#path.pop();
		}
	}

	#members(content: XmlContent, value: JsonObject, open: Open): void {
		const { members = {}, others = ANYTHING } = content;
		const places = this.#placesIn(content);
		const last = places.size;
		const keys = Object.keys(value);
		const ordered = last === 0 ? keys : keys.toSorted((one, other) => (places.get(one) ?? last) - (places.get(other) ?? last));
		for (const key of ordered) {
			this.#path.push(key);
			this.#write((places.has(key) ? members[key] : null) ?? others, key, value[key] ?? null, open);
			this.#path.pop();
		}
	}

	/** The positions of described members; all others come after them. */
	#placesIn(content: XmlContent): ReadonlyMap<string, number> {
		const known = this.#places.get(content);
		if (known) return known;
		const places = new Map(Object.keys(content.members ?? {}).map((key, index) => [key, index]));
		this.#places.set(content, places);
		return places;
	}

	#attribute(node: XmlNode, key: string | null, value: Json, open: Open): void {
		const name = this.#qualified(node, this.#nameOf(node, key));
		const text = escapeXmlAttribute(this.#scalar(value));
		this.#spend(name.length);
		open.names ??= new Set();
		// XML 1.0 §3.1: "An attribute name MUST NOT appear more than once in the same start-tag".
		if (open.names.has(name)) throw this.#fault(`would be a second attribute called ${name}`);
		open.names.add(name);
		open.attributes += ` ${name}="${text}"`;
	}

	#text(text: string, open: Open): void {
		open.hasText ||= text !== '';
		open.content += text;
	}

	#contentOf(node: XmlNode): XmlContent {
		return node.of === undefined ? node : (this.#plan.types?.[node.of] ?? node);
	}

	#nameOf({ name }: XmlNode, key: string | null): string {
		if (name !== undefined) return name;
		if (key === null || !(this.#names.has(key) || isTagName(key)))
			throw this.#fault('must have a name that an XML element can have, such as "item"');
		this.#names.add(key);
		return key;
	}

	#qualified({ prefix, ns }: XmlNode, local: string): string {
		if (prefix === undefined) return local;
		if (ns !== undefined && prefix !== 'xml') this.#prefixes.set(prefix, ns);
		return `${prefix}:${local}`;
	}

	#scalar(value: Json): string {
		const text = xmlScalar(value, () => this.#place());
		this.#spend(text.length);
		return text;
	}

	/** @throws validation_failed */
	#spend(chars: number): void {
		this.#charsLeft -= chars;
		if (this.#charsLeft < 0) throw this.#tooMuch(`makes more than ${MAX_CHARS} characters`);
	}

	#place(): string {
		return [this.#at, ...this.#path.map((step) => pointerToken(String(step)))].join('/').slice(0, 500);
	}

	#fault(fault: string): GatewayError {
		const place = this.#place();
		return invalid(place, `${place} ${fault}.`);
	}

	#tooMuch(fault: string): GatewayError {
		return invalid(this.#at, `${this.#at} ${fault}, which is too much for one XML document.`);
	}
}

const newOpen = (space: string): Open => ({ attributes: '', names: null, content: '', elements: 0, hasText: false, space });

/** Writes a CDATA section. Its end mark is split over two sections; a carriage return stands between sections, where it can be escaped. */
const cdata = (text: string): string => `<![CDATA[${text.replaceAll(']]>', ']]]]><![CDATA[>').replaceAll('\r', ']]>&#13;<![CDATA[')}]]>`;
