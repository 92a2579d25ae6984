// The body of `POST /apis/:id/import-schema`, read in the worker: parsing 64 MiB of JSON would block the event loop.

import Joi from 'joi';
import { GatewayError, invalid } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { parseJson } from '../http/body.ts';
import { detailsOf, SENTENCES } from '../kit/input-faults.ts';
import type { GenerationRequest } from '../store/store.ts';
import type { FilesInput } from './files.ts';
import { takeContent } from './large-body.ts';

export interface ImportRequest {
	/** Exactly one of `schemaUrl`, `schemaContent` and `files` is set. */
	schemaUrl: string | null;
	schemaContent: string | null;
	/** The same in UTF-8, where it was at hand. */
	contentBytes?: Buffer;
	files: FilesInput | null;
	/** The path of the root document. */
	entry: string | null;
	/** Options of the importer, which checks them. */
	options: JsonObject;
	/** Whether a description without operations may replace one that has some. */
	allowEmpty: boolean;
	/** The filters of the tools to make; null makes none. */
	generation: GenerationRequest | null;
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

/** The layout of request bodies among the arguments of tools, for every body that makes tools. */
export const BODIES = Joi.string()
	.valid('nested', 'flat')
	.description(
		'The layout of a JSON or form body: its members in one argument (`nested`), or beside the other arguments (`flat`), except for bodies that ' +
			'cannot be flattened, such as those with a member named like a parameter. By default tools keep their layout, and new ones are `nested`.',
	);

const MAX_FILES = 2_000;
/** The longest body of a request that is kept so that its source can be read again: it is opened and parsed in one go. */
const MAX_REPETITION_CHARS = 64 * 1024;

const file = Joi.alternatives(
	Joi.string().allow('').description('A text.'),
	Joi.object({ base64: Joi.string().allow('').required() }).description('Bytes, in base64.'),
);
const files = Joi.alternatives(
	Joi.object().pattern(Joi.string(), file).min(1).max(MAX_FILES).description('Contents by path, such as `schemas/pet.yaml`.'),
	Joi.string().description('A zip, in base64.'),
).messages({ 'alternatives.match': '"files" must be an object of contents by path, each a text or { base64 }, or a zip in base64' });

const ONE_OF = 'The body must have "schemaUrl", "schemaContent" or "files"';

export const IMPORT_BODY = Joi.object({
	schemaUrl: Joi.string()
		.max(2_000)
		.description(
			'Where to fetch the description from: a document, a zip, or an endpoint that describes itself when asked. What a document ' +
				'refers to is fetched as well.',
		),
	schemaContent: Joi.string()
		.messages({ 'string.empty': '"schemaContent" must not be empty' })
		.description('The description itself, instead of its URL.'),
	files: files.description(
		`Several files that refer to each other, or one that is no text: up to ${MAX_FILES}, 64 MiB once they are unpacked. Paths are relative, with / between folders.`,
	),
	entry: Joi.string()
		.max(500)
		.description('The path of the root document among several files or in a zip. Required only when several of them could be it.'),
	options: Joi.object()
		.unknown()
		.default({})
		.meta({ pluginConfig: 'importer' })
		.description('Options of the importer, which depend on the type of the API.'),
	allowEmpty: Joi.boolean()
		.strict()
		.default(false)
		.description('Accept a description without operations although the API has some: all of them and their tools are then removed.'),
	generateTools: Joi.boolean().strict().default(false).description('Also make a tool of each operation.'),
	...OPERATION_FILTERS,
	bodies: BODIES,
})
	.required()
	.label('body')
	.xor('schemaUrl', 'schemaContent', 'files')
	.without('schemaContent', 'entry')
	.messages({
		'object.missing': ONE_OF,
		'object.xor': `${ONE_OF}, and only one of them`,
		'object.unknown': '{{#label}} is not a field of this body',
		'object.without': '"entry" is for "files" and for a zip: "schemaContent" is one document',
	})
	.example({ schemaUrl: 'https://petstore.example.com/description.json', generateTools: true });

/** @param body overwritten if it is large. @throws validation_failed naming each field */
export function readImportRequest(body: Uint8Array): ImportRequest {
	const { given: unchecked, ...taken } = parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
	const { value, error } = IMPORT_BODY.validate(unchecked, {
		abortEarly: false,
		messages: SENTENCES,
	});
	if (error) {
		const details = detailsOf(error.details, '', 'body').map(({ path, message }) => ({ path, message: `${message}.` }));
		throw new GatewayError('validation_failed', details[0]?.message ?? 'The body is not valid.', { details });
	}
	// The schema has checked this shape.
	const given = value as Partial<ImportRequest> &
		Pick<ImportRequest, 'options' | 'allowEmpty'> &
		GenerationRequest & { generateTools: boolean };
	const { schemaUrl = null, schemaContent = null, files = null, entry = null, options, allowEmpty, generateTools, ...generation } = given;
	if (schemaContent?.trim() === '') throw invalid('/schemaContent', '"schemaContent" must not be empty.');
	return { schemaUrl, schemaContent, files, entry, options, allowEmpty, generation: generateTools ? generation : null, ...taken };
}

/** Returns the body of a request that reads the same source in the same way; null where there is none, or it is too long to be kept. */
export function repetitionOf({ schemaUrl, entry, options }: ImportRequest): string | null {
	if (schemaUrl === null) return null;
	const body = JSON.stringify({ schemaUrl, ...(entry !== null && { entry }), options });
	return body.length <= MAX_REPETITION_CHARS ? body : null;
}

/** @throws validation_failed */
function parse(body: Buffer): { given: unknown } & Pick<ImportRequest, 'contentBytes'> {
	const taken = takeContent(body);
	if (taken === null) return { given: parseJson(body, 'rounded') };
	const given = { ...(parseJson(taken.rest, 'rounded') as object), schemaContent: taken.content.toString() };
	return { given, contentBytes: taken.content };
}
