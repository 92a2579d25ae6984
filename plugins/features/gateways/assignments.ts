// The tools of a gateway: assign, bulk assign, list, list what is available, options, remove.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AssignmentRow,
	body,
	type Core,
	needs,
	notFound,
	organizationOf,
	pageOf,
	pageQuery,
	storeOf,
	success,
	type ToolRow,
} from '../../../core/index.ts';

const toolId = Joi.string().guid();
const ASSIGN = body({ toolId: toolId.required() });
const BULK = body({ toolIds: Joi.array().items(toolId).unique().min(1).max(2000).required() });
const OPTIONS = body({ rateLimit: Joi.number().integer().min(1).max(1_000_000).allow(null).required() });

export function assignmentRoutes(core: Core): ServerRoute[] {
	const { gateways } = core.store;
	return [
		{
			method: 'GET',
			path: '/gateways/{id}/tools',
			options: { ...needs('gateway:read'), validate: { query: pageQuery() } },
			handler: async (request) => {
				const { id: organizationId } = organizationOf(request);
				const id = String(request.params['id']);
				if (!(await gateways.get(organizationId, id))) throw notFound('Gateway');
				const { items, nextCursor } = await gateways.tools(organizationId, id, pageOf(request));
				return success({
					tools: items.map(({ assignment, tool }) => ({ ...presentAssignment(assignment), ...presentTool(tool) })),
					nextCursor,
				});
			},
		},
		{
			method: 'GET',
			path: '/gateways/{id}/tools/available',
			options: { ...needs('gateway:read'), validate: { query: pageQuery() } },
			handler: async (request) => {
				const { id: organizationId } = organizationOf(request);
				const id = String(request.params['id']);
				if (!(await gateways.get(organizationId, id))) throw notFound('Gateway');
				const { items, nextCursor } = await gateways.available(organizationId, id, pageOf(request));
				return success({ tools: items.map((row) => ({ id: row.id, name: row.name, ...presentTool(row) })), nextCursor });
			},
		},
		{
			method: 'POST',
			path: '/gateways/{id}/tools',
			options: { ...needs('gateway:write'), validate: { payload: ASSIGN } },
			handler: async (request, h) => {
				const { toolId: wanted } = request.payload as { toolId: string };
				const [row] = await storeOf(request, core).gateways.assign(organizationOf(request).id, String(request.params['id']), [wanted]);
				if (!row) throw notFound('Tool');
				return h.response(success(presentAssignment(row))).code(201);
			},
		},
		{
			method: 'POST',
			path: '/gateways/{id}/tools/bulk',
			options: { ...needs('gateway:write'), validate: { payload: BULK } },
			handler: async (request, h) => {
				const { toolIds } = request.payload as { toolIds: string[] };
				const rows = await storeOf(request, core).gateways.assign(organizationOf(request).id, String(request.params['id']), toolIds);
				return h.response(success({ tools: rows.map(presentAssignment) })).code(201);
			},
		},
		{
			method: 'PATCH',
			path: '/gateways/{gatewayId}/tools/{gatewayToolId}',
			options: { ...needs('gateway:write'), validate: { payload: OPTIONS } },
			handler: async (request) => {
				const { gatewayId, gatewayToolId } = request.params as { gatewayId: string; gatewayToolId: string };
				const change = request.payload as { rateLimit: number | null };
				const row = await storeOf(request, core).gateways.updateAssignment(organizationOf(request).id, gatewayId, gatewayToolId, change);
				if (!row) throw notFound('Tool of the gateway');
				return success(presentAssignment(row));
			},
		},
		{
			method: 'DELETE',
			path: '/gateways/{id}/tools/{toolId}',
			options: needs('gateway:write'),
			handler: async (request) => {
				const { id, toolId: either } = request.params as { id: string; toolId: string };
				const row = await storeOf(request, core).gateways.unassign(organizationOf(request).id, id, either);
				if (!row) throw notFound('Tool of the gateway');
				return success({ id: row.id, ...presentAssignment(row) });
			},
		},
	];
}

const presentAssignment = ({ id, toolId: tool, name, rateLimit, createdAt }: AssignmentRow) => ({
	gatewayToolId: id,
	toolId: tool,
	name,
	rateLimit,
	createdAt,
});

const presentTool = ({ description, type, parameters, status }: ToolRow) => ({ description, type, parameters, status });
