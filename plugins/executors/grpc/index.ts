// The `grpc` executor: one method of a Protobuf service per tool, by gRPC or by JSON over HTTP, written by the Protobuf importer.

import type { Call, ToolExecutor } from '../../../core/index.ts';
import { type Codec, createCodec } from './codec.ts';
import { config, type GrpcConfig } from './config.ts';
import { callByHttp, previewByHttp } from './http.ts';
import { callByGrpc, previewByGrpc } from './rpc.ts';

/** Of a tool that is called: what is made of its descriptors. */
const CODEC_KEPT_MS = 10 * 60_000;

/** By tool and version, as its descriptors never change without one. */
function codecOf(given: GrpcConfig, call: Call): Promise<Codec> {
	const make = async (): Promise<Codec> => createCodec(given);
	return call.tool === null ? make() : call.memo(`codec:${call.tool.id}:${call.tool.version}`, CODEC_KEPT_MS, make);
}

export default {
	kind: 'executor',
	name: 'grpc',
	summary: 'Calls a method of a Protobuf service, by gRPC or by JSON over HTTP.',
	spec: 'gRPC over HTTP/2; Protobuf JSON format; google.api.http',
	config,
	async check(given) {
		createCodec(given);
	},
	async execute(args, given, call) {
		const codec = await codecOf(given, call);
		return given.protocol === 'http' ? callByHttp(args, given, codec, call) : callByGrpc(args, given, codec, call);
	},
	async preview(args, given, call) {
		const codec = await codecOf(given, call);
		return given.protocol === 'http' ? previewByHttp(args, given, codec, call) : previewByGrpc(args, given, codec, call);
	},
} satisfies ToolExecutor<GrpcConfig>;
