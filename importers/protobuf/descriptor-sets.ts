// Compiled descriptions: what `protoc --descriptor_set_out` and `buf build -o` write.

import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { cleanText, quote } from '../../core/index.ts';
import { refused } from './fault.ts';
import { camelCase } from './text-types.ts';

/** Field 1, length-delimited: of the set a file, of the file its name. */
const FIRST_FIELD = 0x0a;
const MAX_VARINT_BYTES = 5;

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

/** @throws schema_invalid */
export function readDescriptorSet(bytes: Uint8Array, path: string): FileDescriptorProto[] {
	try {
		const { file } = fromBinary(FileDescriptorSetSchema, bytes);
		for (const { messageType } of file) messageType.forEach(completeNames);
		return file;
	} catch (error) {
		const said = cleanText(error instanceof Error ? error.message : String(error), 200);
		throw refused(`${path === '' ? 'The document' : quote(path)} is no descriptor set: ${said}.`, path);
	}
}

/** protoc writes the names that fields have in JSON; not everything else that makes sets does. */
function completeNames(message: FileDescriptorProto['messageType'][number]): void {
	for (const field of message.field) if (field.jsonName === '') field.jsonName = camelCase(field.name);
	message.nestedType.forEach(completeNames);
}
