// Creates and changes tools: which types a client may name, and how the tool's executor checks its config.

import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import {
	agentOfConfig,
	asGatewayError,
	type Core,
	checkByPlugin,
	clientSignal,
	configVersion,
	currentConfig,
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
	requirePermission,
	saveContext,
	storedTool,
	storeOf,
	type ToolChange,
	type ToolRow,
	toolConfig,
	toolLocation,
	unknownType,
	updateRenewed,
} from '../../../core/features.ts';
import { parametersOf } from './parameters.ts';

/** The body of a new tool; its type names the executor. */
export type ToolBody = Omit<NewTool, 'executor' | 'outputSchema' | 'followsAgent' | 'parameters'> & Partial<Pick<NewTool, 'parameters'>>;
/** The body of a change: null takes the parameters of the agent that the tool runs. */
export type ToolChanges = Omit<ToolChange, 'parameters' | 'followsAgent'> & { parameters?: JsonSchema | null };

export async function addTool(request: Request, { type, code = null, ...tool }: ToolBody, core: Core): Promise<ToolRow> {
	const creatable = core.registry.list('executor').filter((executor) => executor.creatable);
	if (!creatable.some(({ name }) => name === type)) {
		throw unknownType(
			'executor',
			creatable.map(({ name }) => name),
		);
	}
	if (tool.parameters) await checkParameters(request, tool.parameters, core);
	const { id: organizationId } = organizationOf(request);
	const id = randomUUID();
	const given = restored({ organizationId, id, name: tool.name, executor: type }, tool.executionConfig, {}, core);
	const config = await checkConfig(type, toolConfig({ code, executionConfig: given }), organizationId, core);
	if (agentOf(type, config, core) !== null) requirePermission(request, 'agents:execute');
	const parameters = await parametersOf({ organizationId, executor: type, config, given: tool.parameters }, core);
	const executionConfig = core.registry.seal('executor', type, given, core.secrets, toolLocation(organizationId, id));
	const created = {
		...tool,
		...parameters,
		type,
		executor: type,
		code,
		executionConfig,
		configVersion: configVersion(core.registry, 'executor', type),
	};
	return storeOf(request, core).tools.create(organizationId, id, created, core.agents.inputSchema);
}

/** The fields that a change of an imported tool must not set, since a re-import replaces them. */
const OF_THE_API = ['parameters', 'annotations', 'code', 'executionConfig'] as const;

export async function changeTool(request: Request, { parameters, ...change }: ToolChanges, core: Core): Promise<ToolRow> {
	const row = await core.store.tools.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('Tool');
	const given = { ...change, parameters };
	const foreign = OF_THE_API.find((field) => row.apiId !== null && given[field] !== undefined);
	if (foreign) throw invalid(`/${foreign}`, `${foreign} comes from the tool’s API; name, description and status may be changed.`);
	const bare = (['name', 'description'] as const).find((field) => row.imported === null && change[field] === null);
	if (bare) throw invalid(`/${bare}`, `${bare} must be a string: only tools of an API have an imported one.`);
	if (parameters) await checkParameters(request, parameters, core);
	const sealed = await changedConfig(row, change, core);
	if (startsAgent(row, { ...change, ...sealed }, core)) requirePermission(request, 'agents:execute');
	const followed = await changedParameters({ ...row, ...sealed, code: change.code ?? row.code }, row, parameters, core);
	const updated = await write(request, row, { ...change, ...sealed, ...followed }, core);
	if (!updated) throw notFound('Tool');
	return updated;
}

/** Tells whether a change makes an agent callable: the tool runs another one, or is active again. */
function startsAgent(row: ToolRow, change: ToolChange, core: Core): boolean {
	const agent = agentOf(row.executor, currentConfig(core.registry, storedTool({ ...row, ...change })), core);
	if (agent === null) return false;
	if (row.status !== 'active' && change.status === 'active') return true;
	return change.executionConfig !== undefined && agent !== agentOf(row.executor, currentConfig(core.registry, storedTool(row)), core);
}

/** Returns the id of the agent that a tool of this config runs; null when it runs none. */
const agentOf = (executor: string, config: JsonObject, { registry }: Core): string | null =>
	agentOfConfig(registry, executor, config)?.id ?? null;

