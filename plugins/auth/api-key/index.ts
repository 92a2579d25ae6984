// Keys of Gatehouse (`svc_gw_…`, `ak_live_…`) and logins' tokens in a header, in the query or as a Bearer token
// (specification 5.2, 2).

import Joi from 'joi';
import { type AuthMethod, type Context, GatewayError, type Incoming } from '../../../core/index.ts';

export interface ApiKeyConfig {
	keyHeader?: string;
}

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+) *$/i;
/** Of the longest, a token. */
const MAX_SECRET_LENGTH = 4096;

export default {
	kind: 'auth',
	name: 'api_key',
	summary: 'Admits who sends a key: in X-API-Key (or another header), as ?api_key= or as a Bearer token.',
	spec: 'RFC 6750 (for the Bearer form)',
	config: Joi.object<ApiKeyConfig>({
		keyHeader: Joi.string()
			.pattern(TOKEN, 'HTTP token')
			.max(100)
			.invalid('authorization', 'cookie', 'host')
			.insensitive()
			.description('Header that carries the key, in place of X-API-Key.'),
	}),

	async authenticate(request: Incoming, config: ApiKeyConfig, context: Context) {
		const secret = findSecret(request, config);
		if (secret === null) return null;
		const caller = secret.length <= MAX_SECRET_LENGTH ? await context.identity.credential(secret) : null;
		if (!caller) throw new GatewayError('unauthorized', 'The API key is not valid for this gateway.');
		return caller;
	},

	challenge: ({ url }) => `Bearer realm="${url}"`,
} satisfies AuthMethod<ApiKeyConfig>;

/** The first place that holds something counts, also when it is wrong. */
function findSecret({ headers, query }: Incoming, { keyHeader = 'x-api-key' }: ApiKeyConfig): string | null {
	return headers[keyHeader.toLowerCase()] || query.get('api_key') || (BEARER.exec(headers.authorization ?? '')?.[1] ?? null);
}
