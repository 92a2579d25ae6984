// Runs tools for every transport and for the management API: check the arguments, execute under a deadline, record.
// Finding a tool and checking scopes happen before, in `call.ts`.

import type { ArgumentChecks } from '../arguments/checks.ts';
import { flatFault, nest } from '../arguments/flat.ts';
import type { Question } from '../contract/asking.ts';
import { asGatewayError, type ErrorCode, GatewayError, notFound, PluginFault } from '../contract/errors.ts';
import type { ToolExecutor } from '../contract/kinds.ts';
import type { Caller, Json, JsonObject, ToolResult } from '../contract/nouns.ts';
import type { ModelUse, RunResult } from '../contract/results.ts';
import { LaneRun } from '../lanes/lane-run.ts';
import { UsageMeter } from '../models/spending.ts';
import { answerOf, LEAVE_MS } from '../process/hooks.ts';
import { describeThrown } from '../process/strays.ts';
import type { Registry } from '../registry/registry.ts';
import { UnfitConfig } from '../registry/stored-configs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { Recorder } from '../store/recorder.ts';
import type { RequestRow, ToolRow } from '../store/store.ts';
import { tracedTool } from '../telemetry/work-spans.ts';
import { type Outbound, OutboundRun } from '../upstreams/outbound.ts';
import { passedOn } from '../upstreams/pass-through.ts';
import { PluginCall } from './call.ts';
import type { CallParts, Services } from './call-parts.ts';
import { checkPreview, checkResult } from './check-result.ts';
import { confirmed, isConfirmed } from './confirming.ts';
import { deadlineOf, underDeadline } from './deadline.ts';
import { DryRun } from './dry-run.ts';
import { type EntryAround, type Ready, type ToolEntry, toolEntry } from './entry.ts';
import { AnswerSizes } from './log/answer-size.ts';
import { endedLine, failureOf, lineOf, outcomeOf, outcomeOfRun, traceOf } from './log/logged-runs.ts';
import type { Payloads } from './log/payloads.ts';
import { NO_IDENTITY } from './no-identity.ts';
import { findLender, type Lender } from './sandboxes.ts';
import { settle } from './settle.ts';

/** `use`: what the run used of models. */
export type Ran = RunResult & { use?: ModelUse };

export interface Invoker {
	/** Returns the executor that lends a sandbox for a language; null when none does. */
	lender(language: string): Lender | null;
	prepare(row: ToolRow, around: EntryAround): ToolEntry;
	/** Returns a tool of an organization, ready to run. @throws not_found, conflict for one that its API has no more */
	entry(organizationId: string, toolId: string): Promise<ToolEntry>;
	/** Prepares an executor with a config that is not stored. @throws not_implemented, validation_failed */
	inline(executor: string, config: JsonObject): Ready;
	/** Runs a tool. A run that failed is a result with `isError` and `error`. @throws validation_failed, unavailable */
	run(entry: ToolEntry, args: Json, parts: CallParts & { caller: Caller }): Promise<Ran>;
	/** Runs a tool over the management API. `isDry`: nothing is sent or recorded, only `request` shown. @throws not_found, not_implemented */
	execute(
		organizationId: string,
		toolId: string,
		args: Json,
		by: Partial<CallParts> & { caller: Caller; signal: AbortSignal; isDry?: boolean },
	): Promise<Ran & { durationMs: number; request?: JsonObject }>;
}

export interface InvokerParts {
	services: () => Services;
	registry: Registry;
	secrets: Secrets;
	recorder: Recorder;
	argumentChecks: ArgumentChecks;
}

/** Codes that are thrown: faults of the caller or of ours. Faults of the run become its result. */
const THROWN: readonly ErrorCode[] = ['validation_failed', 'tool_not_found', 'insufficient_scope', 'unavailable', 'not_implemented'];

const REMOVED = 'The description of the API no longer has the operation of this tool: import one that has it, or remove the tool.';

