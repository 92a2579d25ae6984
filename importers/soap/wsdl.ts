// Reads the services of WSDL 1.1: their ports, bindings, and operations with their messages (§2).

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
	/** Target namespace of the message. */
	targetNamespace: string;
}

/** One side of an operation in a binding. */
export interface BoundMessage {
	/** Parts that `soap:body` lists; null if it lists none, which means all parts of the message. */
	parts: string[] | null;
	isEncoded: boolean;
	namespace: string | null;
	headers: { message: Name; part: string }[];
	/** Whether parts of the message are sent as attachments. */
	hasAttachments: boolean;
}

export interface BoundOperation {
	version: Version;
	style: 'document' | 'rpc';
	action: string;
	/** Target namespace of the document that holds the binding. */
	targetNamespace: string;
	input: BoundMessage;
	output: BoundMessage | null;
	binding: XmlElement;
	/** The operation's element in the binding. */
	operation: XmlElement;
	definitions: XmlElement;
}

export interface ServiceOperation {
	service: string | null;
	portType: string;
	name: string;
	/** Whether other operations of the port type have the same name, so that only the input's name identifies it. */
	isOverloaded: boolean;
	inputName: string;
	documentation: XmlElement | null;
	input: Name | null;
	output: Name | null;
	address: string | null;
	/** The operation in a SOAP binding over HTTP; null if there is none. */
	bound: BoundOperation | null;
}

export interface Wsdl {
	name: string | null;
	operations: ServiceOperation[];
	lost: LostPort[];
	/** Address of the first operation that has one. */
	rootAddress: string | null;
	/** Addresses of the selected ports, in the order of the document. */
	addresses: string[];
	message(name: Name): Part[] | null;
}

/** @throws validation_failed for options that name a service or port that does not exist */
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
	const operations = groupPorts(ports).flatMap((group) => readOperations(group, portTypes));
	return {
		name: tokenOf(definitions[0] ?? { attributes: [] }, 'name'),
		operations,
		lost: [...lost, ...untyped(ports, portTypes)],
		rootAddress: operations.find(({ address }) => address !== null)?.address ?? null,
		addresses: ports.map(({ address }) => address).filter((address) => address !== null),
		message: (name) => {
			const found = messages.get(keyOf(name)) ?? messages.get(keyOf({ uri: targetOf(definitions[0]), local: name.local }));
			return found ? partsOf(found) : null;
		},
	};
}

/** Finds bindings of an undefined port type, whose operations are therefore unknown. */
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

function readOperations(ports: Port[], portTypes: Map<string, Placed>): ServiceOperation[] {
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

/** @param nodes the binding's operations of that name. @param inputName name of the input, which identifies an overloaded operation */
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
