// Refusals of messages as JSON-RPC errors, beside their HTTP status.

import type { GatewayError, Incoming, Reply, ServedAt } from '../../core/index.ts';
import type { McpConfig } from './dispatch.ts';
import { CODES, errorMessage, ProtocolError } from './messages.ts';
import { pageFor } from './page/page.ts';

/** Whether the request comes from a page that neither the service nor the gateway trusts. */
export const isForeignPage = ({ origin: page }: Incoming, { allowedOrigins }: McpConfig): boolean =>
	page.value !== null && !page.trusted && !allowedOrigins.includes(page.value);

/**
 * "The HTTP response body MAY comprise a JSON-RPC error response that has no id" (transports). A refusal by authorization stays as it is:
 * clients act on its status and challenge, before any message of theirs is read.
 */
export function fail(error: GatewayError, request: Incoming, config: McpConfig, at: ServedAt): Reply | null {
	const page = pageFor(error, request, at);
	if (page) return page;
	if (request.method !== 'POST' || request.path !== '/' || isOfAuthorization(error, request, config)) return null;
	const { status, message } = error;
	const details = error.details.map((detail) => ({ path: detail.path, message: detail.message }));
	const own = new ProtocolError(
		status < 500 ? CODES.invalidRequest : CODES.internalError,
		message,
		details.length > 0 ? { data: { details } } : {},
	);
	return { status, body: errorMessage(null, own) };
}

const isOfAuthorization = ({ code }: GatewayError, request: Incoming, config: McpConfig): boolean =>
	code === 'unauthorized' ||
	code === 'no_organization' ||
	code === 'insufficient_scope' ||
	(code === 'forbidden' && !isForeignPage(request, config));
