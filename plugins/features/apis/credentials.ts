// POST /apis/:id/credentials: sealed under its place, bound to the API's origin, never shown again.

import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiRow,
	body,
	type Core,
	CREDENTIALS,
	type CredentialRow,
	credentialPlace,
	isCredentialType,
	type JsonObject,
	notFound,
	storeOf,
} from '../../../core/index.ts';

/** What `credentials` holds depends on `type`. */
export const CREDENTIAL = body({
	type: Joi.string()
		.valid(...Object.keys(CREDENTIALS))
		.required(),
	credentials: Object.entries(CREDENTIALS).reduce(
		// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
		(schema, [type, fields]) => schema.when('type', { is: type, then: fields.required() }),
		Joi.any().required() as Joi.AnySchema,
	),
});

export async function storeCredential(request: Request, api: ApiRow, core: Core): Promise<CredentialRow> {
	const { type, credentials } = request.payload as { type: string; credentials: JsonObject };
	if (isCredentialType(type) && type === 'oauth2') await core.egress.check(String(credentials['tokenUrl']));
	const secret = core.secrets.seal(JSON.stringify(credentials), credentialPlace(api.organizationId, api.id, type));
	const row = await storeOf(request, core).apis.putCredential(api.organizationId, {
		apiId: api.id,
		type,
		origin: new URL(api.baseUrl).origin,
		secret,
	});
	if (!row) throw notFound('API');
	return row;
}
