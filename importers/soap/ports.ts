// Reads the ports of services (WSDL 1.1 §2.6, §2.7) that offer a SOAP binding over HTTP, with their versions.

import { quote, type XmlElement } from '../../core/index.ts';
import type { SoapConfig } from '../../plugins/executors/soap/config.ts';
import { childrenOf, keyOf, type Name, nameIn, SOAP_11, SOAP_12, show, tokenOf, WSDL } from './names.ts';

export type Version = SoapConfig['version'];

export interface Placed {
	node: XmlElement;
	definitions: XmlElement;
	name: Name;
}

export interface Port {
	service: string | null;
	/** Name of the port; null if it is made from a binding. */
	name: string | null;
	binding: Placed;
	version: Version;
	address: string | null;
}

/** The transport HTTP: SOAP 1.2 has another URI for it than SOAP 1.1, but some documents use the latter or none. */
const HTTP = /^$|^http:\/\/schemas\.xmlsoap\.org\/soap\/http\/?$|^http:\/\/www\.w3\.org\/2003\/05\/soap\/bindings\/HTTP\/?$/;

export const targetOf = (definitions: XmlElement | undefined): string =>
	definitions ? (tokenOf(definitions, 'targetNamespace') ?? '') : '';

export const place = (node: XmlElement, definitions: XmlElement): Placed => ({
	node,
	definitions,
	name: { uri: targetOf(definitions), local: tokenOf(node, 'name') ?? '' },
});

/** A port or binding that cannot be called, since a definition that it names does not exist. */
export interface LostPort {
	line: number;
	/** The reason, as the rest of a sentence. */
	fault: string;
}

/** Reads the ports. In a document without a service, each SOAP binding is a port at the API's base URL. */
export function readPorts(services: Placed[], bindings: Map<string, Placed>): { ports: Port[]; lost: LostPort[] } {
	const lost: LostPort[] = [];
	const ports = services.flatMap(({ node, name }) =>
		childrenOf(node, WSDL, 'port').flatMap((port) => {
			const bindingName = nameIn(port, 'binding');
			const binding = bindingName ? (bindings.get(keyOf(bindingName)) ?? null) : null;
			if (!binding) lost.push({ line: port.line, fault: faultOfBinding(port, bindingName) });
			const version = binding && versionOf(binding.node);
			if (!binding || !version) return [];
			const [address] = port.children.filter(({ uri, local }) => local === 'address' && (uri === SOAP_11 || uri === SOAP_12));
			return [
				{
					service: name.local,
					name: tokenOf(port, 'name'),
					binding,
					version,
					address: address ? tokenOf(address, 'location') : null,
				},
			];
		}),
	);
	if (services.some(({ node }) => childrenOf(node, WSDL, 'port').length > 0)) return { ports, lost };
	const standing = [...bindings.values()].flatMap((binding): Port[] => {
		const version = versionOf(binding.node);
		return version ? [{ service: null, name: null, binding, version, address: null }] : [];
	});
	return { ports: standing, lost };
}

function faultOfBinding(port: XmlElement, binding: Name | null): string {
	const name = quote(tokenOf(port, 'name') ?? '');
	return binding ? `the port ${name} names the binding ${show(binding)}, which nothing defines` : `the port ${name} names no binding`;
}

export const soapIn = (node: XmlElement, local: string): XmlElement | undefined =>
	node.children.find((child) => child.local === local && (child.uri === SOAP_11 || child.uri === SOAP_12));

function versionOf(binding: XmlElement): Version | null {
	const soap = soapIn(binding, 'binding');
	if (!soap || !HTTP.test(tokenOf(soap, 'transport') ?? '')) return null;
	return soap.uri === SOAP_12 ? '1.2' : '1.1';
}

/** Groups the ports of a service that offer the same port type, and so the same operations; SOAP 1.1 comes before 1.2. */
export function groupPorts(ports: Port[]): Port[][] {
	const groups = Map.groupBy(ports, ({ service, binding }) => JSON.stringify([service, portTypeOf(binding)]));
	return [...groups.values()].map((group) => group.toSorted((a, b) => (a.version < b.version ? -1 : a.version > b.version ? 1 : 0)));
}

export const portTypeOf = ({ node }: Placed): Name => nameIn(node, 'type') ?? { uri: '', local: '' };
