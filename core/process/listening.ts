// Where the service listens: tried before anything is begun, and told in a sentence where that cannot be.

import { createServer } from 'node:net';

/** A place to listen at, as HOST and PORT name it. */
export interface Address {
	host: string;
	port: number;
}

export const originOf = ({ host, port }: Address): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** @param own what this machine is called where the host stands for all of its addresses */
export const reachableOrigin = ({ host, port }: Address, own: string): string =>
	originOf({ host: host === '0.0.0.0' || host === '::' ? own : host, port });

/** @throws Error naming the variable to change */
export async function assertListenable(address: Address): Promise<void> {
	const probe = createServer();
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	probe.once('error', reject).listen(address, resolve);
	await promise.catch((error: unknown) => Promise.reject(listeningFault(error, address)));
	await probe[Symbol.asyncDispose]();
}

/** @param error of whoever tried to listen there */
export function listeningFault(error: unknown, { host, port }: Address): Error {
	const { code = '', message } = error as NodeJS.ErrnoException;
	return new Error(sentenceOf(code, host, port) ?? `HOST and PORT: nothing can listen at ${host}:${port}: ${message}.`, { cause: error });
}

function sentenceOf(code: string, host: string, port: number): string | null {
	switch (code) {
		case 'EADDRINUSE':
			return `PORT: something else listens at ${host}:${port} already. Stop it, or set PORT to another port.`;
		case 'EACCES':
		case 'EPERM':
			return `PORT: this user may not open port ${port}. Set PORT to one of 1024 or above.`;
		case 'EADDRNOTAVAIL':
		case 'EAFNOSUPPORT':
		case 'EINVAL':
		case 'ENOTFOUND':
		case 'EAI_AGAIN':
			return `HOST: ${host} is no address of this machine. Set HOST to one that is, or to 0.0.0.0 for all of them.`;
		default:
			return null;
	}
}
