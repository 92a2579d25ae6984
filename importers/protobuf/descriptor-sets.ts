// Reads compiled descriptions, as `protoc --descriptor_set_out` and `buf build -o` write them.

import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { cleanText, quote } from '../../core/index.ts';
import { refused } from './fault.ts';
import { camelCase } from './text-types.ts';

/** @throws schema_invalid */
export function readDescriptorSet(bytes: Uint8Array, path: string): FileDescriptorProto[] {
	try {
		const { file } = fromBinary(FileDescriptorSetSchema, bytes);
		for (const { messageType } of file) messageType.forEach(completeNames);
		return file;
	} catch (error) {
		const said = cleanText(error instanceof Error ? error.message : String(error), 200);
		throw refused(`${path === '' ? 'The document' : quote(path)} is not a descriptor set: ${said}.`, path);
	}
}

/** Adds the JSON names of fields, which protoc writes, but some other tools do not. */
function completeNames(message: FileDescriptorProto['messageType'][number]): void {
	for (const field of message.field) if (field.jsonName === '') field.jsonName = camelCase(field.name);
	message.nestedType.forEach(completeNames);
}
