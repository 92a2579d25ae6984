// Stored credentials of connected APIs: the fields of each type, and the key under which it is stored.

import Joi from 'joi';
import type { CredentialType } from '../contract/nouns.ts';
import { headerNameFault, headerValueFault } from '../egress/headers.ts';
import { httpUrl } from '../kit/urls.ts';
import type { SecretLocation } from '../secrets/envelopes.ts';
import type { CredentialRow } from '../store/store.ts';

type CredentialOf = Pick<CredentialRow, 'apiId' | 'type' | 'scheme'>;

type Check = Joi.CustomValidator<string>;

/** The text is a value of the template: `{…}` in a template itself would be evaluated. */
const wrong = (helpers: Joi.CustomHelpers, text: string): Joi.ErrorReport => helpers.message({ custom: '{{#label}} {{#text}}' }, { text });

const inHeader: Check = (value, helpers) => {
	const fault = headerValueFault(value);
	return fault === null ? value : wrong(helpers, fault);
};

/** RFC 6265 §4.1.1, and characters that servers accept besides; `;` would begin another cookie. */
const COOKIE_VALUE = /^[\x21-\x3a\x3c-\x7e]+$/;

const inCookie: Check = (value, helpers) =>
	COOKIE_VALUE.test(value) ? value : wrong(helpers, 'must be ASCII without blanks and semicolons to be sent in a cookie');

const headerName: Check = (value, helpers) => {
	const fault = headerNameFault(value);
	return fault === null ? value : wrong(helpers, `must be the name of a header: ${JSON.stringify(value)} ${fault}`);
};

const cookieName: Check = (value, helpers) => (headerNameFault(value) === null ? value : wrong(helpers, 'must be the name of a cookie'));

const secret = Joi.string().min(1).max(8192).required();
/** Control characters would end a header line. */
const line = secret.pattern(/^[^\p{Cc}]*$/u, 'text without control characters');

/** Checks a field by the location that the key goes to. */
function byPlace(schema: Joi.StringSchema, checks: Record<string, Check>): Joi.StringSchema {
	// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
	const branches = Object.entries(checks).map(([is, check]) => ({ is, then: schema.custom(check) }));
	return schema.when('in', { switch: branches });
}

/** The fields of `credentials` for each type; the README has the decisions. */
export const CREDENTIALS: Readonly<Record<CredentialType, Joi.ObjectSchema>> = {
	api_key: Joi.object({
		key: byPlace(line.description('The key itself.'), { header: inHeader, cookie: inCookie }),
		name: byPlace(line.max(200).description('Name of the header, query parameter or cookie that carries it.'), {
			header: headerName,
			cookie: cookieName,
		}),
		in: Joi.string().valid('header', 'query', 'cookie').default('header'),
	}),
	bearer_token: Joi.object({ token: line.custom(inHeader) }),
	basic_auth: Joi.object({
		// RFC 7617 §2: a colon ends the user name.
		username: line.pattern(/^[^:]*$/, 'text without a colon'),
		password: Joi.string().allow('').max(8192).required(),
	}),
	oauth2: Joi.object({
		tokenUrl: httpUrl
			.required()
			.description('The token endpoint. It receives only what the grant needs, and its redirects are not followed.'),
		clientId: line,
		clientSecret: line,
		scopes: Joi.array().items(Joi.string()).default([]),
		refreshToken: Joi.string()
			.min(1)
			.max(8192)
			.description('With it, tokens are obtained by RFC 6749 §6, else by §4.4. A new refresh token in an answer replaces it.'),
		clientAuth: Joi.string()
			.valid('post', 'basic')
			.description(
				'How the client authenticates: in the body, or by HTTP Basic (RFC 6749 §2.3.1). By default in the body, and by Basic when a ' +
					'server does not accept that.',
			),
	}),
};

export const isCredentialType = (type: string): type is CredentialType => Object.hasOwn(CREDENTIALS, type);

/** Identifies a credential by one text. Without a scheme, the text is the same as before schemes existed. */
export const credentialKey = ({ apiId, type, scheme }: CredentialOf): string =>
	scheme === null ? `${apiId}/${type}` : `${apiId}/${type}/${scheme}`;

export const credentialLocation = (organizationId: string, credential: CredentialOf): SecretLocation => ({
	organizationId,
	table: 'api_credentials',
	row: credentialKey(credential),
});
