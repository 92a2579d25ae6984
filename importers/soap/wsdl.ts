// What WSDL 1.1 says of services: their ports, the bindings of these, the operations with their messages (§2).

import type { XmlElement } from '../../core/index.ts';
import { childrenOf, keyOf, MIME, type Name, nameIn, SOAP_11, SOAP_12, show, tokenOf, WSDL } from './names.ts';
import { choosePorts, type ImportOptions } from './options.ts';
import {
	groupPorts,
	type LostPort,
	type Placed,
	type Port,
	place,
	portTypeOf,
	readPorts,
	soapIn,
	targetOf,
	type Version,
} from './ports.ts';

export interface Part {
	name: string;
	element: Name | null;
	type: Name | null;
	/** Of the message. */
	targetNamespace: string;
}

/** One side of an operation in a binding. */
export interface BoundMessage {
	/** Of `soap:body`; null when it lists none: all parts of the message. */
	parts: string[] | null;
	isEncoded: boolean;
	namespace: string | null;
	headers: { message: Name; part: string }[];
	/** Some of it travels as attachments. */
	hasAttachments: boolean;
}

export interface BoundOperation {
	version: Version;
	style: 'document' | 'rpc';
	action: string;
	/** Of the definitions that the binding lies in. */
	targetNamespace: string;
	input: BoundMessage;
	output: BoundMessage | null;
	binding: XmlElement;
	/** In the binding. */
	operation: XmlElement;
	definitions: XmlElement;
}

export interface Entry {
	service: string | null;
	portType: string;
	name: string;
	/** With its input's name, where several operations of a port type share theirs. */
	isOverloaded: boolean;
	inputName: string;
	documentation: XmlElement | null;
	input: Name | null;
	output: Name | null;
	address: string | null;
	/** Null: no SOAP binding over HTTP has it. */
	bound: BoundOperation | null;
}

export interface Wsdl {
	name: string | null;
	entries: Entry[];
	lost: LostPort[];
	/** Of the first entry that has one. */
	rootAddress: string | null;
	/** Of the ports that count, in the order of the document. */
	addresses: string[];
	message(name: Name): Part[] | null;
}

/** @throws validation_failed for options that name what is not there */
export function readWsdl(definitions: readonly XmlElement[], options: ImportOptions): Wsdl {
	const placed = (local: string): Placed[] => definitions.flatMap((root) => childrenOf(root, WSDL, local).map((node) => place(node, root)));
	const firstOf = (local: string): Map<string, Placed> => {
		const found = new Map<string, Placed>();
		for (const entry of placed(local)) if (!found.has(keyOf(entry.name))) found.set(keyOf(entry.name), entry);
		return found;
	};
	const messages = firstOf('message');
	const bindings = firstOf('binding');
	const portTypes = firstOf('portType');
	const { ports: all, lost } = readPorts(placed('service'), bindings);
	const ports = choosePorts(all, options);
	const entries = groupPorts(ports).flatMap((group) => readEntries(group, portTypes));
	return {
		name: tokenOf(definitions[0] ?? { attributes: [] }, 'name'),
		entries,
		lost: [...lost, ...untyped(ports, portTypes)],
		rootAddress: entries.find(({ address }) => address !== null)?.address ?? null,
		addresses: ports.map(({ address }) => address).filter((address) => address !== null),
		message: (name) => {
			const found = messages.get(keyOf(name)) ?? messages.get(keyOf({ uri: targetOf(definitions[0]), local: name.local }));
			return found ? partsOf(found) : null;
		},
	};
}

/** Bindings of a port type that nothing defines: which operations they have, nobody knows. */
function untyped(ports: readonly Port[], portTypes: ReadonlyMap<string, Placed>): LostPort[] {
	const bindings = new Set(ports.map(({ binding }) => binding).filter((binding) => !portTypes.has(keyOf(portTypeOf(binding)))));
	return [...bindings].map((binding) => ({
		line: binding.node.line,
		fault: `the binding ${show(binding.name)} names the port type ${show(portTypeOf(binding))}, which nothing defines`,
	}));
}

