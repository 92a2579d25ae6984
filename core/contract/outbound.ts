// The contract of outbound requests, whose answers are read whole or while they arrive, and of addresses for protocols with sockets of their own. Types
// only.

import type { CredentialNeed } from './nouns.ts';

export interface OutboundRequest {
	method: string;
	url: string;
	headers?: Record<string, string>;
	body?: string | Buffer | null;
	/** Time limit of the whole exchange, redirects included. Default 30,000. */
	timeoutMs?: number;
	/** Maximum size of the decoded body. Default 10 MiB. */
	maxBytes?: number;
	/** Default 3; with 0 the redirect itself is returned. Credentials are not sent to another origin. */
	maxRedirects?: number;
	signal?: AbortSignal;
	/**
	 * The credentials that `Call.sign` adds: alternatives, each a list of credentials that are used together. The first alternative that is
	 * stored completely is used; `[]` sends none. If absent, whatever is stored without a scheme is used.
	 */
	security?: CredentialNeed[][];
	/**
	 * Whether the request may be sent twice without further effect. Default: by the method (RFC 9110 §9.2.2). Inside an executor, repeatable
	 * requests are retried when the connection breaks or the upstream answers 502, 503, 504 or 429; others only when nothing was sent yet.
	 */
	repeatable?: boolean;
}

export interface OutboundResponse {
	status: number;
	headers: Record<string, string>;
	body: Buffer;
	/** The final URL, after redirects. */
	url: string;
}

/** An address that passed the egress guard: connect to this one only. */
export interface CheckedAddress {
	address: string;
	family: 4 | 6;
	port: number;
}

/** A protocol with ports of its own, which are refused to HTTP. */
export type SocketProtocol =
	| 'amqp'
	| 'cassandra'
	| 'ftp'
	| 'imap'
	| 'kafka'
	| 'ldap'
	| 'memcached'
	| 'mongodb'
	| 'mqtt'
	| 'mssql'
	| 'mysql'
	| 'nats'
	| 'oracle'
	| 'pop3'
	| 'postgresql'
	| 'redis'
	| 'smtp'
	| 'ssh';

/**
 * `timeoutMs` is the limit until the response's headers, over redirects and retries. `maxBytes` is the maximum size of the decoded body,
 * 64 MiB by default. `signal` aborts it besides the signal of the call.
 */
export interface StreamRequest extends OutboundRequest {
	/** Limit of silence between two parts of the body, and of the time until its reading begins. Default 30,000. */
	idleMs?: number;
	/** Limit of the time in which the body is read. Default 600,000; at most 3,600,000. */
	bodyMs?: number;
}

export interface StreamResponse {
	status: number;
	headers: Record<string, string>;
	/** The final URL, after redirects. */
	url: string;
	/**
	 * The decoded body, to be iterated once. Leaving the iteration closes the connection; what is not asked for is not read. It throws
	 * `upstream_failed` when the connection breaks, the body is too large or cannot be decoded, `upstream_timeout` after `idleMs` of
	 * silence or `bodyMs` in all, and the signal's reason. It is closed when the run of the tool ends, and after `idleMs` unread.
	 */
	body: AsyncIterable<Uint8Array>;
}
