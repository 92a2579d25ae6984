// Spans as OTLP's Protobuf (opentelemetry/proto/trace/v1/trace.proto), for the SDK's own exporter. The SDK's writer goes through each span twice, to
// measure it and to write it, which is a third of what a recorded call costs.

import type { SpanContext } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** Types of fields on the wire. */
const [VARINT, FIXED_64, NESTED, FIXED_32] = [0, 1, 2, 5];
/** The most bytes of a varint. */
const VARINT_BYTES = 10;
const NANOS = 1_000_000_000n;
/** Bits of a span's flags: whether its parent is known to be remote or local, and that it is remote. */
const [KNOWS_PARENT, HAS_REMOTE_PARENT] = [0x100, 0x200];

type Value = NonNullable<ReadableSpan['attributes'][string]>;

/** @param spans all of one resource and one scope, without events. @returns an `ExportTraceServiceRequest` */
export function spansAsProtobuf(spans: readonly ReadableSpan[]): Uint8Array {
	const [first] = spans;
	const message = new Message();
	if (!first) return message.bytes();
	const { resource, instrumentationScope: scope } = first;
	const resourceSpans = message.open(1);
	const resourceAt = message.open(1);
	for (const name in resource.attributes) writeAttribute(message, 1, name, resource.attributes[name]);
	message.close(resourceAt);
	const scopeSpans = message.open(2);
	const scopeAt = message.open(1);
	message.text(1, scope.name);
	if (scope.version) message.text(2, scope.version);
	message.close(scopeAt);
	for (const span of spans) writeSpan(message, span);
	message.close(scopeSpans);
	message.close(resourceSpans);
	return message.bytes();
}

function writeSpan(message: Message, span: ReadableSpan): void {
	const { parentSpanContext: parent, startTime, endTime, attributes } = span;
	const own = span.spanContext();
	const at = message.open(2);
	writeIds(message, own);
	if (parent) message.hex(4, parent.spanId);
	message.text(5, span.name);
	// The SDK's kinds begin at 0, where OTLP has the one that is not specified.
	message.whole(6, span.kind + 1);
	message.fixed64(7, BigInt(startTime[0]) * NANOS + BigInt(startTime[1]));
	message.fixed64(8, BigInt(endTime[0]) * NANOS + BigInt(endTime[1]));
	for (const name in attributes) writeAttribute(message, 9, name, attributes[name]);
	for (const { context } of span.links) {
		const link = message.open(13);
		writeIds(message, context);
		message.fixed32(6, flagsOf(context, context.isRemote));
		message.close(link);
	}
	if (span.status.code !== 0) {
		const status = message.open(15);
		message.whole(3, span.status.code);
		message.close(status);
	}
	message.fixed32(16, flagsOf(own, parent?.isRemote));
	message.close(at);
}

/** The fields of a span and of a link begin alike. */
function writeIds(message: Message, { traceId, spanId, traceState }: SpanContext): void {
	message.hex(1, traceId);
	message.hex(2, spanId);
	if (traceState) message.text(3, traceState.serialize());
}

const flagsOf = ({ traceFlags }: SpanContext, isRemote = false): number =>
	(traceFlags & 0xff) | KNOWS_PARENT | (isRemote ? HAS_REMOTE_PARENT : 0);

function writeAttribute(message: Message, field: number, name: string, value: unknown): void {
	if (value === undefined || value === null) return;
	const at = message.open(field);
	message.text(1, name);
	const valueAt = message.open(2);
	// The attributes of our spans and resources are of these types.
	writeValue(message, value as Value);
	message.close(valueAt);
	message.close(at);
}

function writeValue(message: Message, value: Value): void {
	if (typeof value === 'string') message.text(1, value);
	else if (typeof value === 'boolean') message.whole(2, Number(value));
	else if (typeof value === 'number') {
		if (Number.isSafeInteger(value)) message.whole(3, value);
		else message.double(4, value);
	} else if (Array.isArray(value)) {
		const list = message.open(5);
		for (const each of value) {
			const at = message.open(1);
			writeValue(message, each as Value);
			message.close(at);
		}
		message.close(list);
	}
}

/** A message of Protobuf that is being written. Fields have numbers up to 16. */
class Message {
	#bytes = Buffer.allocUnsafe(64 * 1024);
	#at = 0;

	bytes(): Uint8Array {
		return this.#bytes.subarray(0, this.#at);
	}

	/** Begins a field that is a message of its own. @returns its place, for `close` */
	open(field: number): number {
		this.#tag(field, NESTED);
		// Most are so short that their length is one byte.
		return ++this.#at;
	}

	close(from: number): void {
		let length = this.#at - from;
		const more = sizeOf(length) - 1;
		if (more > 0) {
			this.#room(more);
			this.#bytes.copyWithin(from + more, from, this.#at);
			this.#at += more;
		}
		let at = from - 1;
		for (; length > 127; length >>>= 7) this.#bytes[at++] = (length & 127) | 128;
		this.#bytes[at] = length;
	}

	text(field: number, value: string): void {
		const from = this.open(field);
		this.#room(value.length * 3);
		let at = from;
		for (let index = 0; index < value.length; index++) {
			const code = value.charCodeAt(index);
			if (code > 127) {
				at = from + this.#bytes.write(value, from);
				break;
			}
			this.#bytes[at++] = code;
		}
		this.#at = at;
		this.close(from);
	}

	/** Writes bytes that are given as hexadecimal digits. */
	hex(field: number, digits: string): void {
		const from = this.open(field);
		this.#room(digits.length);
		this.#at += this.#bytes.write(digits, from, 'hex');
		this.close(from);
	}

	/** Writes an integer. */
	whole(field: number, value: number): void {
		this.#tag(field, VARINT);
		if (value < 0 || value > 0xff_ff_ff_ff) {
			let rest = BigInt.asUintN(64, BigInt(value));
			for (; rest > 127n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | 128;
			this.#bytes[this.#at++] = Number(rest);
			return;
		}
		let rest = value;
		for (; rest > 127; rest >>>= 7) this.#bytes[this.#at++] = (rest & 127) | 128;
		this.#bytes[this.#at++] = rest;
	}

	double(field: number, value: number): void {
		this.#tag(field, FIXED_64);
		this.#at = this.#bytes.writeDoubleLE(value, this.#at);
	}

	fixed64(field: number, value: bigint): void {
		this.#tag(field, FIXED_64);
		this.#at = this.#bytes.writeBigUInt64LE(value, this.#at);
	}

	fixed32(field: number, value: number): void {
		this.#tag(field, FIXED_32);
		this.#at = this.#bytes.writeUInt32LE(value, this.#at);
	}

	/** Writes what a field begins with, and makes room for a number behind it. */
	#tag(field: number, type: number): void {
		this.#room(2 + VARINT_BYTES);
		const tag = (field << 3) | type;
		if (tag > 127) this.#bytes[this.#at++] = (tag & 127) | 128;
		this.#bytes[this.#at++] = tag > 127 ? tag >>> 7 : tag;
	}

	#room(bytes: number): void {
		if (this.#at + bytes <= this.#bytes.length) return;
		const larger = Buffer.allocUnsafe((this.#at + bytes) * 2);
		this.#bytes.copy(larger, 0, 0, this.#at);
		this.#bytes = larger;
	}
}

/** Returns the number of bytes of a length as a varint. */
const sizeOf = (length: number): number => (length < 1 << 7 ? 1 : length < 1 << 14 ? 2 : length < 1 << 21 ? 3 : length < 1 << 28 ? 4 : 5);
