// Tools (specification 4.7): those that users write and those that come from an API, and running one by hand.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	clientSignal,
	displayName,
	type Feature,
	type Json,
	needs,
	notFound,
	organizationOf,
	pageOf,
	pageQuery,
	type RunResult,
	removalQuery,
	storeOf,
	success,
	type ToolFilter,
	type ToolRow,
	userIdOf,
} from '../../../core/index.ts';
import { createTool, type ToolBody, updateTool } from './edit.ts';

const description = Joi.string().allow('').max(10_000);
const CREATE = body({
	name: displayName.required(),
	description: description.default(''),
	type: Joi.string().max(64).required(),
	parameters: Joi.object().unknown().default({ type: 'object', properties: {} }),
	code: Joi.string().max(262_144),
	executionConfig: Joi.object().unknown().default({}),
});
const UPDATE = body({
	name: displayName,
	description,
	parameters: Joi.object().unknown(),
	code: Joi.string().max(262_144),
	executionConfig: Joi.object().unknown(),
	status: Joi.string().valid('active', 'inactive'),
}).min(1);
const EXECUTE = body({ parameters: Joi.object().unknown().default({}) });

export default {
	kind: 'feature',
	name: 'tools',
	summary: 'Tools of an organization: written by hand or made from an API, and executed on demand.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		const inPath = { organization: 'path' } as const;
		server.route([
			{
				method: 'GET',
				path: '/organizations/{orgId}/tools',
				options: {
					...needs('tools:read', inPath),
					validate: { query: pageQuery({ apiId: Joi.string().guid(), type: Joi.string().max(64), status: Joi.string().max(64) }) },
				},
				handler: async (request) => success(await list(request, core)),
			},
			{
				method: 'POST',
				path: '/organizations/{orgId}/tools',
				options: { ...needs('tools:write', inPath), validate: { payload: CREATE } },
				handler: async (request, h) => {
					const row = await createTool(request, request.payload as ToolBody, core);
					return h.response(success(presentTool(row, core))).code(201);
				},
			},
			{
				method: 'POST',
				path: '/organizations/{orgId}/tools/{id}/execute',
				options: { ...needs('tools:execute', inPath), validate: { payload: EXECUTE }, timeout: { server: false } },
				handler: async (request) => success(await execute(request, core)),
			},
			{
				method: 'GET',
				path: '/tools/{id}',
				options: needs('tools:read'),
				handler: async (request) => {
					const row = await core.store.tools.get(organizationOf(request).id, String(request.params['id']));
					if (!row) throw notFound('Tool');
					return success(presentTool(row, core));
				},
			},
			{
				method: 'PATCH',
				path: '/tools/{id}',
				options: { ...needs('tools:write'), validate: { payload: UPDATE } },
				handler: async (request) => {
					const row = await updateTool(request, request.payload as Partial<ToolBody>, core);
					return success(presentTool(row, core));
				},
			},
			{
				method: 'DELETE',
				path: '/tools/{id}',
				options: { ...needs('tools:write'), validate: { query: removalQuery } },
				handler: async (request) => success(await remove(request, core)),
			},
		]);
	},
} satisfies Feature;

async function list(request: Request, core: Core) {
	const { apiId, type, status } = request.query as ToolFilter;
	const filter: ToolFilter = { ...(apiId && { apiId }), ...(type && { type }), ...(status && { status }) };
	const { items, nextCursor } = await core.store.tools.list(organizationOf(request).id, pageOf(request), filter);
	return { tools: items.map((row) => presentTool(row, core)), nextCursor };
}

async function remove(request: Request, core: Core) {
	const id = String(request.params['id']);
	const { ifUnused } = request.query as { ifUnused: boolean };
	const removed = await storeOf(request, core).tools.remove(organizationOf(request).id, id, ifUnused);
	if (!removed) throw notFound('Tool');
	return { id, removed };
}

/** A run that failed is an answer, not an error (decisions, 8). */
async function execute(request: Request, core: Core) {
	const { parameters } = request.payload as { parameters: Json };
	const caller = {
		method: 'management',
		subject: `user:${userIdOf(request)}`,
		userId: userIdOf(request),
		scopes: ['tools:read', 'tools:execute'] as const,
	};
	const run = await core.invoker.execute(organizationOf(request).id, String(request.params['id']), parameters, {
		caller,
		signal: clientSignal(request),
	});
	if (!run.isError) return { result: plainResult(run), duration: run.durationMs, status: 'success' };
	return { result: null, duration: run.durationMs, status: 'failed', error: failure(run) };
}

/** Data where there is data, else the text, else the blocks as they are. */
function plainResult({ structured, content }: RunResult) {
	if (structured !== undefined) return structured;
	const [first, ...others] = content;
	return first?.type === 'text' && others.length === 0 ? first.text : content;
}

function failure({ error, content }: RunResult) {
	const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
	return { code: (error?.code ?? 'tool_error').toUpperCase(), message: error?.message ?? text };
}

function presentTool(row: ToolRow, core: Core) {
	const {
		id,
		name,
		description: text,
		type,
		parameters,
		outputSchema,
		annotations,
		apiId,
		operationId,
		code,
		status,
		createdAt,
		updatedAt,
	} = row;
	return {
		id,
		name,
		description: text,
		type,
		parameters,
		outputSchema,
		annotations,
		apiId,
		operationId,
		...(code !== null && { code }),
		executionConfig: core.registry.redact('executor', row.executor, row.executionConfig),
		status,
		createdAt,
		updatedAt,
	};
}
