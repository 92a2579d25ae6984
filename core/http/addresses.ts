// Client addresses: one canonical form, lists of ranges, and whom to believe about forwarded ones.

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** IPv4-mapped IPv6 becomes IPv4; null when it is no address. Short, octal and hexadecimal spellings are none: nobody means them. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
	const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
	return isIP(bare) ? ipaddr.process(bare) : null;
}

/** A single address is a range of its own; null when it is neither. */
export function parseRange(text: string): Range | null {
	const address = parseAddress(text);
	if (address && !text.includes('/')) return [address, address.kind() === 'ipv4' ? 32 : 128];
	if (!isIP(text.split('/')[0] ?? '') || !ipaddr.isValidCIDR(text)) return null;
	const [base, bits] = ipaddr.parseCIDR(text);
	// ::ffff:10.0.0.0/104 is 10.0.0.0/8, since client addresses are compared in their IPv4 form.
	if (base.kind() === 'ipv6' && (base as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96) {
		return [(base as ipaddr.IPv6).toIPv4Address(), bits - 96];
	}
	return [base, bits];
}

/** Whether an address lies in one of the ranges; what cannot be parsed lies in none. */
export function inRanges(text: string, ranges: readonly string[]): boolean {
	const address = parseAddress(text);
	if (!address) return false;
	return ranges.some((range) => {
		const parsed = parseRange(range);
		return parsed !== null && parsed[0].kind() === address.kind() && address.match(parsed);
	});
}

/**
 * The address that counts as the client's: from the right of X-Forwarded-For, the first hop that is no trusted proxy;
 * the socket's own when its peer is none.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, trustProxy: readonly string[]): string {
	// An IPv4 client of a listener on `::`; the one form that a socket's address has to be freed of.
	let address = peer.startsWith('::ffff:') ? canonical(peer) : peer;
	if (trustProxy.length === 0 || forwardedFor === undefined) return address;
	for (const hop of forwardedFor.split(',').reverse()) {
		if (!inRanges(address, trustProxy)) return address;
		const parsed = parseAddress(hop.trim());
		if (!parsed) return address;
		address = parsed.toString();
	}
	return address;
}

const canonical = (text: string): string => parseAddress(text)?.toString() ?? text;

const IPV6_HOST_BITS = 64;

/** Whose requests are counted together: an IPv6 client has all addresses of its /64. */
export function bucketAddress(address: string): string {
	if (!address.includes(':')) return address;
	const parsed = parseAddress(address);
	if (!parsed || parsed.kind() === 'ipv4') return address;
	const bytes = parsed.toByteArray().slice(0, IPV6_HOST_BITS / 8);
	return `${Buffer.from(bytes).toString('hex')}/64`;
}
