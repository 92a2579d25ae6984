// The files that uploads need not contain: those of Protobuf itself, and Google's common ones (bundled-protos.ts).

import { gunzipSync } from 'node:zlib';
import { create, createFileRegistry, type DescFile, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
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
import { BUNDLED_PROTOS } from './bundled-protos.ts';

const FILES: readonly DescFile[] = [
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
];

/** The well-known files by their usual import path. */
export const WELL_KNOWN: ReadonlyMap<string, DescFile> = new Map(FILES.map((file) => [file.proto.name, file]));

/** Finds a well-known file, also in another folder, like vendored copies. */
export function wellKnownAt(path: string): DescFile | undefined {
	const at = path.lastIndexOf('google/protobuf/');
	return at === 0 || path[at - 1] === '/' ? WELL_KNOWN.get(path.slice(at)) : undefined;
}

/** Makes a registry of the bundled and the well-known files. */
export function createBundle(): FileRegistry {
	const ordered = new Set<DescFile>();
	const add = (file: DescFile): void => {
		file.dependencies.forEach(add);
		ordered.add(file);
	};
	FILES.forEach(add);
	const bundled = fromBinary(FileDescriptorSetSchema, gunzipSync(Buffer.from(BUNDLED_PROTOS, 'base64')));
	const file = [...ordered].map(({ proto }) => proto);
	return createFileRegistry(create(FileDescriptorSetSchema, { file: [...file, ...bundled.file] }));
}
