// IP addresses and ranges. An IPv4 address or range in its IPv6-mapped form counts as the IPv4 one.

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { BoundedMap } from './bounded-map.ts';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Range = readonly [network: Address, bits: number];

/** Parsed texts: the same few proxies, clients and upstreams come with every request. */
const PARSED = new BoundedMap<string, Address | null>(1000);
/** The longest text that is kept: any address without a zone is shorter. */
const MAX_KEPT_CHARS = 64;

/** Parses an address; null when it is not one. Short, octal and hexadecimal spellings are not accepted. */
export function parseAddress(text: string): Address | null {
	const known = PARSED.get(text);
	if (known !== undefined) return known;
	const address = parse(text);
	if (text.length <= MAX_KEPT_CHARS) PARSED.set(text, address);
	return address;
}

function parse(text: string): Address | null {
	const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
	return isIP(bare) ? ipaddr.process(bare) : null;
}

/** Parses a range; a single address is a range of one. Null when it is neither. */
export function parseRange(text: string): Range | null {
	const address = parseAddress(text);
	if (address && !text.includes('/')) return [address, address.toByteArray().length * 8];
	if (!isIP(text.split('/')[0] ?? '') || !ipaddr.isValidCIDR(text)) return null;
	const [base, bits] = ipaddr.parseCIDR(text);
	// ::ffff:10.0.0.0/104 is 10.0.0.0/8.
	if (base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96) return [base.toIPv4Address(), bits - 96];
	return [base, bits];
}

/** Several ranges. @throws Error naming the text that is none */
export const parseRanges = (texts: readonly string[]): Range[] =>
	texts.map((text) => {
		const range = parseRange(text);
		if (range === null) throw new Error(`"${text}" is neither an address nor a range of addresses.`);
		return range;
	});

/** Whether an address lies in one of the ranges. */
export const isWithin = (address: Address, ranges: readonly Range[]): boolean =>
	ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

/** Whether an address lies in one of the ranges; what is no address lies in none, and in what is no range lies nothing. */
export function inRanges(text: string, ranges: readonly string[]): boolean {
	const address = parseAddress(text);
	if (address === null) return false;
	return ranges.some((one) => {
		const range = parseRange(one);
		return range !== null && isWithin(address, [range]);
	});
}
