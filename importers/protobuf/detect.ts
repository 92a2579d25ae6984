// Detects whether a document is Protobuf.

/** Tag of field 1, length-delimited: a file in the set, and the name in a file. */
const FIRST_FIELD = 0x0a;
const MAX_VARINT_BYTES = 5;
/** Enough to get past a licence. */
const LOOKED_AT_CHARS = 256 * 1024;
const COMMENTS = /\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g;
const SYNTAX = /^\s*(?:syntax\s*=\s*["']proto[23]["']|edition\s*=\s*["']20\d\d["'])\s*;/;
const SERVICE = /^\s*service\s+\w+\s*\{\s*(?:option\b[^;]*;\s*)*rpc\s+\w+\s*\(/m;
const MESSAGE = /^\s*message\s+\w+\s*\{/m;
const FIELD = /=\s*\d+\s*[;[]/;

/** Returns the confidence, 0 to 1. A file without a syntax statement is proto2, and resembles other languages. */
export function detect(text: string, bytes: Uint8Array): number {
	if (isDescriptorSet(bytes)) return 1;
	const plain = text
		.replace(/^\ufeff/, '')
		.slice(0, LOOKED_AT_CHARS)
		.replace(COMMENTS, ' ');
	if (SYNTAX.test(plain)) return 1;
	if (SERVICE.test(plain)) return 0.95;
	return MESSAGE.test(plain) && FIELD.test(plain) ? 0.8 : 0;
}

/** Recognizes the output of `protoc --descriptor_set_out` and `buf build -o`. */
export function isDescriptorSet(bytes: Uint8Array): boolean {
	if (bytes[0] !== FIRST_FIELD) return false;
	const end = bytes.subarray(1, 1 + MAX_VARINT_BYTES).findIndex((byte) => byte < 0x80);
	const at = 2 + end;
	if (end < 0 || bytes[at] !== FIRST_FIELD) return false;
	const length = bytes[at + 1] ?? 0;
	// A name whose length takes a second byte, so 128 and more, is accepted without a look at its end.
	const name = Buffer.from(bytes.subarray(at + 2, at + 3 + length)).toString('latin1');
	return length >= 0x80 || name.slice(0, length).endsWith('.proto');
}
