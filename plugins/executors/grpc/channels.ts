// Connections to an API: HTTP/2 to an address that passed the guard, kept between calls and closed when nobody uses them.

import { createHash } from 'node:crypto';
import { type ChannelOptions, Client, credentials } from '@grpc/grpc-js';
import { type Call, type CheckedAddress, GatewayError } from '../../../core/index.ts';
import { TlsCredentials } from './tls.ts';

/** Where an API is, by its base URL: https is TLS, http is not. */
export interface Place {
	/** As in the URL, with the port unless it is the usual one. */
	host: string;
	hostname: string;
	port: number;
	isTls: boolean;
	/** Before the service: `/prefix`, or empty. */
	prefix: string;
	origin: string;
}

const MiB = 1024 * 1024;
/** A model reads far less. */
export const MAX_RECEIVED_BYTES = MiB;
const MAX_SENT_BYTES = 16 * MiB;
/** Of an address: so long a change of a name is not seen. */
const ADDRESS_KEPT_MS = 10_000;
const CHANNEL_KEPT_MS = 10 * 60_000;
const IDLE_MS = 30_000;

const OPTIONS: ChannelOptions = {
	'grpc.primary_user_agent': 'gatehouse',
	'grpc.max_receive_message_length': MAX_RECEIVED_BYTES,
	'grpc.max_send_message_length': MAX_SENT_BYTES,
	// What was sent may have been done: only a call that never left is sent again, which needs no permission.
	'grpc.enable_retries': 0,
	// All of these would ask others where to go.
	'grpc.enable_http_proxy': 0,
	'grpc.service_config_disable_resolution': 1,
	// A channel of one tenant is no other's, and is gone when it is closed.
	'grpc.use_local_subchannel_pool': 1,
	'grpc.enable_channelz': 0,
	// A call waits no longer for a connection than it must.
	'grpc.initial_reconnect_backoff_ms': 250,
	'grpc.max_reconnect_backoff_ms': 5_000,
};

/** @throws validation_failed when there is no API, or none that can be called */
export function placeOf({ api }: Pick<Call, 'api'>): Place {
	const url = api === null ? null : URL.parse(api.baseUrl);
	if (url === null) throw new GatewayError('validation_failed', 'The tool belongs to no API whose base URL could be called.');
	const isTls = url.protocol === 'https:';
	return {
		host: url.host,
		hostname: url.hostname.replace(/^\[|\]$/g, ''),
		// Port 0 is a port, which the guard refuses.
		port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
		isTls,
		prefix: url.pathname.replace(/\/+$/, ''),
		origin: url.origin,
	};
}

/** The channel to an API, the same for all calls that go to one address. @throws egress_refused, upstream_failed, upstream_timeout */
export async function channelTo(place: Place, rootCertificates: string | undefined, call: Call): Promise<Channel> {
	const { hostname, port, isTls } = place;
	const at = `${call.api?.id}:${hostname}:${port}`;
	const address = await call.memo(`address:${at}`, ADDRESS_KEPT_MS, () => call.connect(hostname, port));
	const roots = rootCertificates === undefined ? '' : createHash('sha256').update(rootCertificates).digest('hex');
	const key = `channel:${at}:${address.address}:${isTls}:${roots}`;
	return call.memo(key, CHANNEL_KEPT_MS, async () => new Channel(address, place, rootCertificates));
}

/**
 * It opens with the first call and closes itself some time after the last, so whoever forgets it leaves nothing behind.
 */
export class Channel {
	readonly #open: () => Client;
	#client: Client | null = null;
	#calls = 0;
	readonly #idleMs: number;
	#idle: NodeJS.Timeout | undefined;

	constructor({ address, family, port }: CheckedAddress, place: Place, rootCertificates?: string, idleMs = IDLE_MS) {
		this.#idleMs = idleMs;
		const target = family === 6 ? `ipv6:[${address}]:${port}` : `ipv4:${address}:${port}`;
		const options = { ...OPTIONS, 'grpc.default_authority': place.host };
		const trust = () => (place.isTls ? new TlsCredentials(place.hostname, rootCertificates) : credentials.createInsecure());
		this.#open = () => new Client(target, trust(), options);
	}

	async use<T>(work: (client: Client) => Promise<T>): Promise<T> {
		clearTimeout(this.#idle);
		this.#client ??= this.#open();
		this.#calls++;
		try {
			return await work(this.#client);
		} finally {
			this.#calls--;
			if (this.#calls === 0) this.#idle = setTimeout(() => this.#close(), this.#idleMs).unref();
		}
	}

	#close(): void {
		this.#client?.close();
		this.#client = null;
	}
}
