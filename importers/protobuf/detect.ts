// How sure it is that a document is Protobuf.

import { isDescriptorSet } from './descriptor-sets.ts';

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
