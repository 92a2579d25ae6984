// The configuration of the method.

import Joi from 'joi';
import { privateUseFault } from './clients/redirect-uris.ts';

export interface OAuthConfig {
	dynamicRegistration: boolean;
	clientMetadataDocuments: boolean;
	refreshGraceSeconds: number;
	allowedRedirectUris: string[];
}

export const CONFIG = Joi.object<OAuthConfig>({
	dynamicRegistration: Joi.boolean()
		.default(true)
		.description('Whether clients may register themselves (RFC 7591). When false, clients that have registered keep their access.'),
	clientMetadataDocuments: Joi.boolean().default(true).description('Whether a client may use as its id an https URL that describes it.'),
	refreshGraceSeconds: Joi.number()
		.integer()
		.min(0)
		.max(300)
		.default(60)
		.description(
			'For so many seconds a refresh token that was used stays good, for clients that send parallel calls or run twice; used later, it ' +
				'ends its grant with all tokens of it. 0: the second use does.',
		),
	allowedRedirectUris: Joi.array()
		.items(Joi.string().custom(checkPrivateUse))
		.max(20)
		.unique()
		.default([])
		.description(
			'Addresses of programs on the user’s computer to which answers may be sent, beside https, 127.0.0.1, [::1], localhost and ' +
				'cursor://anysphere.cursor-mcp/oauth/callback: each as the program registers it, character by character, such as ' +
				'vscode://saoudrizwan.claude-dev/callback. Any program can take such an address.',
		),
});

function checkPrivateUse(uri: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport {
	const fault = privateUseFault(uri);
	return fault === null ? uri : helpers.message({ custom: `{{#label}} ${fault}` });
}
