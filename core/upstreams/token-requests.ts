// One request to a token server (RFC 6749 §4.4 and §6), and the checks of its answer.

import { GatewayError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import { isObject } from '../kit/json.ts';
import { basic } from './signing.ts';

export const TOKEN_TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;

/** The lifetime of a token whose server does not state one. */
const DEFAULT_LIFETIME_MS = 5 * 60_000;
const MAX_LIFETIME_MS = 24 * 60 * 60_000;
/** A token is not used in its last tenth, or in its last half minute, so that it does not expire in transit. */
const MARGIN_MS = 30_000;

/** The error codes of RFC 6749 §5.2, RFC 8707 §2 and OpenID Connect: no other text is repeated, since it could hold anything. */
const ERRORS: ReadonlySet<string> = new Set([
	'access_denied',
	'consent_required',
	'interaction_required',
	'invalid_client',
	'invalid_grant',
	'invalid_request',
	'invalid_scope',
	'invalid_target',
	'server_error',
	'slow_down',
	'temporarily_unavailable',
	'unauthorized_client',
	'unsupported_grant_type',
]);

/** VSCHAR of RFC 6749, appendix A. */
const TOKEN = /^[\x20-\x7e]+$/;
/** The characters that a header accepts (RFC 6750 §2.1), and a few more. */
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

type ClientAuth = 'post' | 'basic';

export type AskTokenServer = (organizationId: string, request: OutboundRequest) => Promise<OutboundResponse>;

export interface Grant {
	accessToken: string;
	/** The time for which the token should be used. */
	lifetimeMs: number;
	/** The refresh token to use next, if there is one. */
	refreshToken?: string;
	/** The way in which the server accepted the client's credentials. */
	clientAuth: ClientAuth;
}

export interface Exchange {
	organizationId: string;
	/** The fields of the credential. */
	fields: JsonObject;
	/** The state after the last answer. */
	last: { refreshToken?: string; clientAuth?: ClientAuth } | null;
}

/** @throws upstream_failed with the OAuth error's code, upstream_timeout, egress_refused */
export async function exchange({ organizationId, fields, last }: Exchange, ask: AskTokenServer): Promise<Grant> {
	const refreshToken = last?.refreshToken ?? (typeof fields['refreshToken'] === 'string' ? fields['refreshToken'] : null);
	const send = (clientAuth: ClientAuth): Promise<OutboundResponse> => ask(organizationId, tokenRequest(fields, refreshToken, clientAuth));
	const configured = fields['clientAuth'] as ClientAuth | undefined;
	let clientAuth = configured ?? last?.clientAuth ?? 'post';
	let answer = await send(clientAuth);
	// Every server must accept Basic, and need not accept the other way (RFC 6749 §2.3.1). A request refused for its client has not used up
	// the refresh token.
	if (configured === undefined && last?.clientAuth === undefined && isClientUnknown(answer)) {
		clientAuth = 'basic';
		answer = await send(clientAuth);
	}
	const granted = readGrant(answer, String(fields['tokenUrl']));
	return { ...granted, clientAuth, ...(granted.refreshToken === undefined && refreshToken !== null && { refreshToken }) };
}

function tokenRequest(fields: JsonObject, refreshToken: string | null, clientAuth: ClientAuth): OutboundRequest {
	const [id, secret] = [String(fields['clientId']), String(fields['clientSecret'])];
	const form = new URLSearchParams({ grant_type: refreshToken === null ? 'client_credentials' : 'refresh_token' });
	if (clientAuth === 'post') {
		form.set('client_id', id);
		form.set('client_secret', secret);
	}
	if (refreshToken !== null) form.set('refresh_token', refreshToken);
	const scopes = Array.isArray(fields['scopes']) ? fields['scopes'].join(' ') : '';
	if (scopes) form.set('scope', scopes);
	return {
		method: 'POST',
		url: String(fields['tokenUrl']),
		headers: {
			'content-type': 'application/x-www-form-urlencoded',
			accept: 'application/json',
			...(clientAuth === 'basic' && { authorization: basic(formEncoded(id), formEncoded(secret)) }),
		},
		body: form.toString(),
		timeoutMs: TOKEN_TIMEOUT_MS,
		maxBytes: MAX_BYTES,
		maxRedirects: 0,
		// A second access token does no harm; a second use of a refresh token may revoke them all.
		repeatable: refreshToken === null,
	};
}

/** RFC 6749 §2.3.1 with appendix B. */
const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

function isClientUnknown({ status, body }: OutboundResponse): boolean {
	if (status !== 400 && status !== 401) return false;
	const code = parsed(body)?.['error'];
	return code === 'invalid_client' || (status === 401 && (typeof code !== 'string' || !ERRORS.has(code)));
}

function readGrant(answer: OutboundResponse, tokenUrl: string): Omit<Grant, 'clientAuth'> {
	const { host } = new URL(tokenUrl);
	const said = parsed(answer.body);
	if (answer.status !== 200) {
		const error = refusal(`The token server ${host} answered ${answer.status}${codeOf(said)}.`);
		if (REFUSING.has(answer.status)) OF_CREDENTIAL.add(error);
		throw error;
	}
	const accessToken = said?.['access_token'];
	if (typeof accessToken !== 'string' || !ACCESS_TOKEN.test(accessToken)) {
		throw refusal(`The token server ${host} answered 200 without an access token that can be used${codeOf(said)}.`);
	}
	// RFC 6749 §7.1: a client must not use a token whose type it does not know. Servers that name none mean Bearer.
	const type = said?.['token_type'] ?? 'Bearer';
	if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
		throw refusal(`The token server ${host} answered with a token of another type than Bearer.`);
	}
	const refreshToken = said?.['refresh_token'];
	return {
		accessToken,
		lifetimeMs: lifetimeOf(said?.['expires_in']),
		...(typeof refreshToken === 'string' && TOKEN.test(refreshToken) && { refreshToken }),
	};
}

/** Statuses by which a token server refuses a client or its refresh token (RFC 6749 §5.2). */
const REFUSING: ReadonlySet<number> = new Set([400, 401, 403]);
const OF_CREDENTIAL = new WeakSet<GatewayError>();

/** Whether a token server has refused the credential, rather than failed. */
export const isCredentialRefused = (error: unknown): boolean => error instanceof GatewayError && OF_CREDENTIAL.has(error);

const refusal = (message: string): GatewayError => new GatewayError('upstream_failed', message);

const codeOf = (said: JsonObject | null): string => {
	const code = said?.['error'];
	return typeof code === 'string' && ERRORS.has(code) ? ` with the OAuth error ${code}` : '';
};

/** Reads `expires_in`, which some servers write as text. */
function lifetimeOf(expiresIn: unknown): number {
	const seconds = typeof expiresIn === 'string' && /^\d{1,12}$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
	if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return DEFAULT_LIFETIME_MS;
	const wholeMs = Math.min(Math.max(seconds * 1000, 0), MAX_LIFETIME_MS);
	return wholeMs - Math.min(MARGIN_MS, wholeMs / 10);
}

/** Parses the body; null when it is not a JSON object. */
function parsed(body: Buffer): JsonObject | null {
	try {
		const value: unknown = JSON.parse(body.toString('utf8'));
		return isObject(value) ? value : null;
	} catch {
		// The status of the answer is reported instead.
		return null;
	}
}
