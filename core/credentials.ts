// Stored credentials of connected APIs: what each type holds, and how a request is signed with them.

import Joi from 'joi';
import type { Api, CredentialType, JsonObject, OutboundRequest } from './contracts.ts';
import type { Egress } from './egress.ts';
import { GatewayError } from './errors.ts';
import type { Memo } from './memo.ts';
import type { Place, Secrets } from './secrets.ts';
import type { CredentialRow } from './store.ts';

const secret = Joi.string().min(1).max(8192).required();
/** No control characters: they would end a header line. */
const line = secret.pattern(/^[^\p{Cc}]*$/u, 'text without control characters');

/** What `credentials` holds for each type (decisions in the README). */
export const CREDENTIALS: Readonly<Record<CredentialType, Joi.ObjectSchema>> = {
	api_key: Joi.object({
		key: line.description('The key itself.'),
		name: line.max(200).description('Name of the header, query parameter or cookie that carries it.'),
		in: Joi.string().valid('header', 'query', 'cookie').default('header'),
	}),
	bearer_token: Joi.object({ token: line }),
	basic_auth: Joi.object({ username: line, password: Joi.string().allow('').max(8192).required() }),
	oauth2: Joi.object({
		tokenUrl: Joi.string()
			.uri({ scheme: ['http', 'https'] })
			.required(),
		clientId: line,
		clientSecret: line,
		scopes: Joi.array().items(Joi.string()).default([]),
		refreshToken: Joi.string().min(1).max(8192),
	}),
};

export const isCredentialType = (type: string): type is CredentialType => Object.hasOwn(CREDENTIALS, type);

export const credentialPlace = (organizationId: string, apiId: string, type: string): Place => ({
	organizationId,
	table: 'api_credentials',
	row: `${apiId}/${type}`,
});

export interface Signer {
	/**
	 * The request with the first alternative of `request.security` that the stored credentials satisfy. Unchanged when
	 * none does, or when it goes to another origin than the one that the credential is bound to.
	 */
	sign(request: OutboundRequest, api: Api, credentials: readonly CredentialRow[]): Promise<OutboundRequest>;
}

export function createSigner(parts: { secrets: Secrets; egress: Egress; memo: Memo }): Signer {
	return {
		async sign(request, api, credentials) {
			const { origin } = new URL(request.url);
			const usable = credentials.filter((row) => row.origin === origin);
			let signed = request;
			for (const row of choose(request.security, usable)) {
				const opened = parts.secrets.open(row.secret, credentialPlace(api.organizationId, row.apiId, row.type));
				// It was validated by CREDENTIALS when it was saved.
				signed = await apply(signed, row, JSON.parse(opened) as JsonObject, parts);
			}
			return signed;
		},
	};
}

function choose(security: CredentialType[][] | undefined, stored: CredentialRow[]): CredentialRow[] {
	const alternatives = security ?? stored.map(({ type }) => [type]);
	for (const alternative of alternatives) {
		const rows = alternative.map((type) => stored.find((row) => row.type === type));
		if (rows.every((row) => row !== undefined)) return rows;
	}
	return [];
}

async function apply(
	request: OutboundRequest,
	row: CredentialRow,
	fields: JsonObject,
	parts: { egress: Egress; memo: Memo },
): Promise<OutboundRequest> {
	const text = (name: string): string => String(fields[name] ?? '');
	if (row.type === 'api_key') return withApiKey(request, { key: text('key'), name: text('name'), place: text('in') });
	if (row.type === 'bearer_token') return withHeader(request, 'authorization', `Bearer ${text('token')}`);
	if (row.type === 'basic_auth') {
		return withHeader(request, 'authorization', `Basic ${Buffer.from(`${text('username')}:${text('password')}`).toString('base64')}`);
	}
	const key = `oauth2:${row.apiId}:${row.updatedAt.getTime()}`;
	const token = await parts.memo.get(key, TOKEN_KEPT_MS, () => fetchToken(fields, parts.egress));
	return withHeader(request, 'authorization', `Bearer ${token}`);
}

function withApiKey(request: OutboundRequest, { key, name, place }: { key: string; name: string; place: string }): OutboundRequest {
	if (place === 'header') return withHeader(request, name, key);
	if (place === 'cookie') {
		const cookie = [request.headers?.['cookie'], `${name}=${key}`].filter(Boolean).join('; ');
		return withHeader(request, 'cookie', cookie);
	}
	const url = new URL(request.url);
	url.search += `${url.search ? '&' : '?'}${encodeURIComponent(name)}=${encodeURIComponent(key)}`;
	return { ...request, url: url.href };
}

function withHeader(request: OutboundRequest, name: string, value: string): OutboundRequest {
	const wanted = name.toLowerCase();
	const others = Object.entries(request.headers ?? {}).filter(([header]) => header.toLowerCase() !== wanted);
	return { ...request, headers: { ...Object.fromEntries(others), [wanted]: value } };
}

/** Shorter than what token servers usually grant. */
const TOKEN_KEPT_MS = 5 * 60 * 1000;

/** RFC 6749 §4.4, or §6 when a refresh token is stored. */
async function fetchToken(fields: JsonObject, egress: Egress): Promise<string> {
	const form = new URLSearchParams({ client_id: String(fields['clientId']), client_secret: String(fields['clientSecret']) });
	const refreshToken = fields['refreshToken'];
	form.set('grant_type', refreshToken ? 'refresh_token' : 'client_credentials');
	if (typeof refreshToken === 'string') form.set('refresh_token', refreshToken);
	const scopes = Array.isArray(fields['scopes']) ? fields['scopes'].join(' ') : '';
	if (scopes) form.set('scope', scopes);
	const answer = await egress.request({
		method: 'POST',
		url: String(fields['tokenUrl']),
		headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
		body: form.toString(),
		maxBytes: 65_536,
		maxRedirects: 0,
	});
	const token = answer.status === 200 ? accessToken(answer.body) : null;
	if (token === null)
		throw new GatewayError('upstream_failed', `The token server answered ${answer.status} without a usable access token.`);
	return token;
}

function accessToken(body: Buffer): string | null {
	try {
		const { access_token: token } = JSON.parse(body.toString('utf8')) as { access_token?: unknown };
		return typeof token === 'string' && /^[\x21-\x7e]+$/.test(token) ? token : null;
	} catch {
		return null;
	}
}
