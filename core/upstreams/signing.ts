// Writes a credential of each type into a request.

import type { OutboundRequest } from '../contract/outbound.ts';
import type { KeyPlace } from '../store/store.ts';

/** A secret, and how the request carries it. */
export type Proof =
	| { type: 'api_key'; key: string; name: string; in: KeyPlace['in'] }
	| { type: 'bearer_token' | 'oauth2'; token: string }
	| { type: 'basic_auth'; username: string; password: string };

export function signed(request: OutboundRequest, proof: Proof): OutboundRequest {
	if (proof.type === 'api_key') return withKey(request, proof);
	if (proof.type === 'basic_auth') return withHeader(request, 'authorization', basic(proof.username, proof.password));
	return withHeader(request, 'authorization', bearer(proof.token));
}

export const bearer = (token: string): string => `Bearer ${token}`;

export const basic = (username: string, password: string): string => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

/** Sets a header in place of any with the same name in any case. */
export function withHeader(request: OutboundRequest, name: string, value: string): OutboundRequest {
	const wanted = name.toLowerCase();
	const others = Object.entries(request.headers ?? {}).filter(([header]) => header.toLowerCase() !== wanted);
	return { ...request, headers: { ...Object.fromEntries(others), [wanted]: value } };
}

export function headerOf({ headers = {} }: OutboundRequest, name: string): string | undefined {
	return Object.entries(headers).find(([header]) => header.toLowerCase() === name)?.[1];
}

function withKey(request: OutboundRequest, { key, name, in: place }: KeyPlace & { key: string }): OutboundRequest {
	if (place === 'header') return withHeader(request, name, key);
	if (place === 'cookie') {
		const cookie = [headerOf(request, 'cookie'), `${name}=${key}`].filter(Boolean).join('; ');
		return withHeader(request, 'cookie', cookie);
	}
	const url = new URL(request.url);
	url.search += `${url.search ? '&' : '?'}${encodeURIComponent(name)}=${encodeURIComponent(key)}`;
	return { ...request, url: url.href };
}
