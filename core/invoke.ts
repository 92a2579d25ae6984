// The one way to run a tool, whatever asked for it: validate the arguments, execute under a deadline, record.
// Finding and allowing happen before (`call.ts`), on the shelf of what the caller can reach.

import { type CallParts, NO_IDENTITY, PluginCall, type Services } from './call.ts';
import type { Api, Caller, Json, JsonObject, Tool, ToolExecutor, ToolResult } from './contracts.ts';
import { asGatewayError, type ErrorCode, GatewayError, notFound } from './errors.ts';
import type { LaneApi } from './lane.ts';
import { LaneRun } from './lane-run.ts';
import { laneOf } from './lanes.ts';
import type { Recorder } from './recorder.ts';
import type { Registry } from './registry.ts';
import { type ArgumentCheck, compileArguments, invalidArguments } from './schemas.ts';
import type { Secrets } from './secrets.ts';
import type { ApiRow, CredentialRow, ToolRow } from './store.ts';

/** The specification's timeout of an execution, for tools whose executor sets none. */
const DEADLINE_MS = 120_000;
const COMPILED = 5000;

/** Calls of an assigned tool that one caller may make. */
export interface ToolLimit {
	assignmentId: string;
	perMinute: number;
}

/** A tool with all that running it needs; what is costly is made when it is first run. */
export interface ToolEntry {
	tool: Tool;
	api: Api | null;
	credentials: readonly CredentialRow[];
	/** Which its calls go through; null: none. */
	lane: LaneApi | null;
	/** Of this gateway; null: none. */
	limit: ToolLimit | null;
	/** @throws not_implemented when its executor is not loaded */
	ready(): { executor: ToolExecutor; config: JsonObject };
}

export interface Invoker {
	/** @param around.name that the gateway exposes, as `around.description`; the tool's own without one */
	prepare(
		row: ToolRow,
		around: {
			name?: string;
			description?: string | null;
			api: ApiRow | null;
			credentials: readonly CredentialRow[];
			limit?: ToolLimit | null;
		},
	): ToolEntry;
	/** A run that failed is a result with `isError` and `error`. @throws validation_failed, unavailable */
	run(entry: ToolEntry, args: Json, parts: CallParts & { caller: Caller }): Promise<RunResult>;
	/** Over the management API. @throws not_found */
	execute(
		organizationId: string,
		toolId: string,
		args: Json,
		by: { caller: Caller; signal: AbortSignal },
	): Promise<RunResult & { durationMs: number }>;
}

/** `error` says why a run failed; it is absent when the tool itself reported the failure in its content. */
export type RunResult = ToolResult & { error?: { code: ErrorCode; message: string } };

export interface InvokerParts {
	services: () => Services;
	registry: Registry;
	secrets: Secrets;
	recorder: Recorder;
}

/** Of faults of the caller or of ours the caller is told by an error; of faults of the run, by its result. */
const THROWN: readonly ErrorCode[] = ['validation_failed', 'tool_not_found', 'insufficient_scope', 'unavailable', 'not_implemented'];

export function createInvoker(parts: InvokerParts): Invoker {
	const compiled = new Map<string, ArgumentCheck>();
	const checkOf = (tool: Tool): ArgumentCheck => {
		const key = `${tool.id}:${tool.version}`;
		const known = compiled.get(key);
		if (known) return known;
		const check = compileArguments(tool.parameters);
		compiled.set(key, check);
		if (compiled.size > COMPILED) compiled.delete(compiled.keys().next().value ?? key);
		return check;
	};
	const invoker: Invoker = {
		prepare: (row, around) => prepare(row, around, parts),
		async run(entry, args, callParts) {
			const { executor, config } = entry.ready();
			const complete = validate(args, checkOf(entry.tool));
			const started = performance.now();
			const result = await underDeadline(callParts.signal, (signal) => {
				const services = parts.services();
				const lane = entry.lane && new LaneRun({ lanes: services.lanes, api: entry.lane, signal, deadlineMs: DEADLINE_MS });
				const around = { ...callParts, plugin: `executor:${executor.name}`, entry, shelf: null, signal, lane };
				const run = attempt(executor, { args: complete, config, call: new PluginCall(services, around) }, services.log);
				return lane ? run.finally(() => lane.end()) : run;
			});
			record(parts.recorder, { entry, callParts, result, durationMs: performance.now() - started });
			return result;
		},
		async execute(organizationId, toolId, args, by) {
			const entry = await findTool(organizationId, toolId, parts);
			const started = performance.now();
			const around = {
				plugin: 'management',
				organizationId,
				gateway: null,
				shelf: null,
				identity: NO_IDENTITY,
				entry: null,
				listener: null,
			};
			const result = await invoker.run(entry, args, { ...around, ...by });
			return { ...result, durationMs: Math.round(performance.now() - started) };
		},
	};
	return invoker;
}

