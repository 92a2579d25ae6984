// Whether a binding asks for a user name and password in the message: WS-SecurityPolicy 1.2 §5.4.1, and what came before it.

import type { XmlElement } from '../../core/index.ts';
import { tokenOf } from './names.ts';

/** As text, or as a digest of the password. */
export type WsSecurity = 'text' | 'digest';

const MAX_VISITED = 5_000;
const UTILITY = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';

export interface Policies {
	/** @param places elements that may carry or refer to policies. @param definitions where referred ones lie. @returns null for none */
	wsSecurityOf(places: readonly XmlElement[], definitions: XmlElement): WsSecurity | null;
}

export function createPolicies(): Policies {
	/** By place: all operations of a binding ask for those of the binding. */
	const known = new Map<XmlElement, XmlElement[]>();
	const policiesAt = (place: XmlElement, definitions: XmlElement): XmlElement[] => {
		const found = known.get(place) ?? place.children.flatMap((child) => policyOf(child, definitions));
		known.set(place, found);
		return found;
	};
	return {
		wsSecurityOf(places, definitions) {
			const token = find(
				places.flatMap((place) => policiesAt(place, definitions)),
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
