// Creating and changing tools: what a client may name as type, and what its executor says of the config.

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
	namedPlace,
	notFound,
	openedConfig,
	organizationOf,
	saveContext,
	storeOf,
	type ToolRow,
	toolConfig,
	toolPlace,
	unknownType,
} from '../../../core/features.ts';

/** Null takes users' own words away, so that the imported ones are seen again. */
export type ToolEdit = Partial<Omit<ToolBody, 'name' | 'description'>> & { name?: string | null; description?: string | null };

export interface ToolBody {
	name: string;
	description: string;
	type: string;
	parameters: JsonSchema;
	code?: string;
	executionConfig: JsonObject;
	status?: string;
}

export async function addTool(
	request: Request,
	{ type, code = null, ...tool }: Omit<ToolBody, 'code'> & { code?: string | null },
	core: Core,
) {
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
	const executionConfig = core.registry.seal('executor', type, given, core.secrets, toolPlace(organizationId, id));
	const { name, description, parameters } = tool;
	return storeOf(request, core).tools.create(organizationId, id, {
		name,
		description,
		type,
		executor: type,
		parameters,
		outputSchema: null,
		annotations: {},
		code,
		executionConfig,
	});
}

/** Of a tool that came from an API, only what a re-import leaves alone. */
const OF_THE_API = ['parameters', 'code', 'executionConfig'] as const;

export async function changeTool(request: Request, change: ToolEdit, core: Core): Promise<ToolRow> {
	const row = await core.store.tools.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('Tool');
	const foreign = OF_THE_API.find((field) => row.apiId !== null && change[field] !== undefined);
	if (foreign) throw invalid(`/${foreign}`, `${foreign} comes from the tool’s API; name, description and status may be changed.`);
	const bare = (['name', 'description'] as const).find((field) => row.imported === null && change[field] === null);
	if (bare) throw invalid(`/${bare}`, `${bare} must be a string: only a tool of an API has an imported one to go back to.`);
	if (change.parameters) await checkParameters(request, change.parameters, core);
	const sealed = await changedConfig(row, change, core);
	const updated = await write(request, row, { ...change, ...sealed }, core);
	if (!updated) throw notFound('Tool');
	return updated;
}

type Columns = Parameters<Core['store']['tools']['update']>[2];

/** With the secrets sealed that lie open in its config, unless that is another by now. */
async function write(request: Request, row: ToolRow, columns: Columns, { registry, secrets, ...core }: Core): Promise<ToolRow | null> {
	const { organizationId, id, executor, version } = row;
	const expected = expectedVersion(request);
	const update = (values: Columns, ifVersion: number | undefined) =>
		storeOf(request, core).tools.update(organizationId, id, values, ifVersion);
	const executionConfig = registry.sealRest('executor', executor, row.executionConfig, secrets, toolPlace(organizationId, id));
	const isOpen = columns.executionConfig === undefined && executionConfig !== row.executionConfig;
	if (!isOpen || (expected ?? version) !== version) return update(columns, expected);
	try {
		return await update({ ...columns, executionConfig }, version);
	} catch (error) {
		if (expected !== undefined || asGatewayError(error)?.code !== 'precondition_failed') throw error;
		return update(columns, expected);
	}
}

async function changedConfig(row: ToolRow, change: ToolEdit, core: Core): Promise<{ executionConfig?: JsonObject }> {
	if (change.executionConfig === undefined && change.code === undefined) return {};
	const executionConfig = change.executionConfig
		? restored(row, change.executionConfig, row.executionConfig, core)
		: openedConfig(row, row.executionConfig, core);
	await checkConfig(row.executor, toolConfig({ code: change.code ?? row.code, executionConfig }), row.organizationId, core);
	if (change.executionConfig === undefined) return {};
	const place = toolPlace(row.organizationId, row.id);
	return { executionConfig: core.registry.seal('executor', row.executor, executionConfig, core.secrets, place) };
}

type Sealing = Pick<ToolRow, 'organizationId' | 'id' | 'name' | 'executor'>;

/** What is given, with the stored secrets where it says `••••`. @throws validation_failed, secret_unreadable */
const restored = (tool: Sealing, given: JsonObject, stored: JsonObject, { registry, secrets }: Core): JsonObject =>
	registry.restore('executor', tool.executor, given, { stored, at: '/executionConfig', secrets, place: namedPlace(tool) });

/** @throws validation_failed, rate_limited */
const checkParameters = (request: Request, parameters: JsonSchema, core: Core): Promise<void> =>
	core.argumentChecks.admit(parameters, organizationOf(request).id, clientSignal(request));

/** @throws validation_failed, egress_refused */
async function checkConfig(type: string, config: JsonObject, organizationId: string, core: Core): Promise<void> {
	const parsed = parse(type, config, core);
	await core.registry.get('executor', type)?.check?.(parsed, saveContext(core, organizationId));
}

function parse(type: string, config: JsonObject, core: Core): JsonObject {
	try {
		return core.registry.parse('executor', type, config, '/executionConfig');
	} catch (error) {
		throw blameCode(error);
	}
}

/** To the executor `code` is a part of its config; in the body it stands beside that. */
function blameCode(error: unknown): unknown {
	const known = asGatewayError(error);
	if (!known?.details.some(({ path }) => path === '/executionConfig/code')) return error;
	const details = known.details.map((detail) => (detail.path === '/executionConfig/code' ? { ...detail, path: '/code' } : detail));
	return new GatewayError(known.code, known.message, { details, cause: error });
}
