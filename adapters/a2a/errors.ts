// The errors of A2A, over JSON-RPC and over HTTP (specification 1.0, sections 5.4, 9.5 and 11.6).

import { asGatewayError, type Call, type ErrorMap, GatewayError, type Json, type JsonObject, type Reply } from '../../core/index.ts';

type ErrorDetail = GatewayError['details'][number];

interface Kind {
	/** JSON-RPC. */
	code: number;
	/** HTTP. */
	status: number;
	/** The name of `google.rpc.Code`. */
	grpc: string;
}

const kind = (code: number, status: number, grpc: string): Kind => ({ code, status, grpc });

/** Each reason of `google.rpc.ErrorInfo`. */
const KINDS = {
	PARSE_ERROR: kind(-32700, 400, 'INVALID_ARGUMENT'),
	INVALID_REQUEST: kind(-32600, 400, 'INVALID_ARGUMENT'),
	METHOD_NOT_FOUND: kind(-32601, 404, 'UNIMPLEMENTED'),
	INVALID_PARAMS: kind(-32602, 400, 'INVALID_ARGUMENT'),
	INTERNAL_ERROR: kind(-32603, 500, 'INTERNAL'),
	TASK_NOT_FOUND: kind(-32001, 404, 'NOT_FOUND'),
	TASK_NOT_CANCELABLE: kind(-32002, 400, 'FAILED_PRECONDITION'),
	UNSUPPORTED_OPERATION: kind(-32004, 400, 'FAILED_PRECONDITION'),
	CONTENT_TYPE_NOT_SUPPORTED: kind(-32005, 400, 'INVALID_ARGUMENT'),
	EXTENDED_AGENT_CARD_NOT_CONFIGURED: kind(-32007, 400, 'FAILED_PRECONDITION'),
	VERSION_NOT_SUPPORTED: kind(-32009, 400, 'FAILED_PRECONDITION'),
} as const satisfies Record<string, Kind>;

export type Reason = keyof typeof KINDS;

export class A2AError extends Error {
	readonly reason: Reason;
	readonly details: readonly ErrorDetail[];

	constructor(reason: Reason, message: string, details: readonly ErrorDetail[] = []) {
		super(message);
		this.name = 'A2AError';
		this.reason = reason;
		this.details = details;
	}
}

/** A fault of one parameter. @param path JSON pointer into `params`, or into the body of HTTP+JSON */
export const wrong = (path: string, message: string): A2AError => new A2AError('INVALID_PARAMS', message, [{ path, message }]);

/** "Servers MUST NOT reveal the existence of resources the client is not authorized to access" (section 13.1). */
export const noTask = (id: string): A2AError => new A2AError('TASK_NOT_FOUND', `There is no task "${id.slice(0, 100)}" here.`);

/** `http`: core answers, with its status, its headers and its challenge. */
const REASONS: ErrorMap<'http' | Reason> = {
	validation_failed: 'INVALID_PARAMS',
	schema_invalid: 'INVALID_PARAMS',
	egress_refused: 'INVALID_PARAMS',
	no_organization: 'http',
	unauthorized: 'http',
	forbidden: 'http',
	insufficient_scope: 'http',
	not_found: 'http',
	tool_not_found: 'INVALID_PARAMS',
	method_not_allowed: 'http',
	conflict: 'INVALID_PARAMS',
	secret_unreadable: 'INTERNAL_ERROR',
	precondition_failed: 'INVALID_PARAMS',
	payload_too_large: 'http',
	unsupported_media_type: 'http',
	idempotency_key_reused: 'INVALID_PARAMS',
	agent_failed: 'INTERNAL_ERROR',
	rate_limited: 'http',
	internal: 'INTERNAL_ERROR',
	not_implemented: 'UNSUPPORTED_OPERATION',
	upstream_failed: 'INTERNAL_ERROR',
	unavailable: 'http',
	upstream_timeout: 'INTERNAL_ERROR',
};

/** Returns the protocol's form of whatever a method threw. @throws GatewayError where the answer is HTTP's */
export function asA2A(thrown: unknown, { log }: Pick<Call, 'log'>): A2AError {
	if (thrown instanceof A2AError) return thrown;
	const error = asGatewayError(thrown);
	if (!error || error.code === 'internal') {
		log.error({ error: thrown instanceof Error ? thrown.stack : String(thrown) }, 'an A2A request failed');
		return new A2AError('INTERNAL_ERROR', error?.message ?? 'Something went wrong on our side.');
	}
	const reason = REASONS[error.code];
	if (reason === 'http') throw error;
	return new A2AError(reason, error.message, error.details);
}

/** The protocol's form of an error that HTTP can no longer carry, since its stream has begun. */
export function asStreamed(thrown: unknown, call: Pick<Call, 'log'>): A2AError {
	try {
		return asA2A(thrown, call);
	} catch (error) {
		return new A2AError('INTERNAL_ERROR', error instanceof GatewayError ? error.message : 'Something went wrong on our side.');
	}
}

const INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';

function detailsOf(reason: string, details: readonly ErrorDetail[]): JsonObject[] {
	const info: JsonObject = { '@type': INFO, reason, domain: 'a2a-protocol.org' };
	if (details.length === 0) return [info];
	const fieldViolations = details.map(({ path, message }) => ({ field: path, description: message }));
	return [info, { '@type': BAD_REQUEST, fieldViolations }];
}

export type RpcId = string | number | null;

export function rpcError(id: RpcId, { reason, message, details }: A2AError): JsonObject {
	return { jsonrpc: '2.0', id, error: { code: KINDS[reason].code, message, data: detailsOf(reason, details) as Json[] } };
}

/** A message that could not be understood is a bad request of HTTP, too; an error of a method is not. */
export function rpcErrorReply(id: RpcId, error: A2AError): Reply {
	const isUnread = error.reason === 'PARSE_ERROR' || error.reason === 'INVALID_REQUEST';
	return { status: isUnread ? 400 : 200, body: rpcError(id, error) };
}

export const restError = ({ reason, message, details }: A2AError): JsonObject =>
	statusBody(KINDS[reason].status, { grpc: KINDS[reason].grpc, reason, message, details });

export const restErrorReply = (error: A2AError): Reply => ({
	status: KINDS[error.reason].status,
	headers: { 'content-type': 'application/json' },
	body: restError(error),
});

interface StatusParts {
	grpc: string;
	reason: string;
	message: string;
	details: readonly ErrorDetail[];
}

/** `google.rpc.Status` as AIP-193 writes it. */
export const statusBody = (code: number, { grpc, reason, message, details }: StatusParts): JsonObject => ({
	error: { code, status: grpc, message, details: detailsOf(reason, details) as Json[] },
});
