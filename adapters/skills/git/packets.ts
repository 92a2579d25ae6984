// Packet lines (gitprotocol-common, "pkt-line format").

import { GatewayError } from '../../../core/index.ts';

export const FLUSH = '0000';
export const DELIMITER = '0001';
const MAX_LINE = 65_515;
/** A client with a long history of its own names thousands of its commits: a body of a megabyte has room for some 20,000. */
const MAX_PACKETS = 20_000;

export type Packet = { kind: 'line'; text: string } | { kind: 'flush' | 'delimiter' };

export const line = (text: string): string => lengthOf(Buffer.byteLength(text)) + text;

const lengthOf = (bytes: number): string => (bytes + 4).toString(16).padStart(4, '0');

/** Reads all packets of a request. @throws validation_failed */
export function readPackets(body: Buffer): Packet[] {
	const packets: Packet[] = [];
	for (let at = 0; at < body.length; ) {
		const text = body.toString('latin1', at, at + 4);
		const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : Number.NaN;
		if (packets.length === MAX_PACKETS) throw malformed();
		if (!(length < 3 || (length >= 4 && at + length <= body.length))) throw malformed();
		if (length >= 4) packets.push({ kind: 'line', text: body.toString('utf8', at + 4, at + length).replace(/\n$/, '') });
		else packets.push({ kind: length === 1 ? 'delimiter' : 'flush' });
		at += Math.max(4, length);
	}
	return packets;
}

export const malformed = (): GatewayError => new GatewayError('validation_failed', 'The body must be packet lines of git.');

/** Splits bytes into packets of the band of data (gitprotocol-pack, "side-band-64k"). */
export function banded(bytes: Buffer): Buffer {
	const parts: Buffer[] = [];
	for (let at = 0; at < bytes.length; at += MAX_LINE) {
		const part = bytes.subarray(at, at + MAX_LINE);
		parts.push(Buffer.from(`${lengthOf(part.length + 1)}\x01`, 'latin1'), part);
	}
	return Buffer.concat(parts);
}
