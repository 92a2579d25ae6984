// Imports Postman collections of format 2.1 (https://schema.postman.com/collection/json/v2.1.0/draft-07/docs/index.html). Each request becomes
// an operation. Values of headers, variables and bodies may be secrets, so the tools get their names alone.

import { type Api, cleanText, GatewayError, isObject, type Json, type JsonObject, type SchemaImporter, type ToolDraft } from 'gatehouse';
import Joi from 'joi';
import { credentialsOf } from './credentials.ts';
import { operationsOf } from './operations.ts';

const FORMAT = 'schema.getpostman.com/json/collection/v2.1';

export default {
	kind: 'importer',
	api: 1,
	name: 'acme_postman',
	summary: 'Imports Postman collections of format 2.1.',
	spec: 'Postman Collection Format 2.1.0',
	config: Joi.object({}),
	detect: (text) => (text.trimStart().startsWith('{') && text.includes(FORMAT) ? 1 : 0),
	async *parse({ text }) {
		const collection = collectionOf(text);
		const { info, variable } = collection;
		const variables = new Map(listOf(variable).map(({ key, value }) => [String(key), typeof value === 'string' ? value : '']));
		const { operations, servers } = operationsOf(collection, variables);
		yield* operations;
		const { name, version } = info as JsonObject;
		return {
			...{ format: 'postman 2.1', servers, credentials: credentialsOf(collection) },
			title: typeof name === 'string' ? cleanText(name, 200) : null,
			version: typeof version === 'string' ? cleanText(version, 50) : null,
		};
	},
	tool: ({ name, description, method, path, parameters, outputSchema, definition }, api: Api): ToolDraft => {
		const {
			origin,
			arguments: found,
			requestBody,
		} = definition as { origin: string | null; arguments: JsonObject[]; requestBody: JsonObject | null };
		return {
			...{ name, description, parameters, outputSchema, executor: 'http' },
			annotations: { readOnlyHint: ['GET', 'HEAD', 'OPTIONS'].includes(method) },
			...(requestBody && { bodyArgument: 'body' }),
			executionConfig: {
				...{ method, url: (origin ?? api.baseUrl).replace(/\/$/, '') + path, parameters: found },
				...(requestBody && { requestBody }),
			},
		};
	},
} satisfies SchemaImporter;

export const listOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** @throws schema_invalid with line and column, or the member that is wrong */
function collectionOf(text: string): JsonObject {
	const value = parsed(text);
	if (!isObject(value) || !isObject(value['info']) || !String(value['info']['schema']).includes(FORMAT))
		throw new GatewayError('schema_invalid', '/info/schema must name the format 2.1 of Postman collections.');
	if (!Array.isArray(value['item'])) throw new GatewayError('schema_invalid', '/item must be a list of requests and folders.');
	return value;
}

function parsed(text: string): Json {
	try {
		return JSON.parse(text) as Json;
	} catch (error) {
		const [, line = String(text.split('\n').length), column] = /line (\d+) column (\d+)/.exec((error as Error).message) ?? [];
		const place = column === undefined ? `Line ${line}` : `Line ${line}, column ${column}`;
		throw new GatewayError('schema_invalid', `${place}: this is no JSON.`);
	}
}
