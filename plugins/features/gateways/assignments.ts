// The tools of a gateway: assign, assign in bulk, list, list available ones, set options, remove.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AssignmentChange,
	type AssignmentSettings,
	body,
	type Core,
	filterOf,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	shape,
	storeOf,
	type TextFilter,
	words,
} from '../../../core/features.ts';
import { findGateway } from './find.ts';
import {
	ASSIGNMENT,
	AVAILABLE_TOOL,
	GATEWAY_TOOL,
	presentAssignment,
	presentAvailable,
	presentGatewayTool,
	REMOVED_ASSIGNMENT,
} from './present.ts';
import { BYTES, confirm, maxResultBytes } from './result-fields.ts';

const toolId = Joi.string().guid();
const EXAMPLE_ID = '5f0c6a52-8f0e-4d36-9c39-0d0c1a7e4f11';

const rateLimit = Joi.number()
	.integer()
	.min(1)
	.max(1_000_000)
	.allow(null)
	.description('Calls per minute that each caller may make of the tool through this gateway; null for no limit of its own.');

/** Options that may be given with the assignment, too. */
const SETTINGS = { rateLimit, maxResultBytes: maxResultBytes.description(`${BYTES} Null: as the gateway says.`), confirm };

const ASSIGN = body({ toolId: toolId.required(), ...SETTINGS }).example({ toolId: EXAMPLE_ID, confirm: 'destructive' });

const BULK = body({
	toolIds: Joi.array().items(toolId).unique().min(1).max(2000).required().description('All of them are assigned, or none.'),
}).example({ toolIds: [EXAMPLE_ID] });

const OPTIONS = body({
	...SETTINGS,
	name: Joi.string()
		.pattern(/^[A-Za-z0-9_-]{1,64}$/, 'a name of letters, digits, "_" and "-", at most 64')
		.allow(null)
		.description('The tool’s name in this gateway; null for the tool’s own name.'),
	description: Joi.string()
		.allow('', null)
		.max(10_000)
		.description('The tool’s description in this gateway; null for the tool’s own description.'),
})
	.min(1)
	.example({ rateLimit: 60, name: 'find_ticket', description: 'Finds a ticket by its number.' });

export const assignmentRoutes = (core: Core): ServerRoute[] => [
	listTools(core),
	listAvailable(core),
	assignTool(core),
	assignTools(core),
	updateTool(core),
	unassignTool(core),
];

const listTools = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways/{id}/tools',
		id: 'listGatewayTools',
		summary: 'Lists the tools of a gateway, as it exposes them.',
		need: 'gateway:read',
		query: listQuery(),
		answer: page('tools', GATEWAY_TOOL),
		handler: async (request) => {
			const { id, organizationId } = await findGateway(request, core);
			const { items, nextCursor } = await core.store.gateways.tools(organizationId, id, pageOf(request));
			return { tools: items.map(({ assignment, tool }) => presentGatewayTool(assignment, tool)), nextCursor };
		},
	});

const listAvailable = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways/{id}/tools/available',
		id: 'listAvailableTools',
		summary: 'Lists the active tools that are not assigned to the gateway.',
		need: 'gateway:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { q: words } }),
		answer: page('tools', AVAILABLE_TOOL),
		handler: async (request) => {
			const { id, organizationId } = await findGateway(request, core);
			const filter = filterOf<TextFilter>(request);
			const { items, nextCursor } = await core.store.gateways.available(organizationId, id, pageOf(request), filter);
			return { tools: items.map(presentAvailable), nextCursor };
		},
	});

const assignTool = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways/{id}/tools',
		id: 'assignTool',
		summary: 'Assigns a tool to a gateway; an existing assignment keeps the options that are not given.',
		description: 'A name that is taken in the gateway gets a suffix of eight hexadecimal digits.',
		need: 'gateway:write',
		body: ASSIGN,
		answer: ASSIGNMENT,
		status: 201,
		idempotent: true,
		handler: async (request) => {
			// The body has passed ASSIGN.
			const { toolId: wanted, ...settings } = request.payload as { toolId: string } & AssignmentSettings;
			const [row] = await assign(request, [wanted], core, settings);
			if (!row) throw notFound('Tool');
			return presentAssignment(row);
		},
	});

const assignTools = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways/{id}/tools/bulk',
		id: 'assignTools',
		summary: 'Assigns several tools to a gateway, all or none.',
		need: 'gateway:write',
		body: BULK,
		answer: shape({ tools: Joi.array().items(ASSIGNMENT) }),
		status: 201,
		idempotent: true,
		handler: async (request) => {
			// The body has passed BULK.
			const { toolIds } = request.payload as { toolIds: string[] };
			return { tools: (await assign(request, toolIds, core)).map(presentAssignment) };
		},
	});

const updateTool = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		// The specification writes `/gateways/:gatewayId/tools/:gatewayToolId`; OpenAPI allows one name only for the path, which the
		// removal shares.
		path: '/gateways/{id}/tools/{toolId}',
		id: 'updateGatewayTool',
		summary: 'Sets a tool’s name, description and options in a gateway.',
		description: '`toolId` is a `gatewayToolId` or the id of the tool.',
		need: 'gateway:write',
		body: OPTIONS,
		answer: GATEWAY_TOOL,
		errors: ['conflict'],
		handler: (request) => update(request, core),
	});

const unassignTool = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/gateways/{id}/tools/{toolId}',
		id: 'unassignTool',
		summary: 'Removes a tool from a gateway; `toolId` may be a `gatewayToolId` too.',
		need: 'gateway:write',
		answer: REMOVED_ASSIGNMENT,
		handler: async (request) => {
			const { id, toolId: either } = request.params as { id: string; toolId: string };
			const row = await storeOf(request, core).gateways.unassign(organizationOf(request).id, id, either);
			if (!row) throw notFound('Tool of the gateway');
			return { id: row.id, ...presentAssignment(row) };
		},
	});

const assign = (request: Request, toolIds: string[], core: Core, settings?: AssignmentSettings) =>
	storeOf(request, core).gateways.assign(organizationOf(request).id, String(request.params['id']), toolIds, settings);

async function update(request: Request, core: Core) {
	const { id: gatewayId, toolId: either } = request.params as { id: string; toolId: string };
	const { id: organizationId } = organizationOf(request);
	// The body has passed OPTIONS.
	const change = request.payload as AssignmentChange;
	const row = await storeOf(request, core).gateways.updateAssignment(organizationId, gatewayId, either, change);
	const tool = row && (await core.store.tools.get(organizationId, row.toolId));
	// The assignment went with its tool, which was removed meanwhile.
	if (!tool) throw notFound('Tool of the gateway');
	return presentGatewayTool(row, tool);
}
