// The body of `POST /apis/:id/import-schema`, read in the worker: parsing 64 MiB of JSON would block the event loop.

import Joi from 'joi';
import { parseJson } from './body.ts';
import { GatewayError, invalid } from './errors.ts';
import type { OperationFilter } from './store.ts';

export interface ImportRequest {
	/** Exactly one of the two is set. */
	schemaUrl: string | null;
	schemaContent: string | null;
	generateTools: boolean;
	filter: OperationFilter;
}

const texts = Joi.array().items(Joi.string().max(500)).min(1).max(2_000);

/** The filters of operations, for every body that takes them. */
export const OPERATION_FILTERS = {
	tags: texts.description('Only operations with one of these tags.'),
	methods: Joi.array()
		.items(Joi.string().uppercase().max(20).prefs({ convert: true }))
		.min(1)
		.max(20)
		.description('Only operations of these methods.'),
	paths: texts.description('Only operations of these paths, spelled as in the document.'),
	operationIds: texts.description('Only operations with these operationIds.'),
	deprecated: Joi.boolean().strict().description('Only deprecated operations (true), or none of them (false).'),
} as const;

export const IMPORT_BODY = Joi.object({
	schemaUrl: Joi.string()
		.max(2_000)
		.description('Where to fetch the description from: a document, or an endpoint that describes itself when asked.'),
	schemaContent: Joi.string()
		.messages({ 'string.empty': '"schemaContent" must not be empty' })
		.description('The description itself, in place of its URL.'),
	generateTools: Joi.boolean().strict().default(false).description('Make a tool of each operation as well.'),
	...OPERATION_FILTERS,
})
	.required()
	.xor('schemaUrl', 'schemaContent')
	.messages({
		'object.missing': 'The body must have "schemaUrl" or "schemaContent"',
		'object.xor': 'The body must have "schemaUrl" or "schemaContent", not both',
	})
	.example({ schemaUrl: 'https://petstore.example.com/openapi.json', generateTools: true });

/** @throws validation_failed naming each field */
export function readImportRequest(body: Uint8Array): ImportRequest {
	const { value, error } = IMPORT_BODY.validate(parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength)), {
		abortEarly: false,
	});
	if (error) {
		const details = error.details.map(({ path, message }) => ({ path: path.map((part) => `/${part}`).join(''), message: `${message}.` }));
		throw new GatewayError('validation_failed', details[0]?.message ?? 'The body is not valid.', { details });
	}
	// What has passed the schema has its shape.
	const { schemaUrl = null, schemaContent = null, generateTools, ...filter } = value as Omit<ImportRequest, 'filter'> & OperationFilter;
	if (schemaContent?.trim() === '') throw invalid('/schemaContent', '"schemaContent" must not be empty.');
	return { schemaUrl, schemaContent, generateTools, filter };
}
