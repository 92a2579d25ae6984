// Refusals of the guard, and messages for network failures. They show hosts as the user wrote them, never resolved addresses.

import { asGatewayError, type ErrorCode, GatewayError } from '../contract/errors.ts';

const MAX_SHOWN = 100;

export function refused(message: string): GatewayError {
	return new GatewayError('egress_refused', message);
}

/** Names the field of the request's body that held a refused URL; returns any other error unchanged. @param at JSON pointer */
export function refusedField(error: unknown, at: string): unknown {
	const known = asGatewayError(error);
	if (known?.code !== 'egress_refused') return error;
	const message = `${at.slice(at.lastIndexOf('/') + 1)} cannot be called: ${known.message}`;
	return new GatewayError('egress_refused', message, { details: [{ path: at, message }], cause: error });
}

/** Refuses with the same sentence for every kind of address, so that the answer reveals nothing about what a name resolves to. */
export function refusedAddress(host: string): GatewayError {
	return refused(
		`${shown(host)} is or resolves to an address that outbound calls may not reach (loopback, private, reserved or cloud metadata). ` +
			'The operator may open it with EGRESS_ALLOW, cloud metadata excepted.',
	);
}

export function tooLarge(host: string, maxBytes: number): GatewayError {
	return new GatewayError('upstream_failed', `${shown(host)} answered with more than ${maxBytes} bytes.`);
}

export function tooMuchHeld(): GatewayError {
	return new GatewayError('rate_limited', 'The answers that the organization is reading take all the memory that they may: retry later.');
}

/** There was no complete answer: no connection, a broken one, or silence. Faults of an answer itself are other errors. */
export class NoAnswer extends GatewayError {
	/** No byte of the request was sent, so a retry cannot have an effect twice. */
	readonly isUnsent: boolean;

	constructor(code: ErrorCode, message: string, { cause, isUnsent = false }: { cause?: unknown; isUnsent?: boolean } = {}) {
		super(code, message, { cause });
		this.name = 'NoAnswer';
		this.isUnsent = isUnsent;
	}
}

export function timedOut(host: string, timeoutMs: number): NoAnswer {
	return new NoAnswer('upstream_timeout', `${shown(host)} did not answer completely within ${timeoutMs} ms.`);
}

/** The upstream has not begun to answer in time. */
export function unanswered(host: string, timeoutMs: number): NoAnswer {
	return new NoAnswer('upstream_timeout', `${shown(host)} did not begin to answer within ${timeoutMs} ms.`);
}

/** The upstream stopped in the middle of its answer. */
export function fellSilent(host: string, idleMs: number): NoAnswer {
	return new NoAnswer('upstream_timeout', `${shown(host)} sent nothing for ${idleMs} ms in the middle of its answer.`);
}

/** Makes foreign text safe for a message: bounded, and without control characters. */
export function shown(text: string): string {
	const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, '');
	return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT', 'ETIMEOUT']);

/** Ends of a sentence that begins with the host, by error code; the default is `failed`. */
const FAILURES: Readonly<Record<string, string>> = {
	ENOTFOUND: 'could not be resolved',
	EAI_AGAIN: 'could not be resolved',
	ENODATA: 'could not be resolved',
	ESERVFAIL: 'could not be resolved',
	EREFUSED: 'could not be resolved',
	EBADNAME: 'could not be resolved',
	EBADRESP: 'could not be resolved',
	ECONNREFUSED: 'refused the connection',
	ECONNRESET: 'closed the connection before its answer was complete',
	EPIPE: 'closed the connection before its answer was complete',
	UND_ERR_SOCKET: 'closed the connection before its answer was complete',
	UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'sent an answer whose length differs from its Content-Length',
	UND_ERR_HEADERS_OVERFLOW: 'answered with headers that are too large',
	UND_ERR_CLOSED: 'could not be called: the service is stopping',
	UND_ERR_DESTROYED: 'could not be called: the service is stopping',
	EHOSTUNREACH: 'could not be reached',
	ENETUNREACH: 'could not be reached',
	EADDRNOTAVAIL: 'could not be reached',
};

/** Codes after which an answer had begun, or with which the service itself is stopping. */
const ANSWERED: ReadonlySet<string> = new Set([
	'HPE',
	'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
	'UND_ERR_HEADERS_OVERFLOW',
	'UND_ERR_CLOSED',
	'UND_ERR_DESTROYED',
]);

const TLS = /CERT|SELF_SIGNED|UNABLE_TO|^ERR_SSL|^ERR_TLS|^EPROTO$/;

/** Converts an error of undici, the socket or the resolver into one of ours. A GatewayError stays unchanged. */
export function networkError(error: unknown, host: string): GatewayError {
	const chain = causes(error);
	for (const link of chain) {
		const ours = asGatewayError(link);
		if (ours) return ours;
	}
	const codes = chain.map(codeOf);
	const cause = { cause: error };
	if (codes.some((code) => TIMEOUTS.has(code))) return new NoAnswer('upstream_timeout', `${shown(host)} did not answer in time.`, cause);
	if (codes.includes('UND_ERR_INVALID_ARG'))
		return new GatewayError(
			'validation_failed',
			`The request to ${shown(host)} is not valid HTTP: ${shown(String(chain[0]?.message))}.`,
			cause,
		);
	const message = `${shown(host)} ${codes.map(failure).find(Boolean) ?? 'failed'}.`;
	if (codes.some((code) => ANSWERED.has(code))) return new GatewayError('upstream_failed', message, cause);
	return new NoAnswer('upstream_failed', message, cause);
}

/** undici's parser sets a code for some of its errors only. */
function codeOf(error: Error & { code?: unknown }): string {
	if (error.name === 'HTTPParserError') return 'HPE';
	return typeof error.code === 'string' ? error.code : '';
}

function failure(code: string): string | undefined {
	if (code === 'HPE') return 'did not answer in valid HTTP';
	if (TLS.test(code)) return `could not be trusted: TLS failed (${code})`;
	return FAILURES[code];
}

/** Returns the error and its causes, outermost first; of an AggregateError of several addresses, the first one. */
function causes(error: unknown): Error[] {
	const chain: Error[] = [];
	for (let link = error; link instanceof Error && chain.length < 5; link = link.cause) chain.push(link);
	const last = chain.at(-1);
	if (last instanceof AggregateError && last.errors[0] instanceof Error) chain.push(last.errors[0]);
	return chain;
}
