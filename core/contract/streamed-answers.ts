// The contract of requests whose answers are read while they arrive. Types only.

import type { OutboundRequest } from './context.ts';

/**
 * `timeoutMs` is the limit until the response's headers, over redirects and retries. `maxBytes` is the maximum size of the decoded body,
 * 64 MiB by default. `signal` aborts it besides the signal of the call.
 */
export interface StreamRequest extends OutboundRequest {
	/** Limit of silence between two parts of the body, and of the time until its reading begins. Default 30,000. */
	idleMs?: number;
}

export interface StreamResponse {
	status: number;
	headers: Record<string, string>;
	/** The final URL, after redirects. */
	url: string;
	/**
	 * The decoded body, to be iterated once. Leaving the iteration closes the connection; what is not asked for is not read. It throws
	 * `upstream_failed` when the connection breaks, the body is too large or cannot be decoded, `upstream_timeout` after `idleMs` of
	 * silence or ten minutes in all, and the signal's reason. It is closed when the run of the tool ends, and after `idleMs` unread.
	 */
	body: AsyncIterable<Uint8Array>;
}
