// Describes each error for readers of the document: when it occurs, and an example of the message, which a test compares with the service's own.

import type { ErrorCode, ErrorDetail } from '../../../core/features.ts';

interface Told {
	when: string;
	/** The message as the service writes it. */
	message: string;
	details?: ErrorDetail[];
}

const ownDetail = (path: string, message: string): Pick<Told, 'message' | 'details'> => ({ message, details: [{ path, message }] });

export const TOLD: Record<ErrorCode, Told> = {
	validation_failed: {
		when: 'The request does not match this document; `details` names each field and what was expected there.',
		...ownDetail('/name', '"name" is required'),
	},
	schema_invalid: {
		when: 'The description of the API cannot be imported; `details` names the location in it.',
		...ownDetail('', 'The document is not OpenAPI: its root must be an object, not a string.'),
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
		when: '`X-Organization-Id` names no organization of the account, or is missing and the account has none or several.',
		...ownDetail('header/x-organization-id', 'X-Organization-Id names no organization of this account.'),
	},
	unauthorized: {
		when: 'The credential is missing, wrong, expired or revoked.',
		message: 'A Bearer token is required.',
	},
	forbidden: {
		when: 'The role of the user does not have the permission, or the operation requires a login and was called with an access key.',
		message: 'Your role does not have the permission gateway:write.',
	},
	insufficient_scope: {
		when: 'The access key does not have the permission, or its scope does not include the resource.',
		message: 'The access key does not have the permission gateway:write.',
	},
	not_found: {
		when: 'The resource does not exist, or belongs to another organization.',
		message: 'Gateway not found.',
	},
	tool_not_found: {
		when: 'There is no tool of this name.',
		message: 'There is no tool "get_pet" here.',
	},
	method_not_allowed: {
		when: 'The path supports other methods, which `Allow` names.',
		message: 'This path takes GET.',
	},
	conflict: {
		when: 'The name is taken, the resource is in use, or a request with the same `Idempotency-Key` is under way.',
		...ownDetail('/endpoint', 'endpoint is taken: another gateway of this organization has it.'),
	},
	secret_unreadable: {
		when: 'A stored secret can no longer be decrypted and has to be entered again.',
		message: 'The credential "api_key" of the API “Pets” could not be read: enter it again.',
	},
	precondition_failed: {
		when: 'The resource was changed since the `ETag` that `If-Match` names.',
		message: 'It has been changed since the version that If-Match names: read it again first.',
	},
	payload_too_large: {
		when: 'The body is larger than the operation allows.',
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
	agent_failed: {
		when: 'The agent ran and failed: `executionId` names the execution, and `reason` says why. A repeated request runs it again.',
		message: 'The agent failed.',
	},
	rate_limited: {
		when: 'Too many requests were made in the window; `Retry-After` says when to try again.',
		message: 'Too many requests: retry after 12 seconds.',
	},
	internal: {
		when: 'The service failed; its log has the `requestId`.',
		message: 'Something went wrong on our side; the request id names it.',
	},
	not_implemented: {
		when: 'The service does not support this here.',
		message: 'This tool sends no request that could be shown. Run it without dryRun.',
	},
	upstream_failed: {
		when: 'The API that was called failed.',
		message: 'api.example.com answered with a redirect.',
	},
	unavailable: {
		when: 'The service cannot answer at the moment, since its database or another part is busy or cannot be reached; `Retry-After` says when to try again.',
		message: 'The database is busy at the moment. Try again shortly.',
	},
	upstream_timeout: {
		when: 'The API that was called, or a plugin, did not answer in time.',
		message: 'api.example.com did not answer in time.',
	},
};
