// Refusals of core in the form of the binding that the client used.

import { type GatewayError, type Incoming, isObject, type Reply } from '../../core/index.ts';
import { A2AError, rpcError, statusBody } from './errors.ts';

/** The names of `google.rpc.Code` by HTTP status. */
const NAMES: Readonly<Record<number, string>> = {
	400: 'INVALID_ARGUMENT',
	401: 'UNAUTHENTICATED',
	403: 'PERMISSION_DENIED',
	404: 'NOT_FOUND',
	405: 'UNIMPLEMENTED',
	413: 'INVALID_ARGUMENT',
	415: 'INVALID_ARGUMENT',
	500: 'INTERNAL',
	503: 'UNAVAILABLE',
};

/** Discovery documents are read by anybody, in core's form. A refusal by authorization has its challenge, whatever the body says. */
export function fail(error: GatewayError, request: Incoming): Reply | null {
	const { path } = request;
	if (path.startsWith('/.well-known/')) return null;
	const { status, message, details } = error;
	if (path !== '/') {
		const reason = error.code.toUpperCase();
		return { status, body: statusBody(status, { grpc: NAMES[status] ?? 'UNKNOWN', reason, message, details }) };
	}
	if (request.method !== 'POST' || status === 401 || status === 403) return null;
	return { status, body: rpcError(idOf(request.body), new A2AError(reasonOf(error), message, details)) };
}

function reasonOf({ status, code }: GatewayError): A2AError['reason'] {
	if (code === 'unsupported_media_type') return 'CONTENT_TYPE_NOT_SUPPORTED';
	return status < 500 ? 'INVALID_REQUEST' : 'INTERNAL_ERROR';
}

/** The body is raw unless a handler has read it. */
const idOf = (body: unknown): string | number | null => {
	const id = isObject(body) && !Buffer.isBuffer(body) ? body['id'] : null;
	return typeof id === 'string' || typeof id === 'number' ? id : null;
};
