// The files that a tool's own descriptors leave out: those of Protobuf itself, and those of a status's details.

import { gunzipSync } from 'node:zlib';
import { create, createFileRegistry, type DescFile, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
	type DescriptorProto,
	type FileDescriptorProto,
	FileDescriptorSetSchema,
	file_google_protobuf_any,
	file_google_protobuf_api,
	file_google_protobuf_compiler_plugin,
	file_google_protobuf_cpp_features,
	file_google_protobuf_descriptor,
	file_google_protobuf_duration,
	file_google_protobuf_empty,
	file_google_protobuf_field_mask,
	file_google_protobuf_go_features,
	file_google_protobuf_java_features,
	file_google_protobuf_source_context,
	file_google_protobuf_struct,
	file_google_protobuf_timestamp,
	file_google_protobuf_type,
	file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt';
import { RPC_PROTOS } from './rpc-protos.ts';

/** Small files with the types that an Any is likely to hold. */
const ALWAYS: readonly DescFile[] = [
	file_google_protobuf_any,
	file_google_protobuf_duration,
	file_google_protobuf_empty,
	file_google_protobuf_field_mask,
	file_google_protobuf_struct,
	file_google_protobuf_timestamp,
	file_google_protobuf_wrappers,
];
/** Files of types about types, used only where a message needs one: the largest exceeds all of the above. Dependencies come first. */
const ON_DEMAND: readonly DescFile[] = [
	file_google_protobuf_source_context,
	file_google_protobuf_type,
	file_google_protobuf_api,
	file_google_protobuf_descriptor,
	file_google_protobuf_compiler_plugin,
	file_google_protobuf_cpp_features,
	file_google_protobuf_go_features,
	file_google_protobuf_java_features,
];

export function wellKnownFor(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
	const used = files.flatMap(typesOf);
	const isUsed = ({ proto }: DescFile): boolean => {
		const names = [...proto.messageType, ...proto.enumType].map(({ name }) => `.${proto.package}.${name}`);
		return used.some((type) => names.some((name) => type === name || type.startsWith(`${name}.`)));
	};
	const wanted = new Set<DescFile>(ALWAYS);
	const add = (file: DescFile): void => {
		file.dependencies.forEach(add);
		wanted.add(file);
	};
	ON_DEMAND.filter(isUsed).forEach(add);
	return [...wanted].map(({ proto }) => proto);
}

function typesOf({ messageType, extension, service }: FileDescriptorProto): string[] {
	const methods = service.flatMap(({ method }) => method.flatMap(({ inputType, outputType }) => [inputType, outputType]));
	return [...messageType.flatMap(typesIn), ...extension.flatMap(({ extendee, typeName }) => [extendee, typeName]), ...methods];
}

function typesIn({ field, extension, nestedType }: DescriptorProto): string[] {
	const own = [...field, ...extension].map(({ typeName }) => typeName).filter((name) => name.startsWith('.google.protobuf.'));
	return [...own, ...nestedType.flatMap(typesIn)];
}

/** The files of google.rpc.Status and the messages of error_details.proto. */
export const RPC_FILES: FileRegistry = createFileRegistry(
	create(FileDescriptorSetSchema, {
		file: [...ALWAYS.map(({ proto }) => proto), ...fromBinary(FileDescriptorSetSchema, gunzipSync(Buffer.from(RPC_PROTOS, 'base64'))).file],
	}),
);
