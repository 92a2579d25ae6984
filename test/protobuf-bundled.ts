// Writes the protos of google-gax that the Protobuf importer and the gRPC executor bundle: `node test/protobuf-bundled.ts`.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { wellKnownAt } from '../importers/protobuf/bundled-files.ts';
import { readDescription } from '../importers/protobuf/document.ts';
import { silent } from './helpers/silent.ts';

const GAX = new URL('../node_modules/google-gax/build/protos/', import.meta.url);

/** The bundles, as compiled files without comments. */
export const BUNDLES = {
	importer: {
		target: new URL('../importers/protobuf/bundled-protos.ts', import.meta.url),
		name: 'BUNDLED_PROTOS',
		patterns: ['google/api/*.proto', 'google/longrunning/*.proto', 'google/rpc/**/*.proto', 'google/type/*.proto'],
	},
	executor: {
		target: new URL('../plugins/executors/grpc/rpc-protos.ts', import.meta.url),
		name: 'RPC_PROTOS',
		patterns: ['google/rpc/error_details.proto', 'google/rpc/status.proto'],
	},
};

export function bundle(patterns: readonly string[]): Uint8Array {
	const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: GAX })).sort();
	const given = paths.map((path): [string, Uint8Array] => [path, readFileSync(new URL(path, GAX))]);
	// The compiler only includes files that a service needs, so one service needs them all.
	const all = `syntax = "proto3";\n${paths.map((path) => `import "${path}";\n`).join('')}service All {}\n`;
	const { registry } = readDescription({ text: '', files: new Map([...given, ['all.proto', Buffer.from(all)]]) }, silent);
	const files = [...registry.files].map(({ proto }) => proto);
	const file = files.filter(({ name }) => wellKnownAt(name) === undefined && name !== 'all.proto');
	return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file }));
}

const HEADER = `// Some of Google's common protos as one compiled, compressed FileDescriptorSet: see test/protobuf-bundled.ts, which makes it from the
// .proto files of google-gax. These are Copyright Google LLC, licensed under the Apache License, Version 2.0:
// https://www.apache.org/licenses/LICENSE-2.0
`;

if (import.meta.main) {
	for (const { target, name, patterns } of Object.values(BUNDLES)) {
		const text = gzipSync(bundle(patterns), { level: 9 }).toString('base64');
		writeFileSync(target, `${HEADER}\nexport const ${name} =\n\t'${text}';\n`);
	}
}
