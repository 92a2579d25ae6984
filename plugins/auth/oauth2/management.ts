// Routes on which the gateway's owners see and end clients, grants with their tokens, and consents.

import Joi from 'joi';
import {
	type Context,
	type JsonObject,
	type ManagementRequest,
	type ManagementRoute,
	notFound,
	type StoredRecord,
	shape,
	timestamp,
} from '../../../core/index.ts';
import { CLIENTS, clientTag, findStored, presentClient } from './clients/clients.ts';
import { CONSENTS, endConsent, presentConsent } from './consents.ts';
import { endAccess, endGrant, GRANTS, grantTag, presentGrant, userTag } from './grants.ts';
import { SCOPES } from './scopes.ts';

const id = Joi.string();
const scopes = Joi.array().items(Joi.string().valid(...SCOPES));
const clientId = id.description('The `client_id`: a generated id, or the https URL that describes the client.');
const clientName = Joi.string().allow('').description('The name that the client gives itself, which is not verified.');

const CLIENT = shape({
	clientId,
	name: clientName,
	registration: Joi.string().valid('dynamic', 'document'),
	redirectUris: Joi.array().items(Joi.string()),
	tokenEndpointAuthMethod: Joi.string(),
	createdAt: timestamp,
	expiresAt: timestamp.allow(null).description('The time at which the client is removed unless it is used before.'),
}).meta({ schema: 'OauthClient' });
const GRANT = shape({
	grantId: id,
	clientId,
	clientName,
	userId: id,
	email: Joi.string(),
	scopes,
	accessTokens: Joi.array().items(shape({ id, scopes, expiresAt: timestamp }).meta({ schema: 'OauthAccessToken' })),
	createdAt: timestamp,
	expiresAt: timestamp.allow(null),
}).meta({ schema: 'OauthGrant' });
const CONSENT = shape({ consentId: id, clientId, clientName, userId: id, email: Joi.string(), scopes, createdAt: timestamp }).meta({
	schema: 'OauthConsent',
});

type Lister = (record: StoredRecord) => JsonObject;

const list =
	(tag: string, present: Lister): ManagementRoute['handler'] =>
	async ({ page }, { records }) => {
		const found = await records.find(tag, page);
		return { items: found.records.map(present), nextCursor: found.nextCursor };
	};

export const management: ManagementRoute[] = [
	{
		method: 'GET',
		path: '/oauth/grants',
		id: 'listOauthGrants',
		summary: 'Lists the grants of users to OAuth clients, with their valid access tokens, in order of creation.',
		list: 'grants',
		answer: GRANT,
		handler: list(GRANTS, presentGrant),
	},
	{
		method: 'DELETE',
		path: '/oauth/grants/{grantId}',
		id: 'revokeOauthGrant',
		summary: 'Ends a grant with all its tokens.',
		answer: GRANT,
		handler: removeGrant,
	},
	{
		method: 'DELETE',
		path: '/oauth/grants/{grantId}/tokens/{tokenId}',
		id: 'revokeOauthAccessToken',
		summary: 'Ends one access token; its client may get another with its refresh token.',
		answer: shape({ id }),
		handler: removeToken,
	},
	{
		method: 'GET',
		path: '/oauth/consents',
		id: 'listOauthConsents',
		summary: 'Lists the consents of users to OAuth clients, who are not asked again.',
		list: 'consents',
		answer: CONSENT,
		handler: list(CONSENTS, presentConsent),
	},
	{
		method: 'DELETE',
		path: '/oauth/consents/{consentId}',
		id: 'revokeOauthConsent',
		summary: 'Withdraws a consent and ends every grant of that user to that client.',
		answer: CONSENT,
		handler: removeConsent,
	},
	{
		method: 'GET',
		path: '/oauth/clients',
		id: 'listOauthClients',
		summary: 'Lists the OAuth clients of a gateway, in order of creation.',
		list: 'clients',
		answer: CLIENT,
		handler: list(CLIENTS, presentClient),
	},
	{
		method: 'DELETE',
		path: '/oauth/clients/{clientId}',
		id: 'removeOauthClient',
		summary: 'Removes an OAuth client with its grants; its tokens end at once.',
		answer: CLIENT,
		handler: removeClient,
	},
];

async function removeClient({ params }: ManagementRequest, context: Context): Promise<JsonObject> {
	const record = await findStored(params['clientId'] ?? '', context);
	if (!record) throw notFound('OAuth client');
	const shown = presentClient(record);
	await context.records.drop(clientTag(String(shown['clientId'])));
	return shown;
}

async function removeGrant({ params }: ManagementRequest, context: Context): Promise<JsonObject> {
	const grantId = params['grantId'] ?? '';
	const record = await context.records.get(grantTag(grantId));
	if (!record || !(await endGrant(grantId, context))) throw notFound('OAuth grant');
	return presentGrant(record);
}

async function removeToken({ params }: ManagementRequest, context: Context): Promise<JsonObject> {
	const { grantId = '', tokenId = '' } = params;
	if (!(await endAccess(grantId, tokenId, context))) throw notFound('OAuth access token');
	return { id: tokenId };
}

async function removeConsent({ params }: ManagementRequest, context: Context): Promise<JsonObject> {
	const record = await endConsent(params['consentId'] ?? '', context);
	if (!record) throw notFound('OAuth consent');
	const consent = presentConsent(record);
	await endGrantsOf(String(consent['userId']), String(consent['clientId']), context);
	return consent;
}

async function endGrantsOf(userId: string, clientId: string, context: Context): Promise<void> {
	for (let cursor: string | null = ''; cursor !== null; ) {
		const found = await context.records.find(userTag(userId), cursor === '' ? {} : { cursor });
		for (const { tags } of found.records) {
			const grant = tags.includes(clientTag(clientId)) ? tags.find((tag) => tag.startsWith('grant:')) : undefined;
			if (grant !== undefined) await context.records.drop(grant);
		}
		cursor = found.nextCursor;
	}
}
