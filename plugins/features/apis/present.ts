// How connected APIs and what belongs to them are shown: a shape and what fills it, side by side. Secrets never are.

import Joi from 'joi';
import {
	type ApiRow,
	type CredentialRow,
	count,
	jsonObject,
	type OperationRow,
	type SchemaRow,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/index.ts';
import { OUTBOUND } from './outbound.ts';

const fields = {
	id: uuid,
	name: Joi.string(),
	type: Joi.string().description('The importer that reads its description.'),
	baseUrl: Joi.string().description('Where its paths begin.'),
	description: text.allow(null),
	status: Joi.string().valid('active', 'inactive'),
	outbound: OUTBOUND.allow(null),
	createdAt: timestamp,
	updatedAt: timestamp,
};

export const API = shape(fields).meta({ schema: 'Api' });

export const presentApi = ({ id, name, type, baseUrl, description, status, outbound, createdAt, updatedAt }: ApiRow) => ({
	id,
	name,
	type,
	baseUrl,
	description,
	status,
	outbound,
	createdAt,
	updatedAt,
});

export const CREDENTIAL = shape({
	apiId: uuid,
	type: Joi.string(),
	origin: Joi.string().description('The only one that it is sent to.'),
	updatedAt: timestamp,
}).meta({ schema: 'Credential' });

export const presentCredential = ({ apiId, type, origin, updatedAt }: CredentialRow) => ({ apiId, type, origin, updatedAt });

export const API_WITH_CREDENTIALS = shape({ ...fields, credentials: Joi.array().items(CREDENTIAL) }).meta({ schema: 'ApiWithCredentials' });

export const IMPORT_REPORT = shape({
	format: text.description('What the document turned out to be: `openapi 3.1.0`.'),
	title: text.allow(null),
	version: text.allow(null),
	servers: Joi.array().items(text).description('Base URLs that the document names.'),
	counts: shape({ operations: count, converted: count, degraded: count, skipped: count }),
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
	warnings: Joi.array()
		.items(shape({ message: text, pointer: text.optional().description('JSON pointer into the document.') }))
		.description('Up to 100.'),
}).meta({ schema: 'ImportReport' });

export const SCHEMA = shape({
	id: uuid,
	apiId: uuid,
	format: text,
	title: text.allow(null),
	version: text.allow(null),
	servers: Joi.array().items(text),
	sourceUrl: text.allow(null).description('Where it was fetched from; null when it was handed in.'),
	sizeBytes: count,
	sha256: Joi.string().description('Of the document, hexadecimal.'),
	report: IMPORT_REPORT,
	createdAt: timestamp,
}).meta({ schema: 'ApiSchema' });

export const presentSchema = (row: SchemaRow) => ({
	id: row.id,
	apiId: row.apiId,
	format: row.format,
	title: row.title,
	version: row.version,
	servers: row.servers,
	sourceUrl: row.sourceUrl,
	sizeBytes: row.sizeBytes,
	sha256: row.sha256,
	report: row.report,
	createdAt: row.createdAt,
});

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

export const presentOperation = (row: OperationRow) => ({
	id: row.id,
	apiId: row.apiId,
	key: row.key,
	operationId: row.operationId,
	name: row.name,
	description: row.description,
	method: row.method,
	path: row.path,
	tags: row.tags,
	deprecated: row.deprecated,
	parameters: row.parameters,
	outputSchema: row.outputSchema,
	outcome: row.outcome,
	reasons: row.reasons,
	status: row.status,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});
