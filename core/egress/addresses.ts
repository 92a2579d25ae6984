// Addresses that outbound calls may reach: public ones and those that the operator opened, never cloud metadata.

import ipaddr from 'ipaddr.js';
import { type Address, isWithin, parseAddress, parseRanges, type Range } from '../kit/ip-addresses.ts';

/** The parsed EGRESS_ALLOW. */
export interface Openings {
	/** Origins in the form of `URL.origin`. */
	origins: ReadonlySet<string>;
	ranges: readonly Range[];
}

/**
 * Metadata services and the link-local ranges that most of them are in. The machine's credentials are one request away
 * there, so no setting opens them. In this order after link-local: Azure, Alibaba, Oracle, AWS, Google and Scaleway.
 */
const METADATA = parseRanges([
	'169.254.0.0/16',
	'fe80::/10',
	'168.63.129.16/32',
	'100.100.100.200/32',
	'192.0.0.192/32',
	'fd00:c1::a9fe:a9fe/128',
	'fd00:ec2::/32',
	'fd20:ce::254/128',
	'fd00:42::42/128',
]);

/** All IPv6 that IANA has allocated for hosts on the Internet; other addresses are special or unassigned. */
const GLOBAL_V6 = parseRanges(['2000::/3']);

interface Carrier {
	ranges: readonly Range[];
	/** Returns the IPv4 addresses in the sixteen bytes. */
	carried(bytes: number[]): number[][];
}

/** IPv6 forms that carry an IPv4 address to which a router may deliver. Mapped ones are unwrapped before. */
const CARRIERS: readonly Carrier[] = [
	{ ranges: parseRanges(['::/96', '::ffff:0:0:0/96', '64:ff9b::/96']), carried: (bytes) => [bytes.slice(12)] },
	// RFC 8215 leaves the prefix length open: RFC 6052's layout for /48 and for /96.
	{ ranges: parseRanges(['64:ff9b:1::/48']), carried: (bytes) => [bytes.slice(12), [...bytes.slice(6, 8), ...bytes.slice(9, 11)]] },
	{ ranges: parseRanges(['2002::/16']), carried: (bytes) => [bytes.slice(2, 6)] },
	// RFC 4380: the server's address plain, the client's with every bit inverted.
	{ ranges: parseRanges(['2001::/32']), carried: (bytes) => [bytes.slice(4, 8), bytes.slice(12).map((byte) => byte ^ 0xff)] },
];

/** Parses EGRESS_ALLOW. @param entries origins, addresses and CIDRs, checked by core/config/config.ts */
export function parseOpenings(entries: readonly string[]): Openings {
	const origins = entries.filter((entry) => entry.includes('://')).map((entry) => new URL(entry).origin);
	return { origins: new Set(origins), ranges: parseRanges(entries.filter((entry) => !entry.includes('://'))) };
}

/**
 * Whether an address may be reached; one that carries another only if both may be.
 * @param originOpened the operator opened the origin itself, whatever private address it has
 */
export function mayReach(address: string, openings: Openings, originOpened: boolean): boolean {
	const parsed = parseAddress(address);
	if (parsed === null) return false;
	const opened = (face: Address): boolean => originOpened || isWithin(face, openings.ranges);
	return faces(parsed).every((face) => !isWithin(face, METADATA) && (isPublic(face) || opened(face)));
}

function isPublic(address: Address): boolean {
	if (address.range() !== 'unicast') return false;
	return address.kind() === 'ipv4' || isWithin(address, GLOBAL_V6);
}

function faces(address: Address): Address[] {
	const bytes = address.toByteArray();
	// `::` and `::1` are in ::/96 but carry no address.
	if (bytes.length === 4 || bytes.slice(0, 15).every((byte) => byte === 0)) return [address];
	const carriers = CARRIERS.filter((carrier) => isWithin(address, carrier.ranges));
	return [address, ...carriers.flatMap((carrier) => carrier.carried(bytes)).map((four) => ipaddr.fromByteArray(four))];
}
