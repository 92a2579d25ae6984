// Names on the wire: prefixes for the namespaces of one envelope, and names that come from arguments.

import { escapeXmlAttribute, invalid, isNcName, type Json, pointerToken, xmlText } from '../../../core/index.ts';

export const XSI = 'http://www.w3.org/2001/XMLSchema-instance';
export const XSD = 'http://www.w3.org/2001/XMLSchema';
export const XML = 'http://www.w3.org/XML/1998/namespace';
export const ENVELOPES = {
	'1.1': 'http://schemas.xmlsoap.org/soap/envelope/',
	'1.2': 'http://www.w3.org/2003/05/soap-envelope',
} as const;
export const ENCODINGS = {
	'1.1': 'http://schemas.xmlsoap.org/soap/encoding/',
	'1.2': 'http://www.w3.org/2003/05/soap-encoding',
} as const;

const XMLNS = 'http://www.w3.org/2000/xmlns/';
const PREFIXES: ReadonlyMap<string, string> = new Map([
	[XSI, 'xsi'],
	[XSD, 'xsd'],
	[XML, 'xml'],
	[ENCODINGS['1.1'], 'enc'],
	[ENCODINGS['1.2'], 'enc'],
]);

const CLARK = /^\{([^{}<>"\s]{0,1000})\}(.+)$/su;

export interface Names {
	/** Writes a name such as `n0:Order`; one in no namespace has no prefix. */
	qualify(uri: string, local: string): string;
	/** Writes ` xmlns:n0="…"` for the namespaces of all qualified names. */
	declarations(): string;
}

export function createNames(): Names {
	const prefixes = new Map<string, string>();
	let numbered = 0;
	let declared = '';
	return {
		qualify(uri, local) {
			if (uri === '') return local;
			const known = prefixes.get(uri);
			if (known !== undefined) return `${known}:${local}`;
			const prefix = PREFIXES.get(uri) ?? `n${numbered++}`;
			prefixes.set(uri, prefix);
			if (uri !== XML) declared += ` xmlns:${prefix}="${escapeXmlAttribute(uri)}"`;
			return `${prefix}:${local}`;
		},
		declarations: () => declared,
	};
}

interface GivenName {
	uri: string;
	local: string;
}

/** Reads a name that comes from an argument, as `local` or `{namespace}local`. @throws validation_failed if it is not valid in XML */
export const givenName = (name: string, uri: string, at: string): GivenName =>
	readName(name, uri, at, 'have a name that is valid in XML, such as "item" or "{urn:shop}item"');

/** Writes a value that is a name, with a declared prefix. @throws validation_failed */
export function writeName(value: Json, at: string, names: Names): string {
	const { uri, local } = readName(typeof value === 'string' ? value.trim() : '', '', at, 'be a qualified name: "item" or "{urn:shop}item"');
	return names.qualify(uri, local);
}

function readName(name: string, uri: string, at: string, expected: string): GivenName {
	const [, given, local] = CLARK.exec(name) ?? [null, uri, name];
	// Declarations of namespaces are the envelope's own (Namespaces in XML 1.0, §3).
	if (local === undefined || !isNcName(local) || local === 'xmlns' || given === XMLNS) throw invalid(at, `${at} must ${expected}.`);
	return { uri: xmlText(given ?? uri, at), local };
}

export const pointer = (at: string, key: string): string => `${at}/${pointerToken(key)}`;
