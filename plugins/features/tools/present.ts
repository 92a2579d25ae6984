// How tools are shown: the shape, and what fills it. Secret fields of their configs never are.

import Joi from 'joi';
import { type Core, jsonObject, present, shape, type ToolRow, text, timestamp, uuid } from '../../../core/features.ts';

const hint = Joi.boolean().optional();

export const TOOL = shape({
	id: uuid,
	name: Joi.string(),
	description: text,
	imported: shape({ name: Joi.string(), description: text })
		.allow(null)
		.description('What the API’s description says, whatever users made of it; null for tools that were written by hand.'),
	type: Joi.string().description('What runs it; `api` where an API’s operation does.'),
	parameters: jsonObject.description(
		'JSON Schema (2020-12) of the arguments. Those in whose place a stored credential of the API goes are no arguments to who calls the tool.',
	),
	outputSchema: jsonObject.allow(null).description('JSON Schema of the result; null where none is promised.'),
	annotations: shape({
		title: text.optional(),
		readOnlyHint: hint,
		destructiveHint: hint,
		idempotentHint: hint,
		openWorldHint: hint,
	}).description('MCP’s hints of what a call does.'),
	apiId: uuid.allow(null),
	operationId: uuid.allow(null).description('The `id` of the operation that it was made of.'),
	bodies: Joi.string()
		.valid('nested', 'flat')
		.optional()
		.description('How the body of the request was asked to lie among the arguments; of tools that an API’s operation was made into.'),
	code: text.optional(),
	executionConfig: jsonObject.description('As its type asks for. Secrets are left out; of headers that hold one `••••` is shown.'),
	status: Joi.string().valid('active', 'inactive', 'removed').description('`removed`: its API’s description does not have it any more.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'Tool' });

export const presentTool = (row: ToolRow, { registry }: Core) =>
	present(TOOL, row, {
		bodies: row.operationId === null ? undefined : row.bodies,
		code: row.code ?? undefined,
		executionConfig: registry.redact('executor', row.executor, row.executionConfig),
	});
