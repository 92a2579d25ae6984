// What a request of the management API brings, read and checked before any schema sees it.

import type { Request } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import { DEFAULT_MAX_BYTES, parseJson, readBody, textFaults } from '../http/body.ts';
import { mediaTypeOf } from '../kit/media-type.ts';

/**
 * The body as JSON, and what no text of a request may hold. hapi parses no body that is there already; by itself it would
 * answer an oversize one only after reading all of it.
 */
export async function readInput(request: Request): Promise<void> {
	const bodyIs = request.route.settings.plugins?.gatehouse?.body;
	if (bodyIs === 'unread') return;
	const inQuery = textFaults(request.query).map(({ path, message }) => ({ path: `query${path}`, message }));
	const inPath = textFaults(request.params).map(({ path, message }) => ({ path: `path${path}`, message }));
	const faults = [...inQuery, ...inPath];
	const first = faults[0];
	if (first) throw new GatewayError('validation_failed', `${first.path} ${first.message}`, { details: faults });
	const content = await readBody(request.raw.req, DEFAULT_MAX_BYTES);
	const none = bodyIs === 'optional' ? {} : null;
	// hapi types it as read-only; null means that there is none, and that it need not look.
	(request as { payload: unknown }).payload = content === null || content.length === 0 ? none : parseBody(request, content);
}

function parseBody(request: Request, content: Buffer): unknown {
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	return parseJson(content);
}
