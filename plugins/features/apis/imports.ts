// Imports descriptions. The body may be large: it is read raw and parsed in core's worker. Each import is a job; the request waits for it
// as long as its `Prefer` header says, and the job can be read afterwards.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiRow,
	accept,
	actorOf,
	type Core,
	claimKey,
	clientSignal,
	count,
	ERRORS,
	filterOf,
	GatewayError,
	hasEnded,
	IMPORT_BODY,
	type ImportJobRow,
	type ImportStatus,
	listQuery,
	mediaTypeOf,
	notFound,
	operation,
	page,
	pageOf,
	present,
	readBody,
	shape,
	showPreferences,
	storeOf,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { findApi } from './find.ts';
import { IMPORT_CHANGES, IMPORT_REPORT, presentSchema, SCHEMA } from './present.ts';
import { GENERATED } from './schemas.ts';

const IMPORT_BYTES = 64 * 1024 * 1024;
/** The longest wait, less than the minute after which proxies give up. */
const WAIT_MS = 55_000;
const MAX_WAIT_SECONDS = 300;
const LOOK_AGAIN_SECONDS = '1';

const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const satisfies ImportStatus[];

export const IMPORT = shape({
	id: uuid,
	apiId: uuid,
	status: Joi.string()
		.valid(...STATUSES)
		.description('An API has at most one import that is `queued` or `running`; the other values are final.'),
	phase: Joi.string()
		.valid('fetching', 'parsing', 'writing', 'tools')
		.allow(null)
		.description('The current phase. The description becomes visible when `writing` has ended.'),
	operations: count.description('Operations read so far.'),
	requestedBy: uuid.description('The user who started the import.'),
	error: shape({
		code: Joi.string().valid(...Object.keys(ERRORS).map((code) => code.toUpperCase())),
		message: text,
		details: Joi.array().items(shape({ path: text, message: text })),
	})
		.allow(null)
		.description('The error of a failed import, as a waiting request receives it.'),
	schemaId: uuid.allow(null).description('Id of the imported description; `/apis/{id}/schemas/{schemaId}` shows its report and changes.'),
	tools: GENERATED.allow(null),
	createdAt: timestamp,
	startedAt: timestamp.allow(null),
	finishedAt: timestamp.allow(null),
}).meta({ schema: 'ApiImport' });

export const presentImport = (job: ImportJobRow) =>
	present(IMPORT, job, { error: job.error && { ...job.error, code: job.error.code.toUpperCase() } });

export const importApiSchema = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/import-schema',
		id: 'importApiSchema',
		summary: 'Imports the API’s description, from a URL, as text or as several files.',
		description:
			'At most 64 MiB. All or nothing; importing the same again changes nothing. Operations that the description no longer has are ' +
			'kept as `removed`, and so are their tools with their assignments: they come back with the operation. Tools of operations ' +
			'that changed are updated, except for their names and texts that users wrote. The filters choose which operations become tools, ' +
			'with `generateTools`.\n\n' +
			'An import that takes longer than 55 seconds is answered with 202 and continues as a job, also when the service is restarted: `Location` shows ' +
			'it. `Prefer: respond-async` requests that at once, and `Prefer: wait=10` after 10 seconds, up to 300 (RFC 7240); `Preference-Applied` names the preference that was applied. Another ' +
			'import of the same API is waited for as long; then the answer is a 409 that names it. A client that disconnects before the answer cancels the import.',
		need: 'apis:write',
		body: IMPORT_BODY,
		bodyIs: 'unread',
		answer: shape({
			schema: SCHEMA,
			report: IMPORT_REPORT,
			changes: IMPORT_CHANGES,
			tools: GENERATED.optional(),
		}),
		accepted: IMPORT,
		errors: ['schema_invalid', 'egress_refused', 'conflict'],
		idempotent: true,
		slow: true,
		handler: async (request) => importSchema(request, await findApi(request, core), core),
	});

export const listApiImports = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis/{id}/imports',
		id: 'listApiImports',
		summary: 'Lists the imports of an API: the current one, and those that ended in the last 30 days.',
		need: 'apis:read',
		query: listQuery({ filters: { status: Joi.string().valid(...STATUSES) } }),
		answer: page('imports', IMPORT),
		handler: async (request) => {
			const api = await findApi(request, core);
			const filter = filterOf<{ status?: ImportStatus }>(request);
			const { items, nextCursor } = await core.store.imports.list(api.organizationId, api.id, pageOf(request), filter);
			return { imports: items.map(presentImport), nextCursor };
		},
	});

