// Reads messages (WSDL 1.1 §3.5 and §3.7) as the elements that the body and the header of the envelope hold.

import { type JsonObject, quote, type XmlElement } from '../../core/index.ts';
import type { Models } from './model.ts';
import { isUsableName, type Name, show } from './names.ts';
import type { BoundMessage, BoundOperation, Part, Wsdl } from './wsdl.ts';
import { type ElementUse, globalElement, type TypeUse, typeNamed } from './xsd/elements.ts';
import type { Definition, Types } from './xsd/types.ts';

/**
 * The part of the body that is the arguments or the result: the `content` of its one element, the `value` of one that holds no
 * elements, or its several (or no) `elements` by their names.
 */
export type Message = (
	| { root: 'content'; element: ElementUse; definition: Definition }
	| { root: 'value'; element: ElementUse }
	| { root: 'elements'; definition: Definition }
) & {
	header: Definition | null;
	faults: Set<string>;
};

export interface MessageContext {
	wsdl: Wsdl;
	types: Types;
}

export interface Side {
	message: Name;
	bound: BoundMessage;
	/** Prefix of the definitions made for the message: `Add_request`. */
	owner: string;
	/** Name of the element around the parts in rpc style. */
	wrapper: string;
}

/** @returns the message, or in `skip` why it cannot be sent, as the rest of a sentence */
export function readMessage(side: Side, operation: BoundOperation, { wsdl, types }: MessageContext): Message | { skip: string } {
	const faults = new Set<string>();
	const all = wsdl.message(side.message);
	if (!all) return { skip: `its message ${show(side.message)} is not defined` };
	const { bound, owner } = side;
	const odd = [side.wrapper, ...all.map(({ name }) => name)].find((name) => !isUsableName(name));
	if (odd !== undefined && operation.style === 'rpc') return { skip: `${quote(odd)} is not a name that a message can hold` };
	const headers = readHeaders(bound, { wsdl, types, faults });
	const inHeader = bound.headers.filter(({ message }) => message.local === side.message.local).map(({ part }) => part);
	const parts = all.filter(({ name }) => (bound.parts ? bound.parts.includes(name) : !inHeader.includes(name)));
	if (bound.hasAttachments) faults.add('attachments are not sent');
	const header = headers.length > 0 ? types.made(`${owner}_header`, headers) : null;
	const reading = { types, faults };
	if (operation.style === 'rpc') {
		const definition = types.made(
			owner,
			parts.map((part) => partOf(part, reading)),
		);
		const name = { uri: bound.namespace ?? '', local: side.wrapper };
		return { root: 'content', element: madeElement(name, { made: definition }), definition, header, faults };
	}
	const typed = parts.find(({ element }) => element === null);
	if (typed) return { skip: `its part ${quote(typed.name)} names no element, as parts of document style must` };
	return {
		...bodyOf(
			parts.map((part) => partOf(part, reading)),
			owner,
			types,
		),
		header,
		faults,
	};
}

type Reading = { types: Types; faults: Set<string> };

function bodyOf(elements: ElementUse[], owner: string, types: Types) {
	const [element] = elements;
	if (!element || elements.length > 1) return { root: 'elements' as const, definition: types.made(owner, elements) };
	const definition = 'simple' in element.type || 'any' in element.type ? null : types.complex(element.type, element.name.local);
	// An array is not an object whose members could be arguments.
	if (!definition || definition.content.arrayOf) return { root: 'value' as const, element };
	return { root: 'content' as const, element, definition };
}

function partOf({ name, element, type }: Part, { types, faults }: Reading): ElementUse {
	if (!element) return madeElement({ uri: '', local: name }, type ? typeNamed(type, { ...types, faults }) : { any: true });
	const [found] = globalElement(element, { min: 1, max: 1 }, { ...types, faults });
	if (found) return found;
	faults.add(`the element ${show(element)} is not defined: it accepts anything`);
	return madeElement(element, { any: true });
}

/** Reads the headers, all of which are optional: which ones must be understood is the server's decision. */
function readHeaders({ headers }: BoundMessage, { wsdl, types, faults }: MessageContext & Reading): ElementUse[] {
	const elements = headers.flatMap(({ message, part }) => {
		const found = wsdl.message(message)?.find(({ name }) => name === part);
		if (!found) faults.add(`its header ${quote(part)} is not defined: it is left out`);
		return found ? [{ ...partOf(found, { types, faults }), min: 0 }] : [];
	});
	return [...new Map(elements.map((element) => [show(element.name), { ...element, key: element.name.local }])).values()];
}

const NO_NODE: XmlElement = { local: '', uri: '', attributes: [], children: [], text: '', offset: 0, line: 0, scope: null };

const madeElement = (name: Name, type: TypeUse): ElementUse => ({
	of: 'element',
	name,
	key: name.local,
	min: 1,
	max: 1,
	type,
	isNillable: false,
	fixed: null,
	fallback: null,
	node: NO_NODE,
});

/** Returns the model of a message for the executor's config. */
export function modelOfMessage(message: Message, models: Models): { model: JsonObject; references: Definition[]; namespaces: Set<number> } {
	const header = message.header ? { header: message.header.id } : {};
	const behind = message.header ? [message.header] : [];
	if (message.root === 'elements') {
		return {
			model: { root: message.root, type: message.definition.id, ...header },
			references: [message.definition, ...behind],
			namespaces: new Set(),
		};
	}
	const { model, references, namespaces } = models.element(message.element, false, message.element.name.local);
	return { model: { root: message.root, element: model, ...header }, references: [...references, ...behind], namespaces };
}
