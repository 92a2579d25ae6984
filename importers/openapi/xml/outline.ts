// Outlines the elements of an XML body as text, for models that have to write the document themselves.

import { cleanText, type Json } from '../../../core/index.ts';
import type { Document } from '../document.ts';
import { type Bare, componentOf, type Facts, gatherFacts, Unwritable, unwrap } from './schema.ts';

const MAX_CHARS = 1_500;
const MAX_LEVELS = 8;
const MAX_NAME_CHARS = 80;
const NO_FACTS: Facts = { types: new Set(), members: new Map(), others: [], items: [], first: [] };

interface Drawing {
	document: Document;
	lines: string[];
	charsLeft: number;
	/** The definitions that are being drawn, so that a recursive one is drawn once. */
	around: Set<string>;
}

/** @returns the outline, cut at `MAX_CHARS`; null when there is no element to draw */
export function outlineXml(schema: Json | undefined, document: Document, name: string | null = null): string | null {
	const { members, items } = factsOf(schema, document);
	if (schema === undefined || (members.size === 0 && items.length === 0)) return null;
	const drawing: Drawing = { document, lines: [], charsLeft: MAX_CHARS, around: new Set() };
	const root = name ?? componentOf(bareOf(schema, document), document);
	// If the root has no name, only its content is drawn.
	const inside = members.size > 0 ? members : factsOf(items[0], document).members;
	if (root === null && nameOf(schema, null, document) === null) drawMembers([...inside], 0, drawing);
	else draw(schema, root ?? '', 0, drawing);
	return drawing.lines.join('\n') || null;
}

function draw(schema: Json, key: string, level: number, drawing: Drawing, isRepeated = false): void {
	const { pointer } = bareOf(schema, drawing.document);
	const isAround = pointer !== null && drawing.around.has(pointer);
	if (isAround || level > MAX_LEVELS) {
		add(`<${nameOf(schema, key, drawing.document) ?? ''}>…</>`, level, drawing);
		return;
	}
	if (pointer !== null) drawing.around.add(pointer);
	drawOpen(schema, { key, level, isRepeated }, drawing);
	if (pointer !== null) drawing.around.delete(pointer);
}

interface ElementPosition {
	/** The name that the element inherits from its property or list. */
	key: string;
	level: number;
	isRepeated: boolean;
}

function drawOpen(schema: Json, { key, level, isRepeated }: ElementPosition, drawing: Drawing): void {
	const { document } = drawing;
	const { xml } = bareOf(schema, document);
	const { types, members, items } = factsOf(schema, document);
	const [item] = items;
	const isWrapped = xml['wrapped'] === true || xml['nodeType'] === 'element';
	if (item !== undefined && !isWrapped) {
		draw(item, key, level, drawing, true);
		return;
	}
	const tag = nameOf(schema, key, document) ?? key;
	const attributes = [...members].filter(([, member]) => isAttribute(member, document));
	const start = `<${tag}${attributes.map(([name, member]) => ` ${nameOf(member, name, document)}="${typeOf(member, document)}"`).join('')}>`;
	const end = `</${tag}>${isRepeated ? ' <!-- repeated -->' : ''}`;
	const children = [...members].filter(([, member]) => !isAttribute(member, document));
	if (children.length === 0 && item === undefined) {
		add(`${start}${wordOf(types)}${end}`, level, drawing);
		return;
	}
	add(start, level, drawing);
	if (item === undefined) drawMembers(children, level + 1, drawing);
	else draw(item, tag, level + 1, drawing, true);
	add(end, level, drawing);
}

function drawMembers(members: readonly [name: string, schema: Json][], level: number, drawing: Drawing): void {
	for (const [name, schema] of members) if (drawing.charsLeft > 0) draw(schema, name, level, drawing);
}

function add(line: string, level: number, drawing: Drawing): void {
	if (drawing.charsLeft <= 0) return;
	drawing.charsLeft -= level + line.length + 1;
	drawing.lines.push(drawing.charsLeft > 0 ? `${' '.repeat(level)}${line}` : '…');
}

/** Returns the name of the element or attribute with its prefix. */
function nameOf(schema: Json, key: string | null, document: Document): string | null {
	const { name = key, prefix } = bareOf(schema, document).xml;
	if (typeof name !== 'string') return null;
	return cleanText(typeof prefix === 'string' && prefix !== '' && !name.includes(':') ? `${prefix}:${name}` : name, MAX_NAME_CHARS);
}

function isAttribute(schema: Json, document: Document): boolean {
	const { attribute, nodeType } = bareOf(schema, document).xml;
	return attribute === true || nodeType === 'attribute';
}

const typeOf = (schema: Json, document: Document): string => wordOf(factsOf(schema, document).types);
const wordOf = (types: ReadonlySet<string>): string =>
	[...types].filter((type) => type !== 'null' && type !== 'object').join(' or ') || 'text';

/** Ignores unresolvable references, since the outline is only informative. */
const factsOf = (schema: Json | undefined, document: Document): Facts => leniently(() => gatherFacts(schema, document), NO_FACTS);
const bareOf = (schema: Json | undefined, document: Document): Bare =>
	leniently(() => unwrap(schema, document), { xml: {}, pointer: null, pointers: [], schema: {} });

function leniently<T>(read: () => T, otherwise: T): T {
	try {
		return read();
	} catch (error) {
		if (error instanceof Unwritable) return otherwise;
		throw error;
	}
}
