// A gRPC server for tests: grpc-js in front of the services of test/fixtures/protobuf/shop, whose messages protobufjs reads and writes, so
// that another implementation understands what our own codec sends.

import { globSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import {
	compressionAlgorithms,
	Metadata,
	Server,
	ServerCredentials,
	type ServerDuplexStream,
	type ServerReadableStream,
	type ServerUnaryCall,
	type ServerWritableStream,
	status as Status,
	type sendUnaryData,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const SHOP = new URL('../fixtures/protobuf/shop/', import.meta.url);
const pem = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** Returns the files of the shop by path, in the form that an import takes. */
export const shopFiles = (): Map<string, Uint8Array> =>
	new Map(globSync('*.proto', { cwd: SHOP }).map((path) => [path, readFileSync(new URL(path, SHOP))]));

type Data = Record<string, unknown>;

export interface GrpcServer {
	port: number;
	/** Decoded messages, as plain objects with the names of the description. */
	requests: Data[];
	metadata: Metadata[];
	/** The `:authority` of each call. */
	hosts: string[];
	/** The deadlines of the calls. */
	deadlines: unknown[];
	/** Paths of calls that were cancelled. */
	cancelled: string[];
	connections(): number;
	/** Breaks all connections. */
	disconnect(): void;
}

/** Makes a google.rpc.Status with one known detail, one unknown detail, and a stack trace. */
function detailsOf(code: number, message: string): Buffer {
	const root = protobuf.parse(
		`syntax = "proto3";
		message Any { string type_url = 1; bytes value = 2; }
		message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
		message ErrorInfo { string reason = 1; string domain = 2; }
		message DebugInfo { repeated string stack_entries = 1; }`,
		{ keepCase: true },
	).root;
	const pack = (name: string, type: string, value: Data): Data => ({
		type_url: `type.googleapis.com/${name}`,
		value: root.lookupType(type).encode(value).finish(),
	});
	const details = [
		pack('google.rpc.ErrorInfo', 'ErrorInfo', { reason: 'SOLD_OUT', domain: 'shop.example' }),
		pack('shop.v1.Nobody', 'ErrorInfo', { reason: 'x' }),
		pack('google.rpc.DebugInfo', 'DebugInfo', { stack_entries: ['at secret.c:1'] }),
	];
	return Buffer.from(root.lookupType('Status').encode({ code, message, details }).finish());
}

export interface GrpcServerOptions {
	tls?: 'upstream.example' | 'loopback' | false;
	gzip?: boolean;
	/** Tells whether a unary call with this credential is UNAUTHENTICATED. */
	refuses?(authorization: string): boolean;
}

export async function grpcServer(
	t: TestContext,
	{ tls = false, gzip = false, refuses = () => false }: GrpcServerOptions = {},
): Promise<GrpcServer> {
	const root = shopRoot();
	const told: Omit<GrpcServer, 'port' | 'connections' | 'disconnect'> = {
		requests: [],
		metadata: [],
		hosts: [],
		deadlines: [],
		cancelled: [],
	};
	const server = new Server({
		'grpc.max_receive_message_length': 32 * 1024 * 1024,
		...(gzip ? { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip } : {}),
	});
	const hear = (call: {
		metadata: Metadata;
		getHost(): string;
		getDeadline(): unknown;
		on(event: 'cancelled', listener: () => void): unknown;
		getPath(): string;
	}): void => {
		told.metadata.push(call.metadata);
		told.hosts.push(call.getHost());
		told.deadlines.push(call.getDeadline());
		// The event comes at the end of every call, successful ones too.
		call.on('cancelled', () => !finished.has(call) && told.cancelled.push(call.getPath()));
	};
	const finished = new WeakSet<object>();
	const unary =
		(answer: (request: Data) => Data | { fails: number; message: string; details?: Buffer } | null) =>
		(call: ServerUnaryCall<Data, Data>, done: sendUnaryData<Data>) => {
			hear(call);
			told.requests.push(call.request);
			const isRefused = refuses(String(call.metadata.get('authorization')[0]));
			const result: ReturnType<typeof answer> = isRefused
				? { fails: Status.UNAUTHENTICATED, message: 'Who are you?' }
				: answer(call.request);
			if (result === null) return;
			finished.add(call);
			if (!('fails' in result)) return done(null, result);
			const metadata = new Metadata();
			if (result.details) metadata.set('grpc-status-details-bin', result.details as Buffer);
			done({ code: result.fails as number, details: String(result.message), metadata });
		};
	addService(server, root.lookupService('shop.v1.Shop'), {
		Echo: unary((request) => request),
		GetItem: unary((request) => ({ name: request['name'], title: 'A chair', version: 3 })),
		ListItems: unary(() => ({ items: [] })),
		CreateItem: unary(({ item }) => item as Data),
		UpdateItem: unary(({ item }) => item as Data),
		Upper: unary(({ value }) => ({ value: String(value).toUpperCase() })),
		Sell: unary(() => ({ name: 'op/1', done: true, response: { type_url: 'type.googleapis.com/shop.v1.Item', value: itemBytes(root) } })),
		Fail: unary(({ code, message, detailed }) => ({
			fails: code as number,
			message: message as string,
			...(detailed ? { details: detailsOf(code as number, message as string) } : {}),
		})),
		Wait: unary(() => null),
		Watch: (call: ServerWritableStream<Data, Data>) => {
			hear(call);
			watch(call, () => finished.add(call));
		},
		Upload: (call: ServerReadableStream<Data, Data>, done: sendUnaryData<Data>) => {
			hear(call);
			const names: unknown[] = [];
			call.on('data', (item: Data) => names.push(item['name']));
			call.on('end', () => {
				finished.add(call);
				done(null, { count: names.length, names: names.slice(0, 100) });
			});
		},
		Chat: (call: ServerDuplexStream<Data, Data>) => {
			hear(call);
			call.on('data', (item: Data) => call.write({ ...item, title: `Re: ${String(item['title'])}` }));
			call.on('end', () => {
				finished.add(call);
				call.end();
			});
		},
	});
	for (const name of ['shop.legacy.Library', 'shop.editions.Cards', 'shop.newest.Tickets'])
		addService(server, root.lookupService(name), { Echo: unary((request) => request) });
	const credentials = tls
		? ServerCredentials.createSsl(null, [{ private_key: pem(`${tls}.key.pem`), cert_chain: pem(`${tls}.cert.pem`) }])
		: ServerCredentials.createInsecure();
	const port = await new Promise<number>((resolve, reject) =>
		server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
	);
	t.after(() => server.forceShutdown());
	return {
		...told,
		port,
		connections: () => sessionsOf(server).size,
		disconnect: () => {
			for (const session of sessionsOf(server).keys()) session.destroy();
		},
	};
}

/** Reads the open connections, which the library does not expose. */
const sessionsOf = (server: Server): Map<{ destroy(): void }, unknown> =>
	(server as unknown as { sessions: Map<{ destroy(): void }, unknown> }).sessions;

function watch(call: ServerWritableStream<Data, Data>, onEnd: () => void): void {
	const { count = 0, every_ms: everyMs = 0, size = 0 } = call.request as { count?: number; every_ms?: number; size?: number };
	let sent = 0;
	const next = (): void => {
		if (call.cancelled) return;
		if (sent === count) {
			onEnd();
			return void call.end();
		}
		sent++;
		const hasRoom = call.write({ name: `item ${sent}`, version: sent, picture: Buffer.alloc(size) });
		if (everyMs > 0) setTimeout(next, everyMs);
		else if (hasRoom) setImmediate(next);
		else call.once('drain', next);
	};
	next();
}

function itemBytes(root: protobuf.Root): Uint8Array {
	return root.lookupType('shop.v1.Item').encode({ name: 'shelves/1/items/1', title: 'Sold' }).finish();
}

function addService(server: Server, service: protobuf.Service, handlers: Record<string, unknown>): void {
	const definitions = service.methodsArray.map((method) => {
		const [input, output] = [service.parent?.lookupType(method.requestType), service.parent?.lookupType(method.responseType)];
		const path = `/${service.fullName.slice(1)}/${method.name}`;
		const definition = {
			path,
			requestStream: method.requestStream ?? false,
			responseStream: method.responseStream ?? false,
			requestDeserialize: (bytes: Buffer) =>
				input?.toObject(input.decode(bytes), { longs: BigInt, bytes: Buffer, enums: String, arrays: false }),
			requestSerialize: () => Buffer.alloc(0),
			responseSerialize: (value: Data) => Buffer.from(output?.encode(output.fromObject(value)).finish() ?? []),
			responseDeserialize: () => null,
		};
		return [method.name, definition] as const;
	});
	server.addService(Object.fromEntries(definitions) as never, handlers as never);
}

function shopRoot(): protobuf.Root {
	const root = new protobuf.Root();
	const gax = new URL('../../node_modules/google-gax/build/protos/', import.meta.url);
	root.resolvePath = (_from, path) => {
		if (path.startsWith('google/')) return new URL(path, gax).pathname;
		return path.startsWith('gogoproto/') ? null : new URL(path, SHOP).pathname;
	};
	root.loadSync(['shop.proto', 'legacy.proto', 'editions.proto', 'newest.proto'], { keepCase: true });
	root.resolveAll();
	return root;
}
