// The `grpc` executor: one method of a Protobuf service per tool, by gRPC or by JSON over HTTP, written by the Protobuf importer.

import { type Call, lazy, type ToolExecutor } from '../../../core/index.ts';
import type { Codec } from './codec.ts';
import { config, type GrpcConfig } from './config.ts';

/** A tool's codec, made of its descriptors, is kept so long. */
const CODEC_KEPT_MS = 10 * 60_000;

// Loaded at the first use, since each of these modules loads a library: @bufbuild/protobuf, and for gRPC calls @grpc/grpc-js.
const codecs = lazy(() => import('./codec.ts'));
const byHttp = lazy(() => import('./http.ts'));
const byGrpc = lazy(() => import('./rpc.ts'));

/** The codec is kept by tool and version: descriptors never change without a new version. */
async function codecOf(given: GrpcConfig, call: Call): Promise<Codec> {
	const { createCodec } = await codecs();
	const make = async (): Promise<Codec> => createCodec(given);
	return call.tool === null ? make() : call.memo(`codec:${call.tool.id}:${call.tool.version}`, CODEC_KEPT_MS, make);
}

export default {
	kind: 'executor',
	api: 1,
	name: 'grpc',
	assertsFormats: true,
	summary: 'Calls a method of a Protobuf service, by gRPC or by JSON over HTTP.',
	spec: 'gRPC over HTTP/2; Protobuf JSON format; google.api.http',
	config,
	async check(given) {
		const { createCodec } = await codecs();
		createCodec(given);
	},
	async execute(args, given, call) {
		const codec = await codecOf(given, call);
		if (given.protocol === 'grpc') return (await byGrpc()).callByGrpc(args, given, codec, call);
		return (await byHttp()).callByHttp(args, given, codec, call);
	},
	async preview(args, given, call) {
		const codec = await codecOf(given, call);
		if (given.protocol === 'grpc') return (await byGrpc()).previewByGrpc(args, given, codec, call);
		return (await byHttp()).previewByHttp(args, given, codec, call);
	},
} satisfies ToolExecutor<GrpcConfig>;
