// Compiled descriptions: what `protoc --descriptor_set_out` and `buf build -o` write.

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
		throw refused(`${path === '' ? 'The document' : quote(path)} is no descriptor set: ${said}.`, path);
	}
}

/** protoc writes the names that fields have in JSON; not everything else that makes sets does. */
function completeNames(message: FileDescriptorProto['messageType'][number]): void {
	for (const field of message.field) if (field.jsonName === '') field.jsonName = camelCase(field.name);
	message.nestedType.forEach(completeNames);
}
