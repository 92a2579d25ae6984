// Namespaces of WSDL and XML Schema, and names within them.

import { attributeOf, quote, resolveName, type XmlElement } from '../../core/index.ts';

export const XSD = 'http://www.w3.org/2001/XMLSchema';
export const WSDL = 'http://schemas.xmlsoap.org/wsdl/';
export const WSDL_2 = 'http://www.w3.org/ns/wsdl';
export const SOAP_11 = 'http://schemas.xmlsoap.org/wsdl/soap/';
export const SOAP_12 = 'http://schemas.xmlsoap.org/wsdl/soap12/';
export const MIME = 'http://schemas.xmlsoap.org/wsdl/mime/';
export const ENCODING_11 = 'http://schemas.xmlsoap.org/soap/encoding/';
export const ENCODING_12 = 'http://www.w3.org/2003/05/soap-encoding';
export const XML = 'http://www.w3.org/XML/1998/namespace';

export interface Name {
	uri: string;
	local: string;
}

/** Returns a name's key in maps; `{` cannot begin a local name. */
export const keyOf = ({ uri, local }: Name): string => `{${uri}}${local}`;

export const isXsd = (element: XmlElement, ...locals: string[]): boolean => element.uri === XSD && locals.includes(element.local);
export const isEncoding = (uri: string): boolean => uri === ENCODING_11 || uri === ENCODING_12;

/** Returns the children in a namespace that have one of the local names. */
export const childrenOf = (element: XmlElement, uri: string, ...locals: string[]): XmlElement[] =>
	element.children.filter((child) => child.uri === uri && locals.includes(child.local));

/** Collapses white space (XML Schema Part 2, §4.3.6). */
export const collapse = (text: string): string => text.replace(/[ \t\r\n]+/g, ' ').replace(/^ | $/g, '');

/** Returns an attribute's value with white space collapsed: a URI (Part 2, §3.2.17), a name, a list of them, a keyword. */
export function tokenOf(element: Pick<XmlElement, 'attributes'>, local: string, uri = ''): string | null {
	const value = attributeOf(element, local, uri);
	return value === null ? null : collapse(value);
}

/** Returns the name in an attribute such as `type`; null if it is absent, or not a name. With an unknown prefix it is in no namespace. */
export function nameIn(element: XmlElement, attribute: string, uri = ''): Name | null {
	const value = tokenOf(element, attribute, uri);
	if (value === null) return null;
	const name = resolveName(value, element) ?? { uri: '', local: value.slice(value.indexOf(':') + 1) };
	// The namespace of a prefix is compared with target namespaces, which are URIs.
	return isUsableName(name.local) ? { uri: collapse(name.uri), local: name.local } : null;
}

/** Whether an attribute of type `xs:boolean` is true. */
export const isTrue = (element: Pick<XmlElement, 'attributes'>, attribute: string): boolean =>
	/^(?:true|1)$/.test(tokenOf(element, attribute) ?? '');

/** Standard namespaces whose schemas documents import without including them. */
const WELL_KNOWN = /^https?:\/\/(?:www\.w3\.org|schemas\.xmlsoap\.org|docs\.oasis-open\.org|ws-i\.org|www\.ws-i\.org)(?:\/|$)/;
export const isWellKnown = (uri: string): boolean => WELL_KNOWN.test(uri);

/** Writes a name as arguments and results hold it. */
export const clarkName = ({ uri, local }: Name): string => (uri === '' ? local : `{${uri}}${local}`);

export const show = (name: Name): string => quote(clarkName(name));

/** Whether a text is a name without a prefix (Namespaces in XML 1.0, production 4) that can be an object's own property. */
export const isUsableName = (name: string): boolean => name !== '__proto__' && /^[\p{L}_][\p{L}\p{N}\p{M}_.\-·]{0,499}$/u.test(name);
