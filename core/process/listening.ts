// The address that the service listens on: tried before the start does anything, with an error that names the variable to change.

import { createServer } from 'node:net';

/** An address to listen on, from HOST and PORT. */
export interface Address {
	host: string;
	port: number;
}

interface Addresses extends Address {
	publicUrls: readonly string[];
	/** Null: the embedded one in the data folder. */
	database: (Address & { name: string }) | null;
	dataDir: string;
}

export const originOf = ({ host, port }: Address): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** @param own the name of this machine, used when the host means all of its addresses */
export const reachableOrigin = ({ host, port }: Address, own: string): string =>
	originOf({ host: host === '0.0.0.0' || host === '::' ? own : host, port });

/** Tries the address. @throws Error naming the variable to change */
export async function assertListenable(address: Address): Promise<void> {
	const probe = createServer();
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	probe.once('error', reject).listen(address, resolve);
	await promise.catch((error: unknown) => Promise.reject(listeningFault(error, address)));
	await probe[Symbol.asyncDispose]();
}

/** Explains a failure to listen. @param error of the attempt */
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
			return `HOST: ${host} is not an address of this machine. Set HOST to one that is, or to 0.0.0.0 for all of them.`;
		default:
			return null;
	}
}

/** The addresses that an operator looks for first: of the service, its documentation and its data. */
export function addressesOf({ host, port, publicUrls, database, dataDir }: Addresses): Record<string, unknown> {
	const data = database ? `PostgreSQL at ${database.host}:${database.port}, database ${database.name}` : dataDir;
	return { url: originOf({ host, port }), docs: `${publicUrls[0]}/docs`, data, publicUrls };
}
