// Writes errors of the endpoints in the form of OAuth (RFC 6749 §5.2, RFC 7591 §3.2.2).

import type { GatewayError, Reply } from '../../../core/index.ts';

export type FaultCode =
	| 'invalid_request'
	| 'invalid_client'
	| 'invalid_grant'
	| 'invalid_scope'
	| 'invalid_target'
	| 'unauthorized_client'
	| 'unsupported_grant_type'
	| 'unsupported_response_type'
	| 'access_denied'
	| 'request_not_supported'
	| 'request_uri_not_supported'
	| 'temporarily_unavailable'
	| 'invalid_redirect_uri'
	| 'invalid_client_metadata';

/** Removes the characters that a description must not contain (RFC 6749 §5.2), and shortens it. */
export const printable = (text: string): string => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '').slice(0, 100);

/** An error of an OAuth endpoint. `description` is sent, in the few characters that OAuth allows; it names the parameter and contains no secret. */
export class OAuthFault extends Error {
	readonly error: FaultCode;
	readonly description: string;
	/** The client tried to authenticate with the Authorization header. */
	readonly isChallenged: boolean;

	constructor(error: FaultCode, description: string, { isChallenged = false, cause }: { isChallenged?: boolean; cause?: unknown } = {}) {
		super(`${error}: ${description}`, { cause });
		this.error = error;
		this.description = description;
		this.isChallenged = isChallenged;
	}
}

/** RFC 6749 §5.1: "The authorization server MUST include the HTTP "Cache-Control" response header field […] with a value of "no-store"". */
export const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' } as const;

/** Runs the handler of a JSON endpoint and converts its faults to replies. */
export async function answering(work: () => Promise<Reply>): Promise<Reply> {
	try {
		return await work();
	} catch (thrown) {
		if (!(thrown instanceof OAuthFault)) throw thrown;
		const { error, description, isChallenged } = thrown;
		// RFC 6749 §5.2: a client that used the header "MUST" be answered with 401 and the scheme that it used.
		const challenge = isChallenged && { 'www-authenticate': 'Basic realm="oauth"' };
		return {
			status: error === 'invalid_client' ? 401 : 400,
			headers: { ...NO_STORE, ...challenge },
			body: { error, error_description: description },
		};
	}
}

/** The endpoints that answer with JSON, each with the error of a request that cannot be read. */
const UNREADABLE: Readonly<Record<string, FaultCode>> = {
	'/register': 'invalid_client_metadata',
	'/token': 'invalid_request',
	'/revoke': 'invalid_request',
};

/**
 * Makes the reply to a request that cannot be read, or for which there is no room; null for any other error, and for paths that do not answer with
 * JSON. RFC 7591 §3.2.2 and RFC 6749 §5.2 have no code for the latter; that of RFC 6749 §4.1.2.1 fits.
 */
export function asFault({ code, status, message }: GatewayError, path: string): Reply | null {
	const unreadable = UNREADABLE[path];
	const isUnreadable = code === 'validation_failed' || code === 'payload_too_large' || code === 'unsupported_media_type';
	const error = code === 'conflict' ? 'temporarily_unavailable' : isUnreadable ? unreadable : null;
	return unreadable && error ? { status, body: { error, error_description: printable(message) } } : null;
}
