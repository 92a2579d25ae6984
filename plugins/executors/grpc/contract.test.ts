import { describe, type TestContext } from 'node:test';
import { Metadata, Server, ServerCredentials, type ServerDuplexStream, status as Status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import importer from '../../../importers/protobuf/index.ts';
import { apiAt } from '../../../test/helpers/executor.ts';
import { readWith } from '../../../test/helpers/importer.ts';
import { tcpUpstream, type Upstream } from '../../../test/helpers/upstream.ts';
import { type Behaviour, executorContract, SECRET } from '../../../testing/executor.ts';
import grpc from './index.ts';

const PROTO = `syntax = "proto3"; package contract; service Tester { rpc Say(Line) returns (stream Line); } message Line { string text = 1; }`;
const line = protobuf.parse(PROTO).root.lookupType('contract.Line');

interface Line {
	text: string;
}
type Saying = ServerDuplexStream<Line, Line>;

const BEHAVIOURS: Record<Exclude<Behaviour, 'reset' | 'nonsense'>, (call: Saying, said: Line) => void> = {
	echo: (call, said) => {
		call.write(said);
		call.end();
	},
	fail: (call) => call.emit('error', Object.assign(new Error('no'), { code: Status.NOT_FOUND, details: 'no', metadata: new Metadata() })),
	hang: () => undefined,
	endless: (call, said) => {
		const more = (): void => {
			if (call.cancelled) return;
			if (call.write(said)) setImmediate(more);
			else call.once('drain', more);
		};
		more();
	},
	// The secret is in a message and in the status, since both are read.
	tell: (call) => {
		const told = JSON.stringify(call.metadata.getMap());
		call.write({ text: told });
		call.emit('error', Object.assign(new Error(told), { code: Status.UNAUTHENTICATED, details: told, metadata: new Metadata() }));
	},
};

/** Counts exchanges: a connection is shared by many calls, and only the exchange opens and closes with a run. */
async function start(t: TestContext, behaviour: Behaviour): Promise<Upstream> {
	if (behaviour === 'reset') return tcpUpstream(t, (socket) => socket.once('data', () => socket.destroy()));
	if (behaviour === 'nonsense') return tcpUpstream(t, (socket) => socket.end(Buffer.from([0, 255, 254, 60, 104])));
	let [begun, open] = [0, 0];
	const server = new Server();
	const Say = {
		path: '/contract.Tester/Say',
		requestStream: true,
		responseStream: true,
		requestDeserialize: (bytes: Buffer) => line.decode(bytes),
		requestSerialize: () => Buffer.alloc(0),
		responseSerialize: (said: Line) => Buffer.from(line.encode(line.fromObject(said)).finish()),
		responseDeserialize: () => null,
	};
	const handle = (call: Saying): void => {
		begun++;
		open++;
		call.on('cancelled', () => open--);
		call.on('data', (said: Line) => BEHAVIOURS[behaviour](call, said));
	};
	server.addService({ Say } as never, { Say: handle } as never);
	const port = await new Promise<number>((resolve, reject) =>
		server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))),
	);
	t.after(() => server.forceShutdown());
	return { port, origin: `http://127.0.0.1:${port}`, connections: () => begun, open: () => open };
}

describe('A tool of a method that answers with a stream', async () => {
	const { operations } = await readWith(importer, PROTO);
	const [operation] = operations;
	if (!operation) throw new Error('The service has no method.');
	const config = importer.tool(operation).executionConfig;

	executorContract(grpc, {
		start,
		config: (_origin, more) => ({ ...config, ...more }),
		api: apiAt,
		echoed: ({ structured }) => (structured as unknown as { messages: [Line] }).messages[0].text,
		bad: [
			{ config: { service: 'contract.Tester', method: 'Say' }, says: /"descriptors" is required/ },
			{ config: { ...config, descriptors: '!' }, says: /"descriptors" must be/ },
			{ config: { ...config, protocol: 'soap' }, says: /"protocol" must be one of/ },
			{ config: { ...config, timeoutMs: 0 }, says: /"timeoutMs" must be/ },
			{ config: { ...config, rootCertificates: 'x' }, says: /"rootCertificates" must be PEM certificates/ },
		],
		timeoutField: 'timeoutMs',
		hasAddress: true,
		signed: (request) => ({
			...request,
			headers: { ...request.headers, authorization: `Basic ${Buffer.from(`ada:${SECRET}`).toString('base64')}`, 'x-key': SECRET },
		}),
	});
});
