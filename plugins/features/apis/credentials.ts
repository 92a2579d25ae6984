// Credentials of an API, stored per security scheme or per type. They are sealed to their row, bound to the API's origin and never shown again.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiRow,
	body,
	type Core,
	CREDENTIALS,
	type CredentialRow,
	credentialLocation,
	isCredentialType,
	type JsonObject,
	notFound,
	operation,
	shape,
	shownPlace,
	storeOf,
	text,
	uuid,
} from '../../../core/features.ts';
import { findApi } from './find.ts';
import { CREDENTIAL, presentCredential } from './present.ts';
import { assertScheme } from './schemes.ts';

// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
const branches = Object.entries(CREDENTIALS).map(([is, fields]) => ({ is, then: fields }));

export const SCHEME = Joi.string().max(200);

const BODY = body({
	type: Joi.string()
		.valid(...Object.keys(CREDENTIALS))
		.required()
		.description('How the API authenticates its callers.'),
	scheme: SCHEME.description(
		'The security scheme of the API’s description that it is for, as `credentials` of the import report names it: it goes to the operations ' +
			'that require this scheme, in the location that the scheme defines. Without one it goes wherever its type is required and nothing is stored under the ' +
			'scheme’s own name, and to operations that declare nothing; of several keys it is the one in the same location.',
	),
	credentials: Joi.alternatives()
		.conditional('type', { switch: branches })
		.required()
		.description('The fields that the type requires. Encrypted at rest and never shown again.'),
}).example({ type: 'api_key', credentials: { key: 'k-0123456789', name: 'X-API-Key', in: 'header' } });

export const storeCredentials = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/credentials',
		id: 'storeApiCredentials',
		summary: 'Stores a credential for calls of the API.',
		description:
			'There is one for each security scheme, and one of each type without a scheme: a second replaces the first, so that sending it again ' +
			'changes nothing. An API has up to fifty. Of an operation’s alternatives the first is used of which all credentials are stored; an ' +
			'argument in the location of a stored credential is hidden from the tool.',
		need: 'apis:write',
		body: BODY,
		answer: CREDENTIAL,
		status: 201,
		errors: ['egress_refused'],
		handler: async (request) => presentCredential(await store(request, await findApi(request, core), core)),
	});

interface CredentialBody {
	type: string;
	scheme?: string;
	credentials: JsonObject;
}

async function store(request: Request, api: ApiRow, core: Core): Promise<CredentialRow> {
	// The body has passed BODY.
	const { type, scheme = null, credentials } = request.payload as CredentialBody;
	if (scheme !== null) await assertScheme({ type, scheme, credentials }, api, core);
	if (type === 'oauth2') await core.egress.check(String(credentials['tokenUrl']), '/credentials/tokenUrl');
	const credential = { apiId: api.id, type, scheme };
	const secret = core.secrets.seal(JSON.stringify(credentials), credentialLocation(api.organizationId, credential));
	const row = await storeOf(request, core).apis.putCredential(api.organizationId, {
		...credential,
		origin: new URL(api.baseUrl).origin,
		secret,
		place: isCredentialType(type) ? shownPlace(type, credentials) : null,
	});
	if (!row) throw notFound('API');
	return row;
}

const REMOVED = shape({ id: uuid.description('Id of the API.'), type: Joi.string(), scheme: text.allow(null) });

export const removeCredentials = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/apis/{id}/credentials/{type}',
		id: 'removeApiCredentials',
		summary: 'Removes a stored credential.',
		need: 'apis:write',
		query: Joi.object({
			scheme: SCHEME.description('The scheme that the credential is stored for; when absent: the credential without a scheme.'),
		}),
		answer: REMOVED,
		handler: (request) => remove(request, core),
	});

async function remove(request: Request, core: Core): Promise<{ id: string; type: string; scheme: string | null }> {
	const { id, organizationId } = await findApi(request, core);
	const type = String(request.params['type']);
	// The query has passed its schema.
	const { scheme = null } = request.query as { scheme?: string };
	const isRemoved = await storeOf(request, core).apis.dropCredential(organizationId, { apiId: id, type, scheme });
	if (!isRemoved) throw notFound('Credential');
	return { id, type, scheme };
}
