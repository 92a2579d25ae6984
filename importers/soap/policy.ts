// Finds out whether a binding requires a user name and password in the message: WS-SecurityPolicy 1.2 §5.4.1, and its predecessors.

import type { XmlElement } from '../../core/index.ts';
import type { SoapConfig } from '../../plugins/executors/soap/config.ts';
import { tokenOf } from './names.ts';

/** The form of the password: as text, or as a digest. */
export type WsSecurity = NonNullable<SoapConfig['wsSecurity']>;

const MAX_VISITED = 5_000;
const UTILITY = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';

export interface Policies {
	/** @param carriers elements that may hold or refer to policies. @param definitions the root that defines policies. @returns null for none */
	wsSecurityOf(carriers: readonly XmlElement[], definitions: XmlElement): WsSecurity | null;
}

export function createPolicies(): Policies {
	/** Policies by element, since all operations of a binding look up those of the binding. */
	const known = new Map<XmlElement, XmlElement[]>();
	const policiesAt = (carrier: XmlElement, definitions: XmlElement): XmlElement[] => {
		const found = known.get(carrier) ?? carrier.children.flatMap((child) => policyOf(child, definitions));
		known.set(carrier, found);
		return found;
	};
	return {
		wsSecurityOf(carriers, definitions) {
			const token = find(
				carriers.flatMap((carrier) => policiesAt(carrier, definitions)),
				isUsernameToken,
			);
			if (!token) return null;
			return find([token], ({ local }) => local === 'HashPassword') ? 'digest' : 'text';
		},
	};
}

function policyOf(node: XmlElement, definitions: XmlElement): XmlElement[] {
	if (node.local === 'Policy' && isPolicy(node)) return [node];
	const reference = node.local === 'PolicyReference' && isPolicy(node) ? tokenOf(node, 'URI') : null;
	if (!reference?.startsWith('#')) return [];
	return definitions.children.filter(
		(child) => child.local === 'Policy' && isPolicy(child) && tokenOf(child, 'Id', UTILITY) === reference.slice(1),
	);
}

const isPolicy = ({ uri }: XmlElement): boolean =>
	uri === 'http://www.w3.org/ns/ws-policy' || uri.startsWith('http://schemas.xmlsoap.org/ws/2004/09/policy');
const isUsernameToken = ({ local, uri }: XmlElement): boolean => local === 'UsernameToken' && /securitypolicy/i.test(uri);

function find(roots: readonly XmlElement[], fits: (element: XmlElement) => boolean): XmlElement | null {
	const open = [...roots];
	for (let visited = 0, next = open.shift(); next !== undefined && visited < MAX_VISITED; visited++, next = open.shift()) {
		if (fits(next)) return next;
		open.push(...next.children);
	}
	return null;
}
