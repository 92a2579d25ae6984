import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import executor from '../../plugins/executors/grpc/index.ts';
import { shopFiles } from '../../test/helpers/grpc.ts';
import { countRpcs } from '../../test/helpers/protobuf.ts';
import { silent } from '../../test/helpers/silent.ts';
import { type ImporterSample, importerContract } from '../../testing/importer.ts';
import { readDescription } from './document.ts';
import importer from './index.ts';

const MESSAGES = `message Pet {
  // The name of the pet.
  string name = 1;
  repeated Pet friends = 2;
  map<string, int64> weights = 3;
  oneof home { string street = 4; Pet host = 5; }
  google.protobuf.Timestamp born = 6;
}
message Ask { string name = 1 [(google.api.field_behavior) = REQUIRED]; }`;
const IMPORTS =
	'import "google/protobuf/timestamp.proto"; import "google/api/annotations.proto"; import "google/api/field_behavior.proto";';
const METHODS = [
	'rpc GetPet(Ask) returns (Pet) { option (google.api.http) = { get: "/v1/{name=pets/*}" }; }',
	'// Tells of new ones.\nrpc Watch(Ask) returns (stream Pet);',
	'rpc Upload(stream Pet) returns (Ask);',
	'rpc Chat(stream Pet) returns (stream Pet) { option deprecated = true; }',
];
const PETS = ['service Pets {', ...METHODS, '}'];
const write = (lines: string[]): string => `syntax = "proto3";\npackage pets.v1;\n${IMPORTS}\n${lines.join('\n')}\n${MESSAGES}\n`;

const services = (names: string[]): string[] =>
	names.map((name) => `service ${name} { rpc Get(Ask) returns (Ask); rpc get(Ask) returns (Ask); }`);
const CLASHES = services(['A', 'a', 'B_', 'B']);

const text = (name: string, lines: string[], reordered: string[]): ImporterSample => ({
	name,
	text: write(lines),
	operations: countRpcs(write(lines)),
	shuffled: write(reordered),
});

const files = shopFiles();
const { registry } = readDescription({ text: '', files }, silent);
const protos = [...registry.files].map(({ proto }) => proto).filter(({ name }) => files.has(name));
const set = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: protos }));
const shop = (name: string, given: Map<string, Uint8Array>): ImporterSample => ({
	name,
	text: '',
	source: { files: given },
	operations: files.values().reduce((sum, bytes) => sum + countRpcs(Buffer.from(bytes).toString()), 0),
	shuffled: null,
});

importerContract(importer, {
	executors: [executor],
	samples: [
		text('pets', PETS, ['service Pets {', ...METHODS.toReversed(), '}']),
		text('clashing names', CLASHES, CLASHES.toReversed()),
		shop('files of every syntax', files),
		shop('a descriptor set', new Map([['shop.binpb', set]])),
	],
	foreign: [
		'{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}',
		'type Query { a: String }',
		'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
		'{"data":{"__schema":{}}}',
	],
	broken: [
		{ text: 'syntax = "proto3";\nmessage A {\n  string a = ;\n}', at: /line 3/i },
		{ text: 'syntax = "proto3";\nservice S {\n\n rpc (A) returns (A);\n}', at: /line 4/i },
		{ text: 'syntax = "proto3";\nservice S { rpc X(Nope) returns (Nope); }', at: /"?Nope"?/ },
	],
	described: (said) =>
		`syntax = "proto3";\n/*\n${said}\n*/\nmessage A {\n/*\n${said}\n*/\nstring a = 1; }\nservice S {\n/*\n${said}\n*/\nrpc X(A) returns (A); }`,
});
