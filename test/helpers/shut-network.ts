// A service that may call one server and no other, on a machine whose every other address is a canary.

import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { type Account, registerAccount, startTestService, type TestService } from './service.ts';

export interface ShutNetwork {
	service: TestService;
	account: Account;
	/** The origin of the only server that is allowed. */
	origin: string;
	/** A listener on every address of the machine, to which nothing may ever connect. */
	canary: { port: number; connections: number };
	stop(): Promise<void>;
}

export async function startShutNetwork(serve: RequestListener): Promise<ShutNetwork> {
	const canary = { port: 0, connections: 0 };
	const shut = createTcpServer((socket) => {
		canary.connections++;
		socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
	});
	canary.port = await listen(shut, '::');
	const open = createServer(serve);
	const origin = `http://127.0.0.1:${await listen(open, '127.0.0.1')}`;
	const service = await startTestService({ env: { EGRESS_ALLOW: origin } });
	const stop = async (): Promise<void> => {
		await service.stop();
		open.close();
		shut.close();
	};
	return { service, account: await registerAccount(service.url), origin, canary, stop };
}

async function listen(server: Server, host: string): Promise<number> {
	await new Promise<void>((resolve) => server.listen(0, host, resolve));
	// The server listens on TCP, so the address is not a pipe's name.
	return (server.address() as AddressInfo).port;
}