const partsOf = ({ node, definitions }: Placed): Part[] =>
	childrenOf(node, WSDL, 'part').map((part) => ({
		name: tokenOf(part, 'name') ?? '',
		element: nameIn(part, 'element'),
		type: nameIn(part, 'type'),
		targetNamespace: targetOf(definitions),
	}));

function readEntries(ports: Port[], portTypes: Map<string, Placed>): Entry[] {
	const [first] = ports;
	if (!first) return [];
	const portType = portTypes.get(keyOf(portTypeOf(first.binding)));
	const operations = portType ? childrenOf(portType.node, WSDL, 'operation') : [];
	const counts = byName(operations);
	const ways = ports.map((port) => ({ port, nodes: byName(childrenOf(port.binding.node, WSDL, 'operation')) }));
	return operations.map((node) => {
		const name = nameOf(node);
		const isOverloaded = (counts.get(name)?.length ?? 0) > 1;
		const [input] = childrenOf(node, WSDL, 'input');
		const [output] = childrenOf(node, WSDL, 'output');
		const inputName = (input && tokenOf(input, 'name')) ?? '';
		const way = ways
			.map(({ port, nodes }) => ({ port, bound: boundIn(port, nodes.get(name) ?? [], isOverloaded ? inputName : null) }))
			.find(({ bound }) => bound !== null);
		return {
			service: first.service,
			portType: portTypeOf(first.binding).local,
			name,
			isOverloaded,
			inputName,
			documentation: childrenOf(node, WSDL, 'documentation')[0] ?? null,
			input: input ? nameIn(input, 'message') : null,
			output: output ? nameIn(output, 'message') : null,
			address: way?.port.address ?? first.address,
			bound: way?.bound ?? null,
		};
	});
}

const nameOf = (node: XmlElement): string => tokenOf(node, 'name') ?? '';
const byName = (nodes: XmlElement[]): Map<string, XmlElement[]> => Map.groupBy(nodes, nameOf);

/** @param nodes of its name. @param inputName of an overloaded operation, which tells it from the others */
function boundIn({ binding, version }: Port, nodes: XmlElement[], inputName: string | null): BoundOperation | null {
	const node = inputName === null ? nodes[0] : (nodes.find((one) => inputNameOf(one) === inputName) ?? nodes[0]);
	if (!node) return null;
	const soap = soapIn(node, 'operation');
	const style = (soap && tokenOf(soap, 'style')) ?? tokenOf(soapIn(binding.node, 'binding') ?? node, 'style');
	const [input] = childrenOf(node, WSDL, 'input');
	const [output] = childrenOf(node, WSDL, 'output');
	return {
		version,
		style: style === 'rpc' ? 'rpc' : 'document',
		action: (soap && tokenOf(soap, 'soapAction')) ?? '',
		targetNamespace: targetOf(binding.definitions),
		input: readMessage(input),
		output: output ? readMessage(output) : null,
		binding: binding.node,
		operation: node,
		definitions: binding.definitions,
	};
}

const inputNameOf = (node: XmlElement): string | null => tokenOf(childrenOf(node, WSDL, 'input')[0] ?? { attributes: [] }, 'name');

function readMessage(node: XmlElement | undefined): BoundMessage {
	const multipart = node && childrenOf(node, MIME, 'multipartRelated')[0];
	const mimeParts = multipart ? childrenOf(multipart, MIME, 'part') : [];
	const holders = [...(node ? [node] : []), ...mimeParts];
	const body = holders.map((holder) => soapIn(holder, 'body')).find((found) => found !== undefined);
	const parts = body ? tokenOf(body, 'parts') : null;
	return {
		parts: parts === null ? null : parts.split(/\s+/).filter(Boolean),
		isEncoded: body !== undefined && tokenOf(body, 'use') === 'encoded',
		namespace: body ? tokenOf(body, 'namespace') : null,
		headers: holders.flatMap((holder) =>
			holder.children.filter((child) => child.local === 'header' && (child.uri === SOAP_11 || child.uri === SOAP_12)).flatMap(headerOf),
		),
		hasAttachments: mimeParts.length > 1,
	};
}

function headerOf(node: XmlElement): { message: Name; part: string }[] {
	const message = nameIn(node, 'message');
	const part = tokenOf(node, 'part');
	return message && part ? [{ message, part }] : [];
}