export function createInvoker(parts: InvokerParts): Invoker {
	const invoker: Invoker = {
		lender: (language) => findLender(parts.registry, language),
		prepare: (row, around) => toolEntry(row, around, parts),
		entry: (organizationId, toolId) => findTool(organizationId, toolId, parts),
		inline(name, given) {
			const executor = parts.registry.get('executor', name);
			if (!executor?.creatable) throw new GatewayError('not_implemented', `The executor "${name.slice(0, 64)}" cannot be used here.`);
			return { executor, config: parts.registry.parse('executor', name, given, '') };
		},
		async run(entry, args, callParts) {
			const started = performance.now();
			const line = lineOf(entry, callParts);
			const spending = new UsageMeter(callParts.spending);
			try {
				const running = { callParts: { ...callParts, spending }, line, parts };
				const result = await tracedTool(traceOf(entry), () => runEntry(entry, args, running), failureOf);
				const { use } = spending;
				const durationMs = performance.now() - started;
				const outcome = result.isError && callParts.signal.aborted ? 'cancelled' : outcomeOfRun(result);
				addLine(endedLine(line, { outcome, use, durationMs }), { entry, args, result }, parts);
				return use ? { ...result, use } : result;
			} catch (thrown) {
				const ended = { outcome: outcomeOf(thrown), use: spending.use, durationMs: performance.now() - started };
				addLine(endedLine(line, ended), { entry, args, result: null }, parts);
				throw thrown;
			}
		},
		async execute(organizationId, toolId, args, { isDry = false, ...by }) {
			const entry = await findTool(organizationId, toolId, parts);
			const started = performance.now();
			const callParts = { ...MANAGEMENT, organizationId, ...by };
			const result = isDry ? await dryRun(entry, args, callParts, parts) : await invoker.run(entry, args, callParts);
			return { ...result, durationMs: Math.round(performance.now() - started) };
		},
	};
	return invoker;
}

interface Running {
	callParts: CallParts & { caller: Caller };
	/** The line of the request log, which learns how long others were waited for. */
	line: RequestRow;
	parts: InvokerParts;
}

/** Adds a line to the request log. The answer does not wait until it is measured, and its payloads are written. */
function addLine(
	line: RequestRow,
	{ entry: { payloads, tool }, args, result }: { entry: ToolEntry; args: Json; result: RunResult | null },
	{ argumentChecks, recorder, services }: InvokerParts,
): void {
	if (result?.logs) line.logs = result.logs;
	if (line.gatewayId === null) {
		recorder.request(line);
		return;
	}
	setImmediate(() => {
		try {
			if (result && !result.isError) line.answer = sizes.of(`${line.gatewayId} ${tool.id}`, result);
			const { organizationId } = tool;
			const add = (kept: Payloads): void => recorder.request(Object.assign(line, kept));
			if (payloads) return payloads.keep({ organizationId, args, result }, argumentChecks.redactions, add);
		} catch (thrown) {
			// Nobody else would catch what an answer causes here, and the process would end.
			services().log.error({ error: describeThrown(thrown), toolId: tool.id }, 'an answer could not be measured');
		}
		recorder.request(line);
	});
}

const sizes = new AnswerSizes();

/** @throws validation_failed, unavailable */
function runEntry(entry: ToolEntry, args: Json, { callParts, line, parts }: Running): Promise<RunResult> {
	const services = parts.services();
	const ready = readied(entry, services.log);
	if ('content' in ready) return Promise.resolve(ready);
	const deadlineMs = deadlineOf(ready.executor);
	return underDeadline(callParts.signal, deadlineMs, (signal, leavable, suspend) => {
		const lane = entry.lane && new LaneRun({ lanes: services.lanes, api: entry.lane, signal, deadlineMs });
		const { api, credentials, tool } = entry;
		const passed = passedOn(entry.passThrough, callParts);
		const { organizationId } = tool;
		const outbound = new OutboundRun({ ...services, lane, organizationId, api, credentials, passed, signal });
		const call = executorCall(services, { entry, ready, callParts, outbound, signal, suspend });
		const { executor, config } = ready;
		const work = async (): Promise<RunResult> => {
			const checking = parts.argumentChecks.complete(entry, args, signal);
			const complete = checking instanceof Promise ? await checking : checking;
			const asking = { asker: callParts.asker, ask: (question: Question) => call.ask(question) };
			if (isConfirmed(entry.confirm, tool) && !(await confirmed(tool, complete, asking))) return DECLINED;
			const result = await nested(entry, complete, (sent) =>
				leavable(Promise.resolve(executor.execute(sent, config, call)), () => logLeft(call, executor)),
			);
			const checked = checkResult(`executor:${executor.name}`, result);
			return checked ? settle(checked, entry, { checks: parts.argumentChecks, callParts, signal }) : TOO_LARGE;
		};
		return attempt(call, work, () => {
			Object.assign(line, outbound.spentMs);
			outbound.end();
		});
	});
}

/** The call parts of a run over the management API. */
const MANAGEMENT = { plugin: 'management', gateway: null, shelf: null, identity: NO_IDENTITY, entry: null, listener: null } as const;

/** Prepares an entry. A secret of its config that cannot be read becomes a failed run, since the caller cannot change it. */
function readied(entry: ToolEntry, log: Services['log']): Ready | RunResult {
	try {
		return entry.ready();
	} catch (thrown) {
		if (thrown instanceof UnfitConfig)
			log.error({ tool: entry.tool.id, fault: thrown.fault }, 'the config of a tool does not fit its executor');
		const error = asGatewayError(thrown);
		if (error?.code !== 'secret_unreadable') throw thrown;
		return failed(error.code, error.message);
	}
}

