// Describes the errors of an operation for the document, by the closed table of codes.

import {
	type Endpoint,
	ERRORS,
	type ErrorCode,
	isOfContext,
	type JsonObject,
	type JsonSchema,
	takesIfMatch,
} from '../../../core/features.ts';
import { TOLD } from './sentences.ts';

/** Codes that any operation may answer. */
const ALWAYS: readonly ErrorCode[] = ['validation_failed', 'internal', 'unavailable'];

function codesOf(declared: Endpoint): ErrorCode[] {
	const { need, path, body, method, idempotent, errors = [] } = declared;
	const codes = new Set<ErrorCode>([...ALWAYS, ...errors]);
	const add = (isSo: boolean, ...more: ErrorCode[]): void => {
		if (isSo) for (const code of more) codes.add(code);
	};
	add(isLimited(declared), 'rate_limited');
	add(need !== 'public', 'unauthorized', 'forbidden', 'insufficient_scope');
	add(isOfContext(declared), 'no_organization');
	add(path.includes('{'), 'not_found');
	add(Boolean(body) || method !== 'GET', 'payload_too_large', 'unsupported_media_type');
	add(takesIfMatch(declared), 'precondition_failed');
	add(Boolean(idempotent), 'conflict', 'idempotency_key_reused');
	return [...codes];
}

export const isLimited = ({ path }: Endpoint): boolean => !path.startsWith('/health');

/** Names the headers of an answer (specification 8.3: those of the limits are on every one that has a limit). */
export function headersOf(limited: boolean, ...more: string[]): JsonObject {
	const names = [...more, ...(limited ? ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] : []), 'X-Request-Id'];
	return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Writes one response per status; codes that share a status are distinguished by `error`. */
export function failuresOf(declared: Endpoint): JsonObject {
	const byStatus = new Map<number, ErrorCode>();
	for (const code of codesOf(declared)) if (!byStatus.has(ERRORS[code])) byStatus.set(ERRORS[code], code);
	return Object.fromEntries(
		[...byStatus.entries()]
			.sort()
			.map(([status, code]) => [status, ownFailure(declared, code) ?? { $ref: `#/components/responses/${responseName(code)}` }]),
	);
}

/** Describes an error of an operation whose errors have a body of their own, or no limit; null for all others. */
function ownFailure(declared: Endpoint, code: ErrorCode): JsonObject | null {
	const { errorBody } = declared;
	if (!errorBody) return isLimited(declared) ? null : failure(code, false);
	const { content: _content, ...usual } = failure(code);
	const schema =
		ERRORS[code] === ERRORS.rate_limited ? { anyOf: [{ $ref: '#/components/schemas/RateLimited' }, errorBody.schema] } : errorBody.schema;
	return { ...usual, content: { 'application/json': { schema } } } as JsonObject;
}

/** One code for each status, whose response names all of them. */
const STATUSES = [...new Map(Object.entries(ERRORS).map(([code, status]) => [status, code as ErrorCode])).values()];

const responseName = (code: ErrorCode): string => `Error${ERRORS[code]}`;

function failure(code: ErrorCode, limited = true): JsonObject {
	const status = ERRORS[code];
	const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((other) => ERRORS[other] === status);
	const isLimit = status === ERRORS.rate_limited;
	const isForNow = isLimit || status === ERRORS.unavailable;
	return {
		description: codes.map((other) => `\`${nameOf(other)}\`: ${TOLD[other].when}`).join('\n\n'),
		headers: headersOf(limited, ...(isForNow ? ['Retry-After'] : [])),
		content: {
			'application/json': {
				schema: { $ref: `#/components/schemas/${isLimit ? 'RateLimited' : 'Error'}` },
				examples: Object.fromEntries(codes.map((other) => [nameOf(other), { summary: TOLD[other].when, value: exampleOf(other) }])),
			},
		},
	};
}

const nameOf = (code: ErrorCode): string => code.toUpperCase();

function exampleOf(code: ErrorCode): JsonObject {
	const { message, details } = TOLD[code];
	const told = { success: false, message, error: nameOf(code), statusCode: ERRORS[code] };
	if (code === 'rate_limited') return told;
	return {
		...told,
		requestId: '0b9f5c1e-6f1a-4c0e-9f0e-2f6f7c1d1a11',
		...(details && { details: details.map((detail) => ({ ...detail })) }),
	};
}

const ERROR_SHAPE = {
	success: { type: 'boolean', const: false },
	message: { type: 'string', description: 'A sentence for people.' },
	error: { type: 'string', enum: Object.keys(ERRORS).map((code) => code.toUpperCase()) },
	statusCode: { type: 'integer' },
};

const PATH =
	'A JSON pointer into the body, or `query/name`, `header/name`, `path/name`. For `SCHEMA_INVALID`, it may also be a location in the imported description.';

const WHOLE: JsonSchema = {
	type: 'object',
	properties: {
		...ERROR_SHAPE,
		requestId: { type: 'string' },
		details: {
			type: 'array',
			items: {
				type: 'object',
				properties: {
					path: { type: 'string', description: PATH },
					message: { type: 'string' },
				},
				required: ['path', 'message'],
				additionalProperties: false,
			},
		},
	},
	required: ['success', 'message', 'error', 'statusCode', 'requestId'],
	additionalProperties: false,
};

/** The body of a 429: four fields (specification 7). */
const RATE_LIMITED: JsonSchema = {
	type: 'object',
	properties: { ...ERROR_SHAPE, error: { type: 'string', const: 'RATE_LIMITED' } },
	required: Object.keys(ERROR_SHAPE),
	additionalProperties: false,
};

export const ERROR_SCHEMAS: JsonObject = { Error: WHOLE, RateLimited: RATE_LIMITED };

/** Writes the responses that these operations refer to. */
export function failureResponses(operations: readonly Endpoint[]): JsonObject {
	const met = new Set(operations.flatMap(codesOf).map((code) => ERRORS[code]));
	return Object.fromEntries(STATUSES.filter((code) => met.has(ERRORS[code])).map((code) => [responseName(code), failure(code)]));
}
