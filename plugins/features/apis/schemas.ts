// Importing a description and generating tools from its operations. The body of an import may be large: it is taken raw
// and parsed in core's worker.

import type { Request } from '@hapi/hapi';
import {
	type ApiRow,
	body,
	type Core,
	clientSignal,
	GatewayError,
	OPERATION_FILTERS,
	type OperationFilter,
	readBody,
	storeOf,
} from '../../../core/index.ts';
import { presentSchema } from './present.ts';

const IMPORT_BYTES = 64 * 1024 * 1024;

/** All optional: `{}` makes a tool of every operation, up to 2,000. */
export const FILTERS = body(OPERATION_FILTERS);

export async function importSchema(request: Request, api: ApiRow, core: Core) {
	const type = request.raw.req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	const content = await readBody(request.raw.req, IMPORT_BYTES);
	const writing = storeOf(request, core);
	const imported = await core.imports.importSchema(writing, api, content ?? Buffer.alloc(0), clientSignal(request));
	const { schema, changes, request: asked } = imported;
	const tools = asked.generateTools ? await core.imports.generateTools(writing, api, asked.filter) : null;
	return { schema: presentSchema(schema), report: schema.report, changes, ...(tools && { tools }) };
}

export function generateTools(request: Request, api: ApiRow, core: Core) {
	return core.imports.generateTools(storeOf(request, core), api, request.payload as OperationFilter);
}