/** Writes the changed columns; with them the config in its executor's version, its secrets sealed, unless the config was changed meanwhile. */
function write(request: Request, row: ToolRow, columns: ToolChange, core: Core): Promise<ToolRow | null> {
	const { organizationId, id, version } = row;
	const renewed = columns.executionConfig === undefined ? renewedColumns(row, core) : null;
	return updateRenewed(columns, renewed, { version, expected: expectedVersion(request) }, (values, ifVersion) =>
		storeOf(request, core).tools.update(organizationId, id, values, ifVersion, core.agents.inputSchema),
	);
}

/** Returns the config that the row should have; null when it has it already. */
function renewedColumns(row: ToolRow, { registry, secrets }: Core): Partial<ToolChange> | null {
	const { executor } = row;
	const { current, code } = currentColumns(row, registry);
	const executionConfig = registry.sealRest('executor', executor, current, secrets, toolLocation(row.organizationId, row.id));
	if (executionConfig === row.executionConfig) return null;
	const isUpgraded = current !== row.executionConfig;
	return { executionConfig, ...(isUpgraded && { code, configVersion: configVersion(registry, 'executor', executor) }) };
}

/** Returns the stored config in its executor's version, still sealed, with the code beside it. */
function currentColumns(row: ToolRow, registry: Core['registry']): { current: JsonObject; code: string | null } {
	const stored = storedTool(row);
	const config = currentConfig(registry, stored);
	if (config === stored.config) return { current: row.executionConfig, code: row.code };
	const { code, ...current } = config;
	return row.code !== null && typeof code === 'string' ? { current, code } : { current: config, code: row.code };
}

/** Returns the parameters that a change gives or takes from another agent; none where they stay. @throws validation_failed */
async function changedParameters(row: ToolRow, before: ToolRow, given: JsonSchema | null | undefined, core: Core): Promise<ToolChange> {
	const isSameConfig = row.executionConfig === before.executionConfig;
	if (given === undefined && (isSameConfig || !core.registry.get('executor', row.executor)?.agent)) return {};
	const config = currentConfig(core.registry, storedTool(row));
	const { organizationId, executor, parameters } = row;
	// The author's own parameters stay with another agent, which must exist all the same.
	const own = given === undefined && row.followsAgent === null ? parameters : given;
	return parametersOf({ organizationId, executor, config, given: own }, core);
}

async function changedConfig(row: ToolRow, change: ToolChange, core: Core): Promise<Pick<ToolChange, 'executionConfig' | 'configVersion'>> {
	if (change.executionConfig === undefined && change.code === undefined) return {};
	const { current } = currentColumns(row, core.registry);
	const executionConfig = change.executionConfig ? restored(row, change.executionConfig, current, core) : openedConfig(row, current, core);
	await checkConfig(row.executor, toolConfig({ code: change.code ?? row.code, executionConfig }), row.organizationId, core);
	if (change.executionConfig === undefined) return {};
	const place = toolLocation(row.organizationId, row.id);
	return {
		executionConfig: core.registry.seal('executor', row.executor, executionConfig, core.secrets, place),
		configVersion: configVersion(core.registry, 'executor', row.executor),
	};
}

type Sealing = Pick<ToolRow, 'organizationId' | 'id' | 'name' | 'executor'>;

/** Replaces each `••••` in the given config with the stored secret. @throws validation_failed, secret_unreadable */
const restored = (tool: Sealing, given: JsonObject, stored: JsonObject, { registry, secrets }: Core): JsonObject =>
	registry.restore('executor', tool.executor, given, { stored, at: '/executionConfig', secrets, location: namedToolLocation(tool) });

/** Checks the schema of the arguments. @throws validation_failed, rate_limited */
const checkParameters = (request: Request, parameters: JsonSchema, core: Core): Promise<void> =>
	core.argumentChecks.admit(parameters, organizationOf(request).id, clientSignal(request));

/** Checks the config with its executor. @returns it as the executor reads it @throws validation_failed, egress_refused */
async function checkConfig(type: string, config: JsonObject, organizationId: string, core: Core): Promise<JsonObject> {
	const parsed = parse(type, config, core);
	const context = saveContext(core, `executor:${type}`, organizationId);
	await checkByPlugin(core.registry, { kind: 'executor', name: type, config: parsed }, context);
	return parsed;
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
