// Tools (specification 4.7): those that users write and those that come from an API, and running one by hand.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	expectedVersion,
	type Feature,
	filterOf,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	removal,
	removalQuery,
	showVersion,
	storeOf,
	type ToolFilter,
	type ToolRow,
	words,
} from '../../../core/features.ts';
import { addTool, changeTool, type ToolBody, type ToolChanges } from './edit.ts';
import { executeTool } from './execute.ts';
import { presentTool, TOOL } from './present.ts';

const description = Joi.string().allow('').max(10_000).description('What the tool does, for models.');
const parameters = Joi.object().unknown().description('JSON Schema (2020-12) of the arguments; its root describes an object.');
const hint = Joi.boolean();
const annotations = Joi.object({
	title: Joi.string()
		.min(1)
		.max(120)
		.pattern(/^\S(?:[^\n\r]*\S)?$/, 'one line')
		.description('A short name for people.'),
	readOnlyHint: hint.description('A call changes nothing. Default false.'),
	destructiveHint: hint.description('A call may destroy or overwrite something. Default true, unless it only reads.'),
	idempotentHint: hint.description('The same call again has no further effect. Default false, unless it only reads.'),
	openWorldHint: hint.description('A call reaches beyond the organization’s own data. Default true.'),
}).description('MCP’s hints about what a call does, which `confirm: destructive` of an assignment goes by, too.');
const code = Joi.string().max(262_144).description('The source, for types that run code.');
const executionConfig = Joi.object().unknown().meta({ pluginConfig: 'executor' });
const type = Joi.string().max(64);

const PARAMETERS = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };

const CREATE = body({
	name: displayName.required(),
	description: description.default(''),
	type: type.required().meta({ plugin: 'executor' }).description('The executor of the tool.'),
	parameters: parameters.description(
		'JSON Schema (2020-12) of the arguments; its root describes an object. When absent, the input schema of the agent that the tool runs, also when that changes, or no arguments.',
	),
	annotations: annotations.default({}),
	code,
	executionConfig: executionConfig.default({}).description('The options of the type.'),
}).example({
	name: 'get_pet',
	description: 'Reads one pet by its id.',
	type: 'http',
	parameters: PARAMETERS,
	executionConfig: { method: 'GET', url: 'https://petstore.example.com/v1/pets/{id}' },
});

const OWN = 'For tools of an API, null restores the imported one.';

const UPDATE = body({
	name: displayName.allow(null).description(OWN),
	description: description.allow(null).description(`What the tool does, for models. ${OWN}`),
	parameters: parameters
		.allow(null)
		.description(
			'JSON Schema (2020-12) of the arguments; its root describes an object. Null takes the input schema of the agent that the tool runs, or no arguments.',
		),
	annotations,
	code,
	executionConfig: executionConfig.description(
		'The options of the type. A change replaces the whole object, but a secret given as `••••` keeps its stored value.',
	),
	status: Joi.string().valid('active', 'inactive').description('An inactive tool is in no gateway.'),
})
	.min(1)
	.example({ description: 'Reads one pet: name, kind and owner.', status: 'active' });

const FILTERS = {
	apiId: Joi.string().guid().description('Tools of this API.'),
	status: Joi.string().valid('active', 'inactive', 'removed'),
	q: words,
};

const typeFilter = ({ registry }: Core): Joi.Schema =>
	Joi.string()
		.valid(...registry.list('executor').flatMap(({ name, creatable }) => (creatable ? [name] : [])), 'api')
		.description('Tools of this type; `api`: of the operations of APIs.');

export default {
	kind: 'feature',
	api: 1,
	name: 'tools',
	summary: 'Tools of an organization: written by hand or made from an API, and executed on demand.',
	config: Joi.object({}),
	segments: ['tools', 'organizations', 'code'],
	register(server: Server, _config, core) {
		server.route([listTools(core), createTool(core), executeTool(core), getTool(core), updateTool(core), deleteTool(core)]);
	},
} satisfies Feature;

const listTools = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/organizations/{orgId}/tools',
		id: 'listTools',
		summary: 'Lists the tools of an organization.',
		need: 'tools:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { ...FILTERS, type: typeFilter(core) } }),
		answer: page('tools', TOOL),
		handler: async (request) => {
			const { id } = organizationOf(request);
			const { items, nextCursor } = await core.store.tools.list(id, pageOf(request), filterOf<ToolFilter>(request));
			return { tools: items.map((row) => presentTool(row, core)), nextCursor };
		},
	});

const createTool = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/organizations/{orgId}/tools',
		id: 'createTool',
		summary: 'Creates a tool.',
		need: 'tools:write',
		body: CREATE,
		answer: TOOL,
		status: 201,
		errors: ['egress_refused', 'upstream_timeout'],
		idempotent: true,
		versioned: true,
		// The body has passed CREATE.
		handler: async (request) => show(request, await addTool(request, request.payload as ToolBody, core), core),
	});

const getTool = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/tools/{id}',
		id: 'getTool',
		summary: 'Shows a tool.',
		need: 'tools:read',
		answer: TOOL,
		versioned: true,
		handler: async (request) => {
			const row = await core.store.tools.get(organizationOf(request).id, String(request.params['id']));
			if (!row) throw notFound('Tool');
			return show(request, row, core);
		},
	});

const updateTool = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/tools/{id}',
		id: 'updateTool',
		summary: 'Changes the given fields of a tool.',
		description:
			'For tools of an API, only name, description and status can be changed, which later imports leave alone. Null as name or ' +
			'description restores the imported one.',
		need: 'tools:write',
		body: UPDATE,
		answer: TOOL,
		errors: ['egress_refused', 'secret_unreadable', 'upstream_timeout'],
		versioned: true,
		// The body has passed UPDATE.
		handler: async (request) => show(request, await changeTool(request, request.payload as ToolChanges, core), core),
	});

const deleteTool = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/tools/{id}',
		id: 'deleteTool',
		summary: 'Removes a tool and its assignments to gateways.',
		need: 'tools:write',
		query: removalQuery,
		answer: removal('assignments'),
		errors: ['conflict'],
		versioned: true,
		handler: (request) => remove(request, core),
	});

function show(request: Request, row: ToolRow, core: Core) {
	showVersion(request, row.version);
	return presentTool(row, core);
}

async function remove(request: Request, core: Core) {
	const id = String(request.params['id']);
	// The query has passed `removalQuery`.
	const { ifUnused } = request.query as { ifUnused: boolean };
	const removed = await storeOf(request, core).tools.remove(organizationOf(request).id, id, ifUnused, expectedVersion(request));
	if (!removed) throw notFound('Tool');
	return { id, removed };
}
