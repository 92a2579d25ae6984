// Connections to an API: HTTP/2 to an address that passed the guard, kept between calls and closed when idle.

import { createHash } from 'node:crypto';
import { type ChannelOptions, Client, credentials } from '@grpc/grpc-js';
import { type Call, type CheckedAddress, GatewayError } from '../../../core/index.ts';
import { TlsCredentials } from './tls.ts';

/** The parts of an API's base URL that a call needs; https is TLS, http is not. */
export interface GrpcTarget {
	/** Host as in the URL, with the port unless it is the default one. */
	host: string;
	hostname: string;
	port: number;
	isTls: boolean;
	/** Path before the service's name: `/prefix`, or empty. */
	prefix: string;
	origin: string;
}

const MiB = 1024 * 1024;
/** Far more than a model reads. */
export const MAX_RECEIVED_BYTES = MiB;
const MAX_SENT_BYTES = 16 * MiB;
/** A change of the name's address is noticed after this time. */
const ADDRESS_KEPT_MS = 10_000;
const CHANNEL_KEPT_MS = 10 * 60_000;
const IDLE_MS = 30_000;

const OPTIONS: ChannelOptions = {
	'grpc.primary_user_agent': 'gatehouse',
	'grpc.max_receive_message_length': MAX_RECEIVED_BYTES,
	'grpc.max_send_message_length': MAX_SENT_BYTES,
	// A call that was sent may have been executed. One that never left is retried transparently, whatever this option says.
	'grpc.enable_retries': 0,
	// Both options would let somebody else decide where the call goes.
	'grpc.enable_http_proxy': 0,
	'grpc.service_config_disable_resolution': 1,
	// A channel belongs to one tenant, and its connection ends when it is closed.
	'grpc.use_local_subchannel_pool': 1,
	'grpc.enable_channelz': 0,
	// A call does not wait longer for a connection than it must.
	'grpc.initial_reconnect_backoff_ms': 250,
	'grpc.max_reconnect_backoff_ms': 5_000,
};

/** @throws validation_failed when the tool has no API, or its base URL cannot be called */
export function targetOf({ api }: Pick<Call, 'api'>): GrpcTarget {
	const url = api === null ? null : URL.parse(api.baseUrl);
	if (url === null) throw new GatewayError('validation_failed', 'The tool has no API with a base URL that can be called.');
	const isTls = url.protocol === 'https:';
	return {
		host: url.host,
		hostname: url.hostname.replace(/^\[|\]$/g, ''),
		// Port 0 stays 0, and the guard refuses it.
		port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
		isTls,
		prefix: url.pathname.replace(/\/+$/, ''),
		origin: url.origin,
	};
}

/** Returns the channel to an API, which all calls to one address share. @throws egress_refused, upstream_failed, upstream_timeout */
export async function channelTo(target: GrpcTarget, rootCertificates: string | undefined, call: Call): Promise<Channel> {
	const { hostname, port, isTls } = target;
	const at = `${call.api?.id}:${hostname}:${port}`;
	const address = await call.memo(`address:${at}`, ADDRESS_KEPT_MS, () => call.connect(hostname, port));
	const roots = rootCertificates === undefined ? '' : createHash('sha256').update(rootCertificates).digest('hex');
	const key = `channel:${at}:${address.address}:${isTls}:${roots}`;
	return call.memo(key, CHANNEL_KEPT_MS, async () => new Channel(address, target, rootCertificates));
}

/**
 * A connection that opens with the first call and closes itself some time after the last, so one that is forgotten leaves nothing behind.
 */
export class Channel {
	readonly #open: () => Client;
	#client: Client | null = null;
	#calls = 0;
	readonly #idleMs: number;
	#idle: NodeJS.Timeout | undefined;

	constructor({ address, family, port }: CheckedAddress, target: GrpcTarget, rootCertificates?: string, idleMs = IDLE_MS) {
		this.#idleMs = idleMs;
		const uri = family === 6 ? `ipv6:[${address}]:${port}` : `ipv4:${address}:${port}`;
		const options = { ...OPTIONS, 'grpc.default_authority': target.host };
		const trust = () => (target.isTls ? new TlsCredentials(target.hostname, rootCertificates) : credentials.createInsecure());
		this.#open = () => new Client(uri, trust(), options);
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
