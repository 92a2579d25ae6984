// Finds a port to listen on before the server starts, since the service writes its own address into its answers.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { listeningFault } from '../core/process/listening.ts';

/** Returns the wanted port, or a free one when it is taken. @throws Error naming the variable to change */
export async function findPort(host: string, wanted: number): Promise<number> {
	const server = createServer().listen(wanted, host);
	try {
		await once(server, 'listening');
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE' && wanted !== 0) return findPort(host, 0);
		throw listeningFault(error, { host, port: wanted });
	}
	// A server that listens on TCP has an AddressInfo.
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, 'close');
	return port;
}