interface Executing {
	entry: ToolEntry;
	ready: Ready;
	callParts: CallParts;
	outbound: Outbound;
	signal: AbortSignal;
	suspend?: ((reason: unknown) => void) | undefined;
}

const executorCall = (services: Services, { entry, ready, callParts, outbound, signal, suspend }: Executing): PluginCall =>
	new PluginCall(services, {
		...callParts,
		plugin: `executor:${ready.executor.name}`,
		entry,
		shelf: null,
		signal,
		outbound,
		suspend,
		// Its own result is checked, not those of the tools that it runs.
		strictOutput: false,
	});

function dryRun(entry: ToolEntry, args: Json, callParts: CallParts, parts: InvokerParts): Promise<RunResult & { request?: JsonObject }> {
	const services = parts.services();
	const { api, credentials } = entry;
	const outbound = new DryRun({ ...services, api, credentials });
	const ready = entry.masked(outbound.mask);
	const { executor, config } = ready;
	const preview = executor.preview?.bind(executor);
	return underDeadline(callParts.signal, deadlineOf(executor), (signal, leavable) => {
		const call = executorCall(services, { entry, ready, callParts: { ...callParts, isDry: true }, outbound, signal });
		return attempt<RunResult & { request?: JsonObject }>(call, async () => {
			const complete = await parts.argumentChecks.complete(entry, args, signal);
			return nested(entry, complete, async (sent) => {
				const hook = { plugin: `executor:${executor.name}`, hook: 'preview' };
				const show = preview ? async () => checkPreview(hook.plugin, await answerOf(hook, () => preview(sent, config, call))) : null;
				const run = (): Promise<ToolResult> =>
					leavable(Promise.resolve(executor.execute(sent, config, call)), () => logLeft(call, executor));
				return { content: [], request: await outbound.show(run, show) };
			});
		});
	});
}

/** Tells of an executor that goes on after the end of its run: the answer only says that the time was over, or that the call was cancelled. */
const logLeft = (call: PluginCall, { name }: ToolExecutor): void =>
	call.log.error(
		{ error: `executor:${name}: execute did not end within ${LEAVE_MS / 1000} s after its signal aborted.` },
		'an executor was left behind',
	);

/** Runs `work` with the arguments in the executor's form. Faults it reports are translated back to the tool's arguments. */
function nested<T>({ flattened }: ToolEntry, args: JsonObject, work: (args: JsonObject) => Promise<T>): Promise<T> {
	return flattened ? unflattened(flattened, args, work) : work(args);
}

async function unflattened<T>(
	flattened: NonNullable<ToolEntry['flattened']>,
	args: JsonObject,
	work: (args: JsonObject) => Promise<T>,
): Promise<T> {
	try {
		return await work(nest(args, flattened));
	} catch (error) {
		throw flatFault(error, flattened);
	}
}

async function findTool(organizationId: string, toolId: string, parts: InvokerParts): Promise<ToolEntry> {
	const { store } = parts.services();
	const row = await store.tools.get(organizationId, toolId);
	if (!row) throw notFound('Tool');
	if (row.status === 'removed') throw new GatewayError('conflict', REMOVED);
	const [api, credentials] = row.apiId
		? await Promise.all([store.apis.get(organizationId, row.apiId), store.apis.credentials(organizationId, row.apiId)])
		: [null, []];
	return toolEntry(row, { api, credentials }, parts);
}

/** @param end is called when the run is over */
async function attempt<R extends RunResult>(call: PluginCall, work: () => Promise<R>, end?: () => void): Promise<R | RunResult> {
	try {
		return await work();
	} catch (thrown) {
		const reason: unknown = call.signal.reason;
		const error = asGatewayError(thrown) ?? (call.signal.aborted ? asGatewayError(reason) : null);
		if (error && THROWN.includes(error.code)) throw error;
		if ((!error && !call.signal.aborted) || thrown instanceof PluginFault)
			call.log.error({ error: describeThrown(thrown) }, 'an executor failed unexpectedly');
		const message = error?.message ?? (call.signal.aborted ? 'The call was cancelled.' : 'The tool failed unexpectedly.');
		return failed(error?.code ?? 'internal', message);
	} finally {
		end?.();
	}
}

function failed(code: ErrorCode, message: string): RunResult {
	return { content: [{ type: 'text', text: message }], isError: true, error: { code, message } };
}

/** A run that nobody wanted is one that failed. */
const DECLINED = failed('forbidden', 'The user did not confirm the call, so the tool did not run.');

/** Half a result is none, and the model can ask for less. */
const TOO_LARGE = failed('upstream_failed', 'The result of the tool is larger than 16 MiB, so it was not passed on. Ask for less.');
