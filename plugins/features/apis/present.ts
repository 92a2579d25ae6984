// How connected APIs and what belongs to them are shown: a shape and what fills it, side by side. Secrets never are.

import Joi from 'joi';
import {
	type ApiRow,
	type CredentialRow,
	count,
	jsonObject,
	type ListedSchemaRow,
	type OperationRow,
	PASS_THROUGH,
	present,
	type SchemaRow,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { OUTBOUND } from './outbound.ts';

const fields = {
	id: uuid,
	name: Joi.string(),
	type: Joi.string().description('The importer that reads its description.'),
	baseUrl: Joi.string().description('Where its paths begin.'),
	description: text.allow(null),
	status: Joi.string().valid('active', 'inactive').description('`inactive`: its tools are in no gateway, whatever their own status says.'),
	outbound: OUTBOUND.allow(null),
	passThrough: PASS_THROUGH,
	createdAt: timestamp,
	updatedAt: timestamp,
};

export const API = shape(fields).meta({ schema: 'Api' });

export const presentApi = (row: ApiRow) => present(API, row);

export const CREDENTIAL = shape({
	apiId: uuid,
	type: Joi.string(),
	scheme: text.allow(null).description('The security scheme that it is for; null: wherever its type is asked for.'),
	origin: Joi.string().description('The only one that it is sent to.'),
	updatedAt: timestamp,
}).meta({ schema: 'Credential' });

export const presentCredential = (row: CredentialRow) => present(CREDENTIAL, row);

export const API_WITH_CREDENTIALS = shape({ ...fields, credentials: Joi.array().items(CREDENTIAL) }).meta({ schema: 'ApiWithCredentials' });

const reportFields = {
	format: text.description('What the document turned out to be: `openapi 3.1.0`.'),
	title: text.allow(null),
	version: text.allow(null),
	servers: Joi.array().items(text).description('Base URLs that the document names.'),
	credentials: Joi.array()
		.items(
			shape({
				scheme: text.description('As the description calls it.'),
				type: Joi.string().valid('api_key', 'bearer_token', 'basic_auth', 'oauth2'),
				credentials: jsonObject.description('What the description tells of it: `name` and `in`, or `tokenUrl` and `scopes`.'),
			}),
		)
		.optional()
		.description('What `POST /apis/{id}/credentials` would take, without the secrets; up to 50.'),
	counts: shape({ operations: count, converted: count, degraded: count, skipped: count }),
	warnings: Joi.array()
		.items(
			shape({
				message: text,
				pointer: text.optional().description('Where, as the format tells places: a JSON pointer, a line, a type or a file.'),
			}),
		)
		.description('Up to 100.'),
};

export const IMPORT_REPORT = shape({
	...reportFields,
	operations: Joi.array()
		.items(
			shape({
				key: text,
				name: text,
				outcome: Joi.string().valid('degraded', 'skipped'),
				reasons: Joi.array().items(text).description('A sentence each.'),
			}),
		)
		.description('Those that did not convert whole, up to 2,000.'),
}).meta({ schema: 'ImportReport' });

const changesFields = {
	added: count,
	removed: count,
	restored: count.description('There again after they had been removed.'),
	changed: count,
	unchanged: count,
	breaking: count.description(
		'Callers have to change, or may have to: all that were removed, and of the changed and the restored those that ask for more or promise less.',
	),
	additive: count.description('Changed or restored, and callers need not change.'),
	text: count.description('Changed or restored in what is said about them.'),
	toolsUpdated: count.description('Tools that were there already and follow what changed.'),
	unlisted: count.description('How many more there are.'),
};

export const IMPORT_CHANGES = shape({
	...changesFields,
	operations: Joi.array()
		.items(
			shape({
				key: text,
				name: text,
				change: Joi.string().valid('added', 'removed', 'restored', 'changed'),
				kind: Joi.string()
					.valid('breaking', 'additive', 'text')
					.allow(null)
					.description('When in doubt, `breaking`. Null: nothing to tell.'),
				reasons: Joi.array().items(text).description('A sentence each, the gravest first.'),
			}),
		)
		.description('The gravest first, up to 2,000 and 512 KiB. Of a first import none: all of it is new.'),
})
	.description('Of operations, since the import before.')
	.meta({ schema: 'ImportChanges' });

const schemaFields = {
	id: uuid,
	apiId: uuid,
	format: text,
	title: text.allow(null),
	version: text.allow(null),
	servers: Joi.array().items(text),
	sourceUrl: text.allow(null).description('Where it was fetched from; null when it was handed in.'),
	sizeBytes: count,
	sha256: Joi.string().description('Of the document, hexadecimal.'),
	createdAt: timestamp,
};

export const SCHEMA = shape({ ...schemaFields, report: IMPORT_REPORT, changes: IMPORT_CHANGES.allow(null) }).meta({ schema: 'ApiSchema' });

/** A hundred of them with every operation would be fifty megabytes. */
export const LISTED_SCHEMA = shape({
	...schemaFields,
	report: shape(reportFields).meta({ schema: 'ListedImportReport' }),
	changes: shape(changesFields).meta({ schema: 'ListedImportChanges' }).allow(null),
}).meta({ schema: 'ListedApiSchema' });

/** The time comes last. */
export function presentSchema(row: SchemaRow | ListedSchemaRow) {
	const { createdAt, ...shown } = present(SCHEMA, row);
	return { ...shown, createdAt };
}

export const OPERATION = shape({
	id: uuid,
	apiId: uuid,
	key: text.description('Which operation of the document it is, the same after the next import: `GET /pets/{id}`.'),
	operationId: text.allow(null).description('As the document gives it.'),
	name: text.description('Of the tool that is made of it.'),
	description: text,
	method: text,
	path: text,
	tags: Joi.array().items(text),
	deprecated: Joi.boolean(),
	parameters: jsonObject.description('JSON Schema (2020-12) of the arguments.'),
	outputSchema: jsonObject.allow(null).description('JSON Schema of the answer; null where none is safe to promise.'),
	outcome: Joi.string().valid('converted', 'degraded'),
	reasons: Joi.array().items(text).description('Why it is degraded, a sentence each.'),
	status: Joi.string().valid('active', 'removed').description('`removed`: the last import did not have it.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'ApiOperation' });

export const presentOperation = (row: OperationRow) => present(OPERATION, row);