export const getApiImport = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/apis/{id}/imports/{importId}',
		id: 'getApiImport',
		summary: 'Shows the progress or result of an import.',
		need: 'apis:read',
		answer: IMPORT,
		handler: async (request) => presentImport(await findImport(request, core)),
	});

export const cancelApiImport = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/imports/{importId}/cancel',
		id: 'cancelApiImport',
		summary: 'Cancels an import; nothing of it is kept.',
		description:
			'Cancelling twice has the same result as once. An import that is already written is not undone: 409 from the phase `tools` on.',
		need: 'apis:write',
		answer: IMPORT,
		errors: ['conflict'],
		handler: async (request) => {
			const api = await findApi(request, core);
			const { imports } = storeOf(request, core);
			const job = await imports.cancel(api.organizationId, api.id, String(request.params['importId']));
			if (!job) throw notFound('Import');
			if (job.status === 'cancelled') return presentImport(job);
			const why = hasEnded(job) ? `has ${job.status} already` : 'is written already';
			throw new GatewayError('conflict', `The import ${why}: it can no longer be cancelled.`);
		},
	});

/** Finds the import that a path names. @throws not_found */
export async function findImport(request: Request, core: Core): Promise<ImportJobRow> {
	const api = await findApi(request, core);
	const job = await core.store.imports.get(api.organizationId, api.id, String(request.params['importId']));
	if (!job) throw notFound('Import');
	return job;
}

async function importSchema(request: Request, { id: apiId, organizationId }: ApiRow, core: Core) {
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	const actor = actorOf(request);
	const { isAsync, waitSeconds } = preferencesOf(String(request.raw.req.headers['prefer'] ?? ''));
	const waitMs = waitSeconds === null ? (isAsync ? 0 : WAIT_MS) : waitSeconds * 1000;
	const body = {
		maxBytes: Math.min(Number(request.raw.req.headers['content-length'] ?? IMPORT_BYTES), IMPORT_BYTES),
		read: async () => {
			const bytes = (await readBody(request.raw.req, IMPORT_BYTES)) ?? Buffer.alloc(0);
			await claimKey(request, bytes);
			return bytes;
		},
	};
	const job = await core.importJobs.run({ organizationId, apiId, actor, body, waitMs }, clientSignal(request), core.stopping);
	const isLeft = !hasEnded(job);
	showPreferences(request, [...(isAsync && isLeft ? ['respond-async'] : []), ...(waitSeconds === null ? [] : [`wait=${waitSeconds}`])]);
	if (isLeft) {
		accept(request, { location: `/apis/${apiId}/imports/${job.id}`, 'retry-after': LOOK_AGAIN_SECONDS });
		return presentImport(job);
	}
	return resultOf(job, core);
}

/** Returns the result of a job. @throws the job's error; conflict when the job was cancelled */
async function resultOf(job: ImportJobRow, core: Core) {
	if (job.error) throw new GatewayError(job.error.code, job.error.message, { details: job.error.details });
	if (job.status === 'cancelled') throw new GatewayError('conflict', 'The import was cancelled.');
	const schema = await core.store.apis.schema(job.organizationId, job.apiId, job.schemaId ?? '');
	if (!schema) throw notFound('API');
	return { schema: presentSchema(schema), report: schema.report, changes: schema.changes, ...(job.tools && { tools: job.tools }) };
}

interface Preferences {
	/** True when the answer is a 202 instead of the result: at once, or when the wait is over. */
	isAsync: boolean;
	/** The wait, limited to the longest. Null when the header gives none or is unreadable. */
	waitSeconds: number | null;
}

/** Reads the header `Prefer`. RFC 7240 §2: "If any preference is specified more than once, only the first instance is to be considered." */
function preferencesOf(prefer: string): Preferences {
	const given = new Map<string, string>();
	for (const preference of prefer.match(UP_TO_COMMA) ?? []) {
		const [, name = '', value = ''] = PREFERENCE.exec(preference) ?? [];
		if (!given.has(name.toLowerCase())) given.set(name.toLowerCase(), value);
	}
	const wait = given.get('wait') ?? '';
	const waitSeconds = /^\d{1,9}$/.test(wait) ? Math.min(Number(wait), MAX_WAIT_SECONDS) : null;
	return { isAsync: given.get('respond-async') === '', waitSeconds };
}

const UP_TO_COMMA = /(?:"(?:\\.|[^"\\])*"|[^,"])+/g;
/** One preference; its parameters are ignored. */
const PREFERENCE = /^\s*([^\s=;]+)\s*(?:=\s*"?([^\s";]*))?/;
