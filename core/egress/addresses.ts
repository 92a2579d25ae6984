// Which addresses outbound calls may reach: public ones and those that the operator opened, never cloud metadata.

import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** EGRESS_ALLOW, parsed. */
export interface Openings {
	/** As `URL.origin` writes them. */
	origins: ReadonlySet<string>;
	ranges: readonly Range[];
}

/**
 * Metadata services and the link-local ranges that most of them live in; credentials of the machine are one request away
 * there, so no setting opens them. Azure, Alibaba, Oracle, AWS, Google and Scaleway, in this order after link-local.
 */
const METADATA = ranges([
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

/** All of IPv6 that IANA has given out for hosts on the Internet; what lies outside is special or not assigned. */
const GLOBAL_V6 = ranges(['2000::/3']);

interface Carrier {
	range: Range;
	/** The IPv4 addresses in the sixteen bytes. */
	carried(bytes: number[]): number[][];
}

const lastFour = (bytes: number[]): number[][] => [bytes.slice(12)];

/** IPv6 forms that carry an IPv4 address to which something on the way may deliver. Mapped ones are unwrapped before. */
const CARRIERS: readonly Carrier[] = [
	{ range: range('::/96'), carried: lastFour },
	{ range: range('::ffff:0:0:0/96'), carried: lastFour },
	{ range: range('64:ff9b::/96'), carried: lastFour },
	// RFC 8215 leaves the prefix length open: RFC 6052's layout for /48 and for /96.
	{ range: range('64:ff9b:1::/48'), carried: (bytes) => [bytes.slice(12), [...bytes.slice(6, 8), ...bytes.slice(9, 11)]] },
	{ range: range('2002::/16'), carried: (bytes) => [bytes.slice(2, 6)] },
	// RFC 4380: the server as it is, the client with every bit inverted.
	{ range: range('2001::/32'), carried: (bytes) => [bytes.slice(4, 8), bytes.slice(12).map((byte) => byte ^ 0xff)] },
];

/** @param entries origins, addresses and CIDRs, valid by core/config/config.ts */
export function parseOpenings(entries: readonly string[]): Openings {
	const origins = entries.filter((entry) => entry.includes('://')).map((entry) => new URL(entry).origin);
	return { origins: new Set(origins), ranges: ranges(entries.filter((entry) => !entry.includes('://'))) };
}

/**
 * An address that carries another is reached only if both may be.
 * @param originOpened the operator opened the origin itself, whatever private address it has
 */
export function mayReach(address: string, openings: Openings, originOpened: boolean): boolean {
	if (!ipaddr.isValid(address)) return false;
	const opened = (face: Address): boolean => originOpened || within(face, openings.ranges);
	return faces(ipaddr.process(address)).every((face) => !within(face, METADATA) && (isPublic(face) || opened(face)));
}

function isPublic(address: Address): boolean {
	if (address.range() !== 'unicast') return false;
	return address.kind() === 'ipv4' || within(address, GLOBAL_V6);
}

function faces(address: Address): Address[] {
	const bytes = address.toByteArray();
	// `::` and `::1` lie in ::/96 but carry nothing.
	if (bytes.length === 4 || bytes.slice(0, 15).every((byte) => byte === 0)) return [address];
	const carriers = CARRIERS.filter((carrier) => within(address, [carrier.range]));
	return [address, ...carriers.flatMap((carrier) => carrier.carried(bytes)).map((four) => ipaddr.fromByteArray(four))];
}

function within(address: Address, list: readonly Range[]): boolean {
	return list.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

function ranges(entries: readonly string[]): Range[] {
	return entries.map(range);
}

/** An address stands for itself alone; a range of mapped IPv4 addresses for the IPv4 range. */
function range(entry: string): Range {
	const [network, bits] = entry.includes('/') ? ipaddr.parseCIDR(entry) : single(ipaddr.parse(entry));
	if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96) return [network.toIPv4Address(), bits - 96];
	return [network, bits];
}

function single(address: Address): [Address, number] {
	return [address, address.toByteArray().length * 8];
}
