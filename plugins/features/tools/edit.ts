// Creates and changes tools: which types a client may name, and how the tool's executor checks its config.

import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import {
	asGatewayError,
	type Core,
	clientSignal,
	expectedVersion,
	GatewayError,
	invalid,
	type JsonObject,
	type JsonSchema,
	type NewTool,
	namedToolLocation,
	notFound,
	openedConfig,
	organizationOf,
	saveContext,
	storeOf,
	type ToolChange,
	type ToolRow,
	toolConfig,
	toolLocation,
	unknownType,
} from '../../../core/features.ts';

/** The body of a new tool; its type names the executor. */
export type ToolBody = Omit<NewTool, 'executor' | 'outputSchema' | 'annotations'>;

export async function addTool(request: Request, { type, code = null, ...tool }: ToolBody, core: Core): Promise<ToolRow> {
	const creatable = core.registry.list('executor').filter((executor) => executor.creatable);
	if (!creatable.some(({ name }) => name === type)) {
		throw unknownType(
			'executor',
			creatable.map(({ name }) => name),
		);
	}
	await checkParameters(request, tool.parameters, core);
	const { id: organizationId } = organizationOf(request);
	const id = randomUUID();
	const given = restored({ organizationId, id, name: tool.name, executor: type }, tool.executionConfig, {}, core);
	await checkConfig(type, toolConfig({ code, executionConfig: given }), organizationId, core);
	const executionConfig = core.registry.seal('executor', type, given, core.secrets, toolLocation(organizationId, id));
	const created = { ...tool, type, executor: type, annotations: {}, code, executionConfig };
	return storeOf(request, core).tools.create(organizationId, id, created);
}

/** The fields that a change of an imported tool must not set, since a re-import replaces them. */
const OF_THE_API = ['parameters', 'code', 'executionConfig'] as const;

export async function changeTool(request: Request, change: ToolChange, core: Core): Promise<ToolRow> {
	const row = await core.store.tools.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('Tool');
	const foreign = OF_THE_API.find((field) => row.apiId !== null && change[field] !== undefined);
	if (foreign) throw invalid(`/${foreign}`, `${foreign} comes from the tool’s API; name, description and status may be changed.`);
	const bare = (['name', 'description'] as const).find((field) => row.imported === null && change[field] === null);
	if (bare) throw invalid(`/${bare}`, `${bare} must be a string: only tools of an API have an imported one.`);
	if (change.parameters) await checkParameters(request, change.parameters, core);
	const sealed = await changedConfig(row, change, core);
	const updated = await write(request, row, { ...change, ...sealed }, core);
	if (!updated) throw notFound('Tool');
	return updated;
}

/** Writes the changed columns with the secrets of the config sealed, unless the config was changed meanwhile. */
async function write(request: Request, row: ToolRow, columns: ToolChange, { registry, secrets, ...core }: Core): Promise<ToolRow | null> {
	const { organizationId, id, executor, version } = row;
	const expected = expectedVersion(request);
	const update = (values: ToolChange, ifVersion: number | undefined) =>
		storeOf(request, core).tools.update(organizationId, id, values, ifVersion);
	const executionConfig = registry.sealRest('executor', executor, row.executionConfig, secrets, toolLocation(organizationId, id));
	const isOpen = columns.executionConfig === undefined && executionConfig !== row.executionConfig;
	if (!isOpen || (expected ?? version) !== version) return update(columns, expected);
	try {
		return await update({ ...columns, executionConfig }, version);
	} catch (error) {
		if (expected !== undefined || asGatewayError(error)?.code !== 'precondition_failed') throw error;
		return update(columns, expected);
	}
}

async function changedConfig(row: ToolRow, change: ToolChange, core: Core): Promise<{ executionConfig?: JsonObject }> {
	if (change.executionConfig === undefined && change.code === undefined) return {};
	const executionConfig = change.executionConfig
		? restored(row, change.executionConfig, row.executionConfig, core)
		: openedConfig(row, row.executionConfig, core);
	await checkConfig(row.executor, toolConfig({ code: change.code ?? row.code, executionConfig }), row.organizationId, core);
	if (change.executionConfig === undefined) return {};
	const place = toolLocation(row.organizationId, row.id);
	return { executionConfig: core.registry.seal('executor', row.executor, executionConfig, core.secrets, place) };
}

type Sealing = Pick<ToolRow, 'organizationId' | 'id' | 'name' | 'executor'>;

/** Replaces each `••••` in the given config with the stored secret. @throws validation_failed, secret_unreadable */
const restored = (tool: Sealing, given: JsonObject, stored: JsonObject, { registry, secrets }: Core): JsonObject =>
	registry.restore('executor', tool.executor, given, { stored, at: '/executionConfig', secrets, location: namedToolLocation(tool) });

/** Checks the schema of the arguments. @throws validation_failed, rate_limited */
const checkParameters = (request: Request, parameters: JsonSchema, core: Core): Promise<void> =>
	core.argumentChecks.admit(parameters, organizationOf(request).id, clientSignal(request));

/** Checks the config with its executor. @throws validation_failed, egress_refused */
async function checkConfig(type: string, config: JsonObject, organizationId: string, core: Core): Promise<void> {
	const parsed = parse(type, config, core);
	await core.registry.get('executor', type)?.check?.(parsed, saveContext(core, organizationId, `executor:${type}`));
}

function parse(type: string, config: JsonObject, core: Core): JsonObject {
	try {
		return core.registry.parse('executor', type, config, '/executionConfig');
	} catch (error) {
		throw blameCode(error);
	}
}

/** Moves a fault of `code` to where the body has it: beside the config, while executors read it as a part of it. */
function blameCode(error: unknown): unknown {
	const known = asGatewayError(error);
	if (!known?.details.some(({ path }) => path === '/executionConfig/code')) return error;
	const details = known.details.map((detail) => (detail.path === '/executionConfig/code' ? { ...detail, path: '/code' } : detail));
	return new GatewayError(known.code, known.message, { details, cause: error });
}
