// How the guard says no, and what the network's failures are called. Hosts appear as the user wrote them, never what they resolve to.

import { asGatewayError, type ErrorCode, GatewayError } from '../contract/errors.ts';

const MAX_SHOWN = 100;

export function refused(message: string): GatewayError {
	return new GatewayError('egress_refused', message);
}

/** The refusal of a URL that stood in this field of a request's body; any other error as it is. @param at JSON pointer */
export function refusedField(error: unknown, at: string): unknown {
	const known = asGatewayError(error);
	if (known?.code !== 'egress_refused') return error;
	const message = `${at.slice(at.lastIndexOf('/') + 1)} cannot be called: ${known.message}`;
	return new GatewayError('egress_refused', message, { details: [{ path: at, message }], cause: error });
}

/** One sentence for every kind of address, so that the answer says nothing about what a name resolves to. */
export function refusedAddress(host: string): GatewayError {
	return refused(
		`${shown(host)} is or resolves to an address that outbound calls may not reach (loopback, private, reserved or cloud metadata). ` +
			'The operator may open it with EGRESS_ALLOW, cloud metadata excepted.',
	);
}

export function tooLarge(host: string, maxBytes: number): GatewayError {
	return new GatewayError('upstream_failed', `${shown(host)} answered with more than ${maxBytes} bytes.`);
}

/** No whole answer came: the connection was not there, broke, or stayed silent. What is odd about an answer is none of these. */
export class NoAnswer extends GatewayError {
	/** No byte of the request has left, so sending it again cannot do anything twice. */
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

/** Other people's text inside our sentence: bounded, and without what would move a terminal's cursor. */
export function shown(text: string): string {
	const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, '');
	return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

/** By code, the rest of a sentence that begins with the host; the rest is `failed`. */
const FAILURES: Readonly<Record<string, string>> = {
	ENOTFOUND: 'could not be resolved',
	EAI_AGAIN: 'could not be resolved',
	ENODATA: 'could not be resolved',
	ECONNREFUSED: 'refused the connection',
	ECONNRESET: 'closed the connection before its answer was complete',
	EPIPE: 'closed the connection before its answer was complete',
	UND_ERR_SOCKET: 'closed the connection before its answer was complete',
	UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'sent an answer of another length than announced',
	UND_ERR_HEADERS_OVERFLOW: 'answered with headers that are too large',
	UND_ERR_CLOSED: 'could not be called: the service is stopping',
	UND_ERR_DESTROYED: 'could not be called: the service is stopping',
	EHOSTUNREACH: 'could not be reached',
	ENETUNREACH: 'could not be reached',
	EADDRNOTAVAIL: 'could not be reached',
};

/** Something came, or we ourselves are stopping. */
const ANSWERED: ReadonlySet<string> = new Set([
	'HPE',
	'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
	'UND_ERR_HEADERS_OVERFLOW',
	'UND_ERR_CLOSED',
	'UND_ERR_DESTROYED',
]);

const TLS = /CERT|SELF_SIGNED|UNABLE_TO|^ERR_SSL|^ERR_TLS|^EPROTO$/;

/** Whatever undici, the socket or the resolver failed with, as one of ours. A GatewayError stays what it is. */
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

/** The error and what caused it, outermost first; an AggregateError of several addresses counts with its first. */
function causes(error: unknown): Error[] {
	const chain: Error[] = [];
	for (let link = error; link instanceof Error && chain.length < 5; link = link.cause) chain.push(link);
	const last = chain.at(-1);
	if (last instanceof AggregateError && last.errors[0] instanceof Error) chain.push(last.errors[0]);
	return chain;
}
