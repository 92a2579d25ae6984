// Client addresses: trust in forwarded ones, and the groups that are counted together.

import { inRanges, parseAddress } from '../kit/ip-addresses.ts';

/** The port of a hop, as Azure's Application Gateway writes it, and AWS's load balancers on request. IPv6 needs brackets before one. */
const PORT = /^(\d+(?:\.\d+){3}|\[[^\]]*\]):\d{1,5}$/;

/**
 * Returns the client's address: the first hop from the right of X-Forwarded-For that is not a trusted proxy;
 * the socket's own address when the peer is not a trusted proxy.
 * @param peer undefined once the socket is closed: then the address is empty, and in no range
 */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trustProxy: readonly string[]): string {
	// A listener on `::` shows IPv4 clients as mapped addresses; no other form of a socket's address needs conversion.
	if (peer === undefined) return '';
	let address = peer.startsWith('::ffff:') ? canonical(peer) : peer;
	if (trustProxy.length === 0 || forwardedFor === undefined) return address;
	for (const hop of forwardedFor.split(',').reverse()) {
		if (!inRanges(address, trustProxy)) return address;
		const parsed = parseAddress(hop.trim().replace(PORT, '$1'));
		if (!parsed) return address;
		address = parsed.toString();
	}
	return address;
}

const canonical = (text: string): string => parseAddress(text)?.toString() ?? text;

const IPV6_HOST_BITS = 64;

/** The key under which an address's requests are counted: an IPv6 client has all addresses of its /64. */
export function bucketAddress(address: string): string {
	if (!address.includes(':')) return address;
	const parsed = parseAddress(address);
	if (!parsed || parsed.kind() === 'ipv4') return address;
	const bytes = parsed.toByteArray().slice(0, IPV6_HOST_BITS / 8);
	return `${Buffer.from(bytes).toString('hex')}/64`;
}
