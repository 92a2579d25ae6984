// Errors as OpenAI's clients read them. They show nothing of a body whose `error` is a text.

import type { ErrorCode, GatewayError } from '../../../../core/features.ts';

const TYPES: Partial<Record<ErrorCode, string>> = {
	unauthorized: 'authentication_error',
	forbidden: 'permission_error',
	insufficient_scope: 'permission_error',
	not_found: 'not_found_error',
	rate_limited: 'rate_limit_error',
};
const SERVER = 500;
const TEXT = { type: 'string' };
const TEXT_OR_NULL = { type: ['string', 'null'] };

export const ERROR_BODY = {
	schema: {
		type: 'object' as const,
		properties: {
			success: { type: 'boolean', const: false },
			message: TEXT,
			statusCode: { type: 'integer' },
			error: {
				type: 'object',
				properties: { message: TEXT, type: TEXT, param: TEXT_OR_NULL, code: TEXT_OR_NULL },
				required: ['message', 'type', 'param', 'code'],
			},
			requestId: TEXT,
			executionId: { type: 'string', description: 'The execution that failed.' },
			reason: { type: 'string', description: 'The code of its fault.' },
			details: { type: 'array', items: { type: 'object', properties: { path: TEXT, message: TEXT }, required: ['path', 'message'] } },
		},
		required: ['success', 'message', 'statusCode', 'error'],
	},
	/** A 429 of our own keeps the body of specification 7; one of a model provider names its execution. */
	of(error: GatewayError, usual: object): object {
		if (error.code === 'rate_limited' && !error.more['executionId']) return usual;
		return { ...usual, error: openAiError(error), ...error.more };
	},
};

/** The member `error` of an error, and the data of an error within a stream. */
export function openAiError({ code, status, message, details, more }: GatewayError): object {
	const isOfRun = more['executionId'] !== undefined && code === 'validation_failed';
	const type = isOfRun ? 'pipeline_error' : (TYPES[code] ?? (status >= SERVER ? 'server_error' : 'invalid_request_error'));
	const param = details[0]?.path.replace(/^\//, '').replaceAll('/', '.') || null;
	return { message, type, param, code: more['reason'] ?? code };
}
