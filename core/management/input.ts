// Reads and checks the input of a management request before any schema sees it.

import type { Request } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import { DEFAULT_MAX_BYTES, parseJson, readBody } from '../http/body.ts';
import { textFaults } from '../kit/input-faults.ts';
import { mediaTypeOf } from '../kit/media-type.ts';

/**
 * Reads the body as JSON, and refuses characters that no text of a request may hold. hapi does not parse a body that is already set; by
 * itself it would refuse an oversize one only after reading all of it.
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
	// hapi types the payload as read-only; null means that there is none, and that hapi need not read it.
	(request as { payload: unknown }).payload = content === null || content.length === 0 ? none : parseBody(request, content);
}

function parseBody(request: Request, content: Buffer): unknown {
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	return parseJson(content, request.route.settings.plugins?.operation?.integers ?? 'rounded');
}
