// Stored credentials of connected APIs: what each type holds, and where it is kept.

import Joi from 'joi';
import type { CredentialType } from '../contract/nouns.ts';
import { headerNameFault, headerValueFault } from '../egress/headers.ts';
import { httpUrl } from '../kit/urls.ts';
import type { Place } from '../secrets/envelopes.ts';
import type { CredentialRow } from '../store/store.ts';

type CredentialOf = Pick<CredentialRow, 'apiId' | 'type' | 'scheme'>;

type Check = Joi.CustomValidator<string>;

/** As a value of the template: `{…}` in the text itself would be evaluated. */
const wrong = (helpers: Joi.CustomHelpers, text: string): Joi.ErrorReport => helpers.message({ custom: '{{#label}} {{#text}}' }, { text });

const inHeader: Check = (value, helpers) => {
	const fault = headerValueFault(value);
	return fault === null ? value : wrong(helpers, fault);
};

/** RFC 6265 §4.1.1, and what servers take besides; `;` would begin another cookie. */
const COOKIE_VALUE = /^[\x21-\x3a\x3c-\x7e]+$/;

const inCookie: Check = (value, helpers) =>
	COOKIE_VALUE.test(value) ? value : wrong(helpers, 'must be ASCII without blanks and semicolons to be sent in a cookie');

const headerName: Check = (value, helpers) => {
	const fault = headerNameFault(value);
	return fault === null ? value : wrong(helpers, `must be the name of a header: ${JSON.stringify(value)} ${fault}`);
};

const cookieName: Check = (value, helpers) => (headerNameFault(value) === null ? value : wrong(helpers, 'must be the name of a cookie'));

const secret = Joi.string().min(1).max(8192).required();
/** No control characters: they would end a header line. */
const line = secret.pattern(/^[^\p{Cc}]*$/u, 'text without control characters');

/** What may stand there, where the key goes. */
function byPlace(schema: Joi.StringSchema, checks: Record<string, Check>): Joi.StringSchema {
	// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
	const branches = Object.entries(checks).map(([is, check]) => ({ is, then: schema.custom(check) }));
	return schema.when('in', { switch: branches });
}

/** What `credentials` holds for each type (decisions in the README). */
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
			.description('The token endpoint. It is given nothing but what the grant needs, and no redirect of it is followed.'),
		clientId: line,
		clientSecret: line,
		scopes: Joi.array().items(Joi.string()).default([]),
		refreshToken: Joi.string()
			.min(1)
			.max(8192)
			.description('With it tokens come by RFC 6749 §6, else by §4.4. One that the server answers in its place is kept instead.'),
		clientAuth: Joi.string()
			.valid('post', 'basic')
			.description(
				'How the client names itself: in the body, or by HTTP Basic (RFC 6749 §2.3.1). By default in the body, and by Basic where a server ' +
					'does not know the client so.',
			),
	}),
};

export const isCredentialType = (type: string): type is CredentialType => Object.hasOwn(CREDENTIALS, type);

/** Which credential it is, under one text: that of one without a scheme is as it was before there were any. */
export const credentialKey = ({ apiId, type, scheme }: CredentialOf): string =>
	scheme === null ? `${apiId}/${type}` : `${apiId}/${type}/${scheme}`;

export const credentialPlace = (organizationId: string, credential: CredentialOf): Place => ({
	organizationId,
	table: 'api_credentials',
	row: credentialKey(credential),
});
