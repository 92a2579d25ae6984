// POST /apis/:id/credentials: sealed under its place, bound to the API's origin, never shown again.

import type { Request, ServerRoute } from '@hapi/hapi';
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
	operation,
	shownPlace,
	storeOf,
} from '../../../core/index.ts';
import { findApi } from './find.ts';
import { CREDENTIAL, presentCredential } from './present.ts';

// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
const branches = Object.entries(CREDENTIALS).map(([is, fields]) => ({ is, then: fields }));

const BODY = body({
	type: Joi.string()
		.valid(...Object.keys(CREDENTIALS))
		.required()
		.description('How the API knows its callers.'),
	credentials: Joi.alternatives()
		.conditional('type', { switch: branches })
		.required()
		.description('What the type asks for. Encrypted at rest and never shown again.'),
}).example({ type: 'api_key', credentials: { key: 'k-0123456789', name: 'X-API-Key', in: 'header' } });

export const storeCredentials = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/credentials',
		id: 'storeApiCredentials',
		summary: 'Stores what the API wants to be called with.',
		description: 'One of each type: a second takes the place of the first, so that sending it again changes nothing.',
		need: 'apis:write',
		body: BODY,
		answer: CREDENTIAL,
		status: 201,
		errors: ['egress_refused'],
		handler: async (request) => presentCredential(await store(request, await findApi(request, core), core)),
	});

async function store(request: Request, api: ApiRow, core: Core): Promise<CredentialRow> {
	// The body has passed BODY.
	const { type, credentials } = request.payload as { type: string; credentials: JsonObject };
	if (type === 'oauth2') await core.egress.check(String(credentials['tokenUrl']), '/credentials/tokenUrl');
	const secret = core.secrets.seal(JSON.stringify(credentials), credentialPlace(api.organizationId, api.id, type));
	const row = await storeOf(request, core).apis.putCredential(api.organizationId, {
		apiId: api.id,
		type,
		origin: new URL(api.baseUrl).origin,
		secret,
		place: isCredentialType(type) ? shownPlace(type, credentials) : null,
	});
	if (!row) throw notFound('API');
	return row;
}
