// TLS for a connection whose address is already decided. The library's own TLS would send an IP address as the server name.

import { isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect, createSecureContext, type SecureContext } from 'node:tls';
import { ChannelCredentials, credentials } from '@grpc/grpc-js';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

export class TlsCredentials extends ChannelCredentials {
	readonly #hostname: string;
	readonly #context: SecureContext;

	/** @param hostname name that the certificate must be for. @param rootCertificates PEM, replaces the public roots */
	constructor(hostname: string, rootCertificates?: string) {
		super();
		this.#hostname = hostname;
		this.#context = createSecureContext(rootCertificates === undefined ? {} : { ca: rootCertificates });
	}

	override _isSecure(): boolean {
		return true;
	}

	override _equals(other: ChannelCredentials): boolean {
		return this === other;
	}

	override _createSecureConnector(...[, , perCall]: Parameters<ChannelCredentials['_createSecureConnector']>): Connector {
		return {
			connect: async (socket) => ({ socket: await this.#secure(socket), secure: true }),
			waitForReady: async () => undefined,
			getCallCredentials: () => perCall ?? credentials.createEmpty(),
			destroy: () => undefined,
		};
	}

	#secure(socket: Socket): Promise<Socket> {
		const hostname = this.#hostname;
		const { promise, resolve, reject } = Promise.withResolvers<Socket>();
		const secured = connect({
			socket,
			secureContext: this.#context,
			ALPNProtocols: ['h2'],
			// RFC 6066 §3: "Literal IPv4 and IPv6 addresses are not permitted in 'HostName'."
			...(isIP(hostname) === 0 ? { servername: hostname } : {}),
			checkServerIdentity: (_name, certificate) => checkServerIdentity(hostname, certificate),
		});
		secured.once('secureConnect', () => resolve(secured));
		// `on`, not `once`: an error before the library adds its own listener would be unhandled.
		secured.on('error', reject);
		return promise;
	}
}
