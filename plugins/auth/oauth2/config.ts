// What an organization can tell the method.

import Joi from 'joi';

export interface OAuthConfig {
	dynamicRegistration: boolean;
	clientMetadataDocuments: boolean;
}

export const CONFIG = Joi.object<OAuthConfig>({
	dynamicRegistration: Joi.boolean()
		.default(true)
		.description('Whether clients may register themselves (RFC 7591). Without it, those that have registered go on.'),
	clientMetadataDocuments: Joi.boolean()
		.default(true)
		.description('Whether an https URL may be a client’s name, under which the client describes itself.'),
});
