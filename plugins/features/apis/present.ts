// Shows connected APIs and what belongs to them: each shape beside the function that fills it. Secrets are never shown.

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
	type: Joi.string().description('The format of the API’s description.'),
	baseUrl: Joi.string().description('The URL that the API’s paths are appended to.'),
	description: text.allow(null),
	status: Joi.string().valid('active', 'inactive').description('`inactive`: its tools are in no gateway, whatever their own status says.'),
	outbound: OUTBOUND.allow(null),
	passThrough: PASS_THROUGH,
	strictOutput: Joi.boolean().description('Answers that break the output schema of their tool are failed calls.'),
	icon: text.allow(null).description('An image for clients; null: none.'),
	watch: Joi.string().valid('daily').allow(null).description('Whether its document is read again each day, for alerts.'),
	createdAt: timestamp,
	updatedAt: timestamp,
};

export const API = shape(fields).meta({ schema: 'Api' });

export const presentApi = (row: ApiRow) => present(API, row);

export const CREDENTIAL = shape({
	apiId: uuid,
	type: Joi.string(),
	scheme: text.allow(null).description('The security scheme that the credential is for; null: wherever its type is required.'),
	origin: Joi.string().description('The only origin that the credential is sent to.'),
	updatedAt: timestamp,
}).meta({ schema: 'Credential' });

export const presentCredential = (row: CredentialRow) => present(CREDENTIAL, row);

export const API_WITH_CREDENTIALS = shape({
	...fields,
	watchable: Joi.boolean().description(
		'Whether its document can be read again as its last import read it: that was from a URL, by a release that keeps the options of an import, and they have at most 64 KiB.',
	),
	credentials: Joi.array().items(CREDENTIAL),
}).meta({ schema: 'ApiWithCredentials' });

const reportFields = {
	format: text.description('The detected format and version: `openapi 3.1.0`.'),
	title: text.allow(null),
	version: text.allow(null),
	servers: Joi.array().items(text).description('Base URLs that the document names.'),
	credentials: Joi.array()
		.items(
			shape({
				scheme: text.description('Its name in the description.'),
				type: Joi.string().valid('api_key', 'bearer_token', 'basic_auth', 'oauth2'),
				credentials: jsonObject.description('The fields that the description defines: `name` and `in`, or `tokenUrl` and `scopes`.'),
			}),
		)
		.optional()
		.description('Bodies for `POST /apis/{id}/credentials`, without the secrets; up to 50.'),
	counts: shape({ operations: count, converted: count, degraded: count, skipped: count }),
	warnings: Joi.array()
		.items(
			shape({
				message: text,
				pointer: text
					.optional()
					.description('The location in the document, in the form of the format: a JSON pointer, a line, a type or a file.'),
			}),
		)
		.description('Warnings, up to 100.'),
};

export const IMPORT_REPORT = shape({
	...reportFields,
	operations: Joi.array()
		.items(
			shape({
				key: text,
				name: text,
				outcome: Joi.string().valid('degraded', 'skipped'),
				reasons: Joi.array().items(text).description('One sentence each.'),
			}),
		)
		.description('The operations that were degraded or skipped, up to 2,000.'),
}).meta({ schema: 'ImportReport' });

const changesFields = {
	added: count,
	removed: count,
	restored: count.description('Operations that were removed before and are back.'),
	changed: count,
	unchanged: count,
	breaking: count.description(
		'Changes that callers have to, or may have to, adapt to: all removed operations, and changed or restored ones that require more or promise less.',
	),
	additive: count.description('Changed or restored operations that callers need not adapt to.'),
	text: count.description('Operations of which only the texts changed.'),
	toolsUpdated: count.description('Existing tools that were updated.'),
	unlisted: count.description('Number of operations beyond the listed ones.'),
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
					.description('`breaking` when in doubt; null: nothing to report.'),
				reasons: Joi.array().items(text).description('One sentence each, the most serious first.'),
			}),
		)
		.description('The most serious first, up to 2,000 and 512 KiB. Empty for a first import, where everything is new.'),
})
	.description('Changes of operations since the previous import.')
	.meta({ schema: 'ImportChanges' });

const schemaFields = {
	id: uuid,
	apiId: uuid,
	format: text,
	title: text.allow(null),
	version: text.allow(null),
	servers: Joi.array().items(text),
	sourceUrl: text.allow(null).description('The URL that the description was fetched from; null when it was sent in the request.'),
	sizeBytes: count,
	sha256: Joi.string().description('Digest of the document, in hexadecimal.'),
	createdAt: timestamp,
};

export const SCHEMA = shape({ ...schemaFields, report: IMPORT_REPORT, changes: IMPORT_CHANGES.allow(null) }).meta({ schema: 'ApiSchema' });

/** The shape in lists leaves the operations out: with them a hundred descriptions would be fifty megabytes. */
export const LISTED_SCHEMA = shape({
	...schemaFields,
	report: shape(reportFields).meta({ schema: 'ListedImportReport' }),
	changes: shape(changesFields).meta({ schema: 'ListedImportChanges' }).allow(null),
}).meta({ schema: 'ListedApiSchema' });

/** The last member is the time. */
export function presentSchema(row: SchemaRow | ListedSchemaRow) {
	const { createdAt, ...shown } = present(SCHEMA, row);
	return { ...shown, createdAt };
}

export const OPERATION = shape({
	id: uuid,
	apiId: uuid,
	key: text.description('Identifies the operation in the document, across imports: `GET /pets/{id}`.'),
	operationId: text.allow(null).description('The id that the document gives.'),
	name: text.description('Name of the tool that is made from the operation.'),
	description: text,
	method: text,
	path: text,
	tags: Joi.array().items(text),
	deprecated: Joi.boolean(),
	parameters: jsonObject.description('JSON Schema (2020-12) of the arguments.'),
	outputSchema: jsonObject.allow(null).description('JSON Schema of the result; null where none can be promised.'),
	outcome: Joi.string().valid('converted', 'degraded'),
	reasons: Joi.array().items(text).description('The reasons for `degraded`, one sentence each.'),
	status: Joi.string().valid('active', 'removed').description('`removed`: the last imported description does not have the operation.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'ApiOperation' });

export const presentOperation = (row: OperationRow) => present(OPERATION, row);