function prepare(row: ToolRow, around: Parameters<Invoker['prepare']>[1], { registry, secrets }: InvokerParts): ToolEntry {
	let made: ReturnType<ToolEntry['ready']> | null = null;
	return {
		tool: describeTool(row, around),
		api: around.api,
		credentials: around.credentials,
		lane: laneOf(around.api),
		limit: around.limit ?? null,
		ready() {
			made ??= { executor: executorOf(row, registry), config: openConfig(row, registry, secrets) };
			return made;
		},
	};
}

function executorOf(row: ToolRow, registry: Registry): ToolExecutor {
	const executor = registry.get('executor', row.executor);
	if (!executor) throw new GatewayError('not_implemented', `The executor "${row.executor}" of this tool is not loaded.`);
	return executor;
}

function openConfig(row: ToolRow, registry: Registry, secrets: Secrets): JsonObject {
	const place = toolPlace(row.organizationId, row.id);
	return registry.parse(
		'executor',
		row.executor,
		registry.open('executor', row.executor, toolConfig(row), secrets, place),
		'/executionConfig',
	);
}

/** `code` stands beside `executionConfig` in the API; to the executor they are one config. */
export const toolConfig = (row: Pick<ToolRow, 'code' | 'executionConfig'>): JsonObject =>
	row.code === null ? row.executionConfig : { ...row.executionConfig, code: row.code };

export const toolPlace = (organizationId: string, toolId: string) => ({ organizationId, table: 'tools', row: toolId });

export const describeTool = (row: ToolRow, { name, description }: { name?: string; description?: string | null }): Tool => ({
	id: row.id,
	organizationId: row.organizationId,
	name: name ?? row.name,
	description: description ?? row.description,
	executor: row.executor,
	parameters: row.parameters,
	outputSchema: row.outputSchema,
	annotations: row.annotations,
	apiId: row.apiId,
	version: String(row.version),
});

async function findTool(organizationId: string, toolId: string, parts: InvokerParts): Promise<ToolEntry> {
	const { store } = parts.services();
	const row = await store.tools.get(organizationId, toolId);
	if (!row) throw notFound('Tool');
	const [api, credentials] = row.apiId
		? await Promise.all([store.apis.get(organizationId, row.apiId), store.apis.credentials(organizationId, row.apiId)])
		: [null, []];
	return prepare(row, { api, credentials }, parts);
}

function validate(args: Json, check: ArgumentCheck): JsonObject {
	if (args === null || typeof args !== 'object' || Array.isArray(args)) {
		throw invalidArguments([
			{ path: '', message: `must be an object, got ${Array.isArray(args) ? 'an array' : args === null ? 'null' : typeof args}.` },
		]);
	}
	const faults = check(args);
	if (faults.length > 0) throw invalidArguments(faults);
	return args;
}

async function underDeadline<T>(outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
	const controller = new AbortController();
	const leave = (): void => controller.abort(outer.reason);
	if (outer.aborted) leave();
	outer.addEventListener('abort', leave, { once: true });
	const timer = setTimeout(
		() => controller.abort(new GatewayError('upstream_timeout', `The tool took longer than ${DEADLINE_MS / 1000} s.`)),
		DEADLINE_MS,
	);
	try {
		return await work(controller.signal);
	} finally {
		clearTimeout(timer);
		outer.removeEventListener('abort', leave);
	}
}

async function attempt(
	executor: ToolExecutor,
	run: { args: JsonObject; config: JsonObject; call: PluginCall },
	log: Services['log'],
): Promise<RunResult> {
	try {
		return await executor.execute(run.args, run.config, run.call);
	} catch (thrown) {
		const reason: unknown = run.call.signal.reason;
		const error = asGatewayError(thrown) ?? (run.call.signal.aborted ? asGatewayError(reason) : null);
		if (error && THROWN.includes(error.code)) throw error;
		if (!error && !run.call.signal.aborted)
			log.error({ tool: run.call.tool?.id, error: describeFault(thrown) }, 'an executor failed unexpectedly');
		const code = error?.code ?? 'internal';
		const message = error?.message ?? (run.call.signal.aborted ? 'The call was cancelled.' : 'The tool failed unexpectedly.');
		return { content: [{ type: 'text', text: message }], isError: true, error: { code, message } };
	}
}

const describeFault = (thrown: unknown): string => (thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));

function record(
	recorder: Recorder,
	run: { entry: ToolEntry; callParts: CallParts & { caller: Caller }; result: RunResult; durationMs: number },
): void {
	const { tool } = run.entry;
	const { gateway, caller } = run.callParts;
	recorder.add({
		organizationId: tool.organizationId,
		toolId: tool.id,
		gatewayId: gateway?.id ?? null,
		keyId: caller.keyId ?? null,
		subject: caller.subject,
		status: run.result.isError ? 'failed' : 'success',
		error: run.result.isError ? (run.result.error?.code ?? 'tool_error') : null,
		durationMs: Math.round(run.durationMs),
		startedAt: new Date(Date.now() - run.durationMs),
	});
}
