// What a reader of the document is told of each error: when it comes, and a sentence that the service really says then, which a test holds.

import type { ErrorCode, ErrorDetail } from '../../../core/features.ts';

interface Told {
	when: string;
	/** As the service says it. */
	message: string;
	details?: ErrorDetail[];
}

const ownDetail = (path: string, message: string): Pick<Told, 'message' | 'details'> => ({ message, details: [{ path, message }] });

export const TOLD: Record<ErrorCode, Told> = {
	validation_failed: {
		when: 'The request is not what this page describes; `details` names each place and what was expected there.',
		...ownDetail('/name', '"name" is required'),
	},
	schema_invalid: {
		when: 'The description of the API cannot be imported; `details` names the place in it.',
		...ownDetail('', 'The document is no OpenAPI: its root must be an object, not a string.'),
	},
	egress_refused: {
		when: 'A URL leads to an address that the service may not call.',
		...ownDetail(
			'/baseUrl',
			'baseUrl cannot be called: 10.0.0.1 is or resolves to an address that outbound calls may not reach (loopback, private, ' +
				'reserved or cloud metadata). The operator may open it with EGRESS_ALLOW, cloud metadata excepted.',
		),
	},
	no_organization: {
		when: '`X-Organization-Id` names no organization of the account, or is missing where the account has not exactly one.',
		...ownDetail('header/x-organization-id', 'X-Organization-Id names no organization of this account.'),
	},
	unauthorized: {
		when: 'There is no credential, or one that is wrong, expired or revoked.',
		message: 'A Bearer token is required.',
	},
	forbidden: {
		when: 'The role of the user does not have the permission, or the operation takes a login and was asked with an access key.',
		message: 'Your role does not have the permission gateway:write.',
	},
	insufficient_scope: {
		when: 'The access key was not given the permission, or does not reach what was asked for.',
		message: 'The access key does not have the permission gateway:write.',
	},
	not_found: {
		when: 'There is no such thing, or it belongs to another organization.',
		message: 'Gateway not found.',
	},
	tool_not_found: {
		when: 'There is no tool of this name.',
		message: 'There is no tool "get_pet" here.',
	},
	method_not_allowed: {
		when: 'The path takes other methods, which `Allow` names.',
		message: 'This path takes GET.',
	},
	conflict: {
		when: 'It is taken, in use, or being done already by a request with the same `Idempotency-Key`.',
		message: 'endpoint is taken: another gateway of this organization has it.',
	},
	secret_unreadable: {
		when: 'A stored secret does not open any more and has to be entered again.',
		message: 'The credential "api_key" of the API “Pets” could not be read: enter it again.',
	},
	precondition_failed: {
		when: 'It was changed since the `ETag` that `If-Match` names.',
		message: 'It has been changed since the version that If-Match names: read it again first.',
	},
	payload_too_large: {
		when: 'The body is larger than the operation takes.',
		message: 'The body is larger than 1048576 bytes.',
	},
	unsupported_media_type: {
		when: 'The body is of another media type.',
		message: 'Content-Type must be application/json.',
	},
	idempotency_key_reused: {
		when: 'The `Idempotency-Key` belongs to a request with another body.',
		message: 'This Idempotency-Key was used for another request: choose a new one.',
	},
	rate_limited: {
		when: 'Too many requests came in a window; `Retry-After` says when the next may.',
		message: 'Too many requests: retry after 12 seconds.',
	},
	internal: {
		when: 'Something went wrong in the service; its log has the `requestId`.',
		message: 'Something went wrong on our side; the request id names it.',
	},
	not_implemented: {
		when: 'The service cannot do this here.',
		message: 'This tool sends no request that could be shown. Run it without dryRun.',
	},
	upstream_failed: {
		when: 'The API that was called failed.',
		message: 'api.example.com answered with a redirect.',
	},
	unavailable: {
		when: 'The service cannot answer at the moment; it may a little later.',
		message: 'The database cannot be reached at the moment. Try again shortly.',
	},
	upstream_timeout: {
		when: 'The API that was called did not answer in time.',
		message: 'api.example.com did not answer in time.',
	},
};
