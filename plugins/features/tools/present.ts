// Shows tools: the shape beside the function that fills it. Secret fields of their configs are never shown.

import Joi from 'joi';
import {
	type Core,
	type JsonObject,
	jsonObject,
	present,
	shape,
	shownConfig,
	storedTool,
	type ToolRow,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';

const hint = Joi.boolean().optional();

export const TOOL = shape({
	id: uuid,
	name: Joi.string(),
	description: text,
	imported: shape({ name: Joi.string(), description: text })
		.allow(null)
		.description('The imported texts, before changes by users; null for tools that were written by hand.'),
	type: Joi.string().description('The executor of the tool; `api`: an operation of an API.'),
	parameters: jsonObject.description(
		'JSON Schema (2020-12) of the arguments. Those that a stored credential of the API provides are hidden from callers of the tool.',
	),
	outputSchema: jsonObject.allow(null).description('JSON Schema of the result; null where none is promised.'),
	followsAgent: uuid.allow(null).description('The agent whose input schema the parameters are; null: they are the tool’s own.'),
	annotations: shape({
		title: text.optional(),
		readOnlyHint: hint,
		destructiveHint: hint,
		idempotentHint: hint,
		openWorldHint: hint,
	}).description('MCP’s hints about what a call does.'),
	apiId: uuid.allow(null),
	operationId: uuid.allow(null).description('The `id` of the operation that the tool was made from.'),
	bodies: Joi.string()
		.valid('nested', 'flat')
		.optional()
		.description('How the request body is represented in the arguments; only for tools made from an operation.'),
	code: text.optional(),
	executionConfig: jsonObject.description(
		'The options of the type. Secrets are left out; in lists and maps, such as headers, they are shown as `••••`.',
	),
	status: Joi.string().valid('active', 'inactive', 'removed').description('`removed`: the API’s description no longer has the operation.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'Tool' });

export const presentTool = (row: ToolRow, { registry, secrets }: Core) =>
	present(TOOL, row, {
		bodies: row.operationId === null ? undefined : row.bodies,
		code: row.code ?? undefined,
		executionConfig: shownExecution(row, registry, secrets),
	});

/** `code` is shown beside the config. */
function shownExecution(row: ToolRow, registry: Core['registry'], secrets: Core['secrets']): JsonObject {
	const shown = shownConfig(registry, storedTool(row), secrets);
	if (row.code === null) return shown;
	const { code: _code, ...config } = shown;
	return config;
}
