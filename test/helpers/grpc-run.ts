// Parts to run the gRPC executor with in tests: the tools of an import, and the real egress guard on loopback.

import type { TestContext } from 'node:test';
import type { Call } from '../../core/contract/context.ts';
import type { SchemaImporter } from '../../core/contract/kinds.ts';
import type { Api, JsonObject, Tool, ToolDraft, ToolResult } from '../../core/contract/nouns.ts';
import type { OutboundRequest } from '../../core/contract/outbound.ts';
import { createEgress } from '../../core/egress/egress.ts';
import { Memo } from '../../core/shared/memo.ts';
import importer from '../../importers/protobuf/index.ts';
import type { GrpcConfig } from '../../plugins/executors/grpc/config.ts';
import grpc from '../../plugins/executors/grpc/index.ts';
import { apiAt } from './executor.ts';
import { type GrpcServer, shopFiles } from './grpc.ts';
import { readWith } from './importer.ts';

export interface GrpcCallOptions {
	api?: Api;
	tool?: Tool;
	signed?: (request: OutboundRequest) => OutboundRequest;
	signal?: AbortSignal;
	allow?: string[];
	/** Called on each connection with the host and port that it resolves. */
	onConnect?: (host: string, port: number) => void;
	/** Called when the circuit breaker would be notified of a failure. */
	onFailed?: () => void;
}

/** Makes the parts of `Call` that this executor uses. `upstream.example` is 127.0.0.1. */
export function grpcCall(t: TestContext, options: GrpcCallOptions = {}): Call {
	const egress = createEgress({ allow: options.allow ?? ['127.0.0.1'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
	t.after(() => egress.close());
	const memo = new Memo(100);
	const call: Pick<
		Call,
		'request' | 'connect' | 'exchange' | 'account' | 'memo' | 'sign' | 'renew' | 'signal' | 'api' | 'tool' | 'progress'
	> = {
		request: (request) => egress.request(request),
		connect: (host, port) => {
			options.onConnect?.(host, port);
			return egress.connect(host, port);
		},
		exchange: (_url, work) => work(() => options.onFailed?.(), {}),
		memo: (key, ttlMs, compute) => memo.get('organization', key, ttlMs, compute),
		account: async () => 'account',
		sign: async (request) => options.signed?.(request) ?? request,
		renew: async () => null,
		signal: options.signal ?? new AbortController().signal,
		api: options.api ?? null,
		tool: options.tool ?? null,
		progress: () => undefined,
	};
	return call as Call;
}

/** Imports and returns the tools by name. */
export async function importTools(
	importer: SchemaImporter,
	files: Map<string, Uint8Array>,
	options: object = {},
): Promise<Map<string, ToolDraft>> {
	const { operations } = await readWith(
		{ ...importer, parse: (source, _config, context) => importer.parse(source, options, context) },
		'',
		null,
		{ files },
	);
	const api: Api = { id: 'api', organizationId: 'org', name: 'Shop', type: 'protobuf', baseUrl: 'https://shop.example' };
	return new Map(operations.map((operation) => [operation.name, importer.tool(operation, api)]));
}

/** The tools of the shop, which are read once. */
let shop: Promise<Map<string, ToolDraft>> | undefined;

export async function configOf(name: string, more: Partial<GrpcConfig> = {}): Promise<GrpcConfig> {
	shop ??= importTools(importer, shopFiles());
	return grpc.config.validateAsync({ ...(await shop).get(name)?.executionConfig, ...more });
}

export interface Running extends GrpcCallOptions {
	more?: Partial<GrpcConfig>;
}

/** Calls a tool of the shop once. */
export async function run(
	t: TestContext,
	{ port }: Pick<GrpcServer, 'port'>,
	name: string,
	args: JsonObject = {},
	options: Running = {},
): Promise<ToolResult> {
	const { more, ...call } = options;
	return grpc.execute(args, await configOf(name, more), grpcCall(t, { api: apiAt(`http://127.0.0.1:${port}`), ...call }));
}

export const textOf = ({ content }: ToolResult): string => content.map((block) => ('text' in block ? block.text : '')).join('\n');
