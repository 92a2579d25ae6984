// How sure it is that a document is Protobuf.

/** Field 1, length-delimited: of the set a file, of the file its name. */
const FIRST_FIELD = 0x0a;
const MAX_VARINT_BYTES = 5;
/** Enough to get past a licence. */
const LOOKED_AT_CHARS = 256 * 1024;
const COMMENTS = /\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g;
const SYNTAX = /^\s*(?:syntax\s*=\s*["']proto[23]["']|edition\s*=\s*["']20\d\d["'])\s*;/;
const SERVICE = /^\s*service\s+\w+\s*\{\s*(?:option\b[^;]*;\s*)*rpc\s+\w+\s*\(/m;
const MESSAGE = /^\s*message\s+\w+\s*\{/m;
const FIELD = /=\s*\d+\s*[;[]/;

/** 0–1. Without the statement of its syntax a file is proto2, and looks a little like other languages. */
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

/** Tells what `protoc --descriptor_set_out` and `buf build -o` write. */
export function isDescriptorSet(bytes: Uint8Array): boolean {
	if (bytes[0] !== FIRST_FIELD) return false;
	const end = bytes.subarray(1, 1 + MAX_VARINT_BYTES).findIndex((byte) => byte < 0x80);
	const at = 2 + end;
	if (end < 0 || bytes[at] !== FIRST_FIELD) return false;
	const length = bytes[at + 1] ?? 0;
	// Names of files are shorter than what a second byte of the length would be for, or they end like this anyway.
	const name = Buffer.from(bytes.subarray(at + 2, at + 3 + length)).toString('latin1');
	return length >= 0x80 || name.slice(0, length).endsWith('.proto');
}
