// The engine of agents: starts their runs, tells of them, takes answers; and runs agents for the calls of plugins.

import type { ArgumentChecks } from '../arguments/checks.ts';
import type { AgentRunOptions, AgentRuns } from '../contract/agents.ts';
import { GatewayError, invalid, notFound } from '../contract/errors.ts';
import type { Json, JsonObject, Tool } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { RunBudget } from '../models/spending.ts';
import { describeThrown } from '../process/strays.ts';
import { follow, hasRunEnded } from '../runs/following.ts';
import type { Runs } from '../runs/runs.ts';
import type { Recorder } from '../store/recorder.ts';
import type { AgentRow, Agents, Execution, QuestionRow, Run } from '../store/store.ts';
import { OFF, type Telemetry } from '../telemetry/telemetry.ts';
import type { CallParts } from '../tools/call-parts.ts';
import type { AgentAsked, AgentEngine, ExecutionPlace } from './agents.ts';
import { answerAll, Unanswerable } from './call-answers.ts';
import { createChats, Hearings } from './chats/chats.ts';
import { type CheckParts, checkPipeline } from './checks/check.ts';
import { definitionOf, kindOf, MAX_DEPTH, type RunDefinition } from './definition.ts';
import { Envelopes } from './envelopes.ts';
import { openExecution, traceOf } from './executions.ts';
import { inputSchemaOf } from './graph.ts';
import { RunLines } from './logged-runs.ts';
import { createPortable } from './portable.ts';
import { AgentProgram, type ProgramParts } from './program.ts';
import { tracedDefinition, tracedRun } from './run-spans.ts';
import { createSchedules } from './schedules.ts';
import { answerOf, assertDepth, newRef } from './verbs.ts';

export interface AgentParts extends Omit<ProgramParts, 'tell' | 'runs' | 'agents' | 'hearings' | 'lines'>, Omit<CheckParts, 'agents'> {
	runs: Pick<Runs, 'define' | 'startWith' | 'get' | 'follow' | 'untilEnded' | 'steps' | 'signal' | 'cancel'>;
	recorder: Pick<Recorder, 'request'>;
	agents: Agents;
	argumentChecks: ArgumentChecks;
	telemetry?: Pick<Telemetry, 'run'>;
}

/** The runs of one account at a time over all replicas, those of one process, and those that have not ended: of agents at one depth. */
const PER_ACCOUNT = 64;
const PLACES = 64;
const UNFINISHED = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** The time limit of a run for which neither the agent nor the one who starts it names one. */
const LONGEST_MS = 30 * DAY_MS;
const NEVER = new AbortController().signal;
const CLOSED = 'The question has been answered, or its time is over.';

/** Runs agents for calls. */
export interface AgentDesk {
	of(call: CallParts): AgentRuns;
}

/** The agents that wait for a run that is about to be started. */
interface RunParent {
	chain: readonly string[];
	/** The run of the innermost of them. */
	runId: string | null;
	/** Their budgets. */
	within: readonly RunBudget[];
}

const ALONE: RunParent = { chain: [], runId: null, within: [] };

/** Defines the kinds of run of agents, before runs are opened. */
export function createAgents(parts: AgentParts): { engine: AgentEngine; desk: AgentDesk } {
	const { agents, runs, registry, secrets, argumentChecks, telemetry = OFF } = parts;
	let listener: ((question: QuestionRow) => Promise<void>) | null = null;
	const tell = async (question: QuestionRow): Promise<void> => {
		try {
			await listener?.(question);
		} catch (thrown) {
			parts.services().log.error({ runId: question.runId, error: describeThrown(thrown) }, 'nobody was told of a question');
		}
	};
	const hearings = new Hearings();
	const lines = new RunLines(parts);
	const program = new AgentProgram({ ...parts, tell, hearings, lines });
	const schedules = createSchedules({
		...{ agents, secrets, kind: { kind: kindOf(1), perAccount: PER_ACCOUNT, perAccountUnfinished: UNFINISHED, maxLosses: 5 } },
		...{ complete: (agent, input) => complete(agent, input), runOf: (asked) => runOf(asked, ALONE) },
	});
	for (let depth = 1; depth <= MAX_DEPTH; depth++)
		runs.define(kindOf(depth), (run) => tracedRun(run, { telemetry }, () => program.run(run)), {
			...(depth === 1 && { fire: schedules.fire }),
			...{ places: PLACES, perAccount: PER_ACCOUNT, perAccountUnfinished: UNFINISHED },
			ended: (run) => lines.ended(run),
			addChild: async (asked, kind) => {
				const { agentId, revision, chain } = definitionOf(asked);
				const added = await agents.start(asked, kind, { agentId, revision, startedBy: `agent:${chain.at(-2) ?? ''}` });
				return added && { run: added.execution.run };
			},
		});

	const find = async ({ organizationId, id }: ExecutionPlace, asked?: { input?: false }): Promise<Execution> =>
		(await agents.executionOf(organizationId, id, asked)) ?? Promise.reject(notFound('Execution'));
	/** Returns why a question cannot be answered: another answer, or its end, may have come since the run was read. */
	const closed = async ({ organizationId, id }: ExecutionPlace, run: Run, key: string): Promise<GatewayError> =>
		hasRunEnded(run) || (await agents.questionOf(organizationId, id, key)) ? new GatewayError('conflict', CLOSED) : notFound('Question');
	const open = (execution: Execution): Execution => openExecution(secrets, execution);

	const complete = (agent: AgentRow, input: JsonObject): JsonObject | Promise<JsonObject> => {
		const tool: Tool = {
			...{ id: `agent:${agent.id}`, organizationId: agent.organizationId, name: agent.name, description: '', executor: '' },
			...{ parameters: inputSchemaOf(registry, agent.pipeline), outputSchema: null, annotations: {}, apiId: null },
			version: String(agent.version),
		};
		return argumentChecks.complete({ tool, whole: null, filled: [], assertsFormats: true }, input, NEVER);
	};

	/** Makes the run of an agent, which is not started yet. @throws what `start` throws for its input */
	const runOf = async (asked: AgentAsked, { chain, runId: parentId, within }: RunParent) => {
		const { organizationId, agent, trigger, startedBy, here = false, onLoss = 'resume', dedupe = null, priority = 0 } = asked;
		assertActive(agent);
		const input = await complete(agent, structuredClone(asked.input));
		const { id: agentId, name, version: revision, pipeline, settings } = agent;
		const { ref = newRef(), conversation } = asked.chat ?? {};
		const envelopes = new Envelopes(secrets, organizationId, ref);
		const definition: RunDefinition = {
			...{ agentId, name, revision, pipeline, settings, ref, chain: [...chain, agentId] },
			...(within.length > 0 && { within: [...within] }),
			...(conversation && { conversation: envelopes.seal(conversation as unknown as Json) }),
			...tracedDefinition(),
		};
		const kind = kindOf(definition.chain.length);
		const sealed = envelopes.seal(input);
		const deadlineMs = Math.min(asked.timeoutMs ?? LONGEST_MS, settings.timeoutMs ?? LONGEST_MS);
		const run = { organizationId, kind, definition, input: sealed, trigger, priority, deadlineMs, parentId, dedupe, here, onLoss };
		return { run, execution: { agentId, revision, startedBy } };
	};

	const start = async (asked: AgentAsked, around: RunParent): Promise<Execution> => {
		const { run, execution } = await runOf(asked, around);
		const started = await runs.startWith(run, (one, of) => agents.start(one, of, execution));
		if (!started) throw notFound('Agent');
		return open(started.execution);
	};

	const engine: AgentEngine = {
		schedules,
		portable: createPortable(parts),
		check: (organizationId, pipeline, agentId) => checkPipeline({ organizationId, pipeline, agentId }, parts),
		inputSchema: (pipeline) => inputSchemaOf(registry, pipeline),
		start: (asked) => start(asked, ALONE),
		async get({ organizationId, id }) {
			const execution = await agents.executionOf(organizationId, id);
			return execution && open(execution);
		},
		async wait(place, ms, signal) {
			await runs.untilEnded(place, ms, signal);
			return open(await find(place));
		},
		async *follow(place, signal) {
			const { organizationId, id } = place;
			const read = async () => {
				const summary = await agents.summaryOf(organizationId, id);
				return summary && { summary, finishedAt: summary.run.finishedAt };
			};
			for await (const seen of follow({ changes: parts.store.changes, topic: `run:${id}`, read }, signal))
				yield seen === null ? null : seen.summary;
		},
		async trace(place, { full = null, outputs } = {}) {
			const { run } = await find(place, { input: false });
			const asked = full === null ? { ...(outputs === false && { outputs }) } : { keys: [full] };
			return traceOf(secrets, run, await runs.steps(place, asked), full);
		},
		async cancel(place) {
			await find(place);
			return runs.cancel(place, 'The execution was cancelled.');
		},
		async retry(place, startedBy) {
			const { agentId, run } = await find(place);
			assertActive((await agents.get(place.organizationId, agentId)) ?? (await Promise.reject(notFound('Execution'))));
			const { settings, chain } = definitionOf(run);
			const deadlineMs = settings.timeoutMs ?? LONGEST_MS;
			const kind = { kind: kindOf(chain.length), perAccount: PER_ACCOUNT, perAccountUnfinished: UNFINISHED, maxLosses: 5 };
			const retried = await agents.retry(place.organizationId, place.id, { startedBy, from: null, deadlineMs }, kind);
			if (!retried) throw notFound('Execution');
			return open(retried);
		},
		async waiting({ organizationId, id }, key) {
			const filter = { runId: id, ...(key !== undefined && { key }) };
			return (await agents.questions(organizationId, { limit: 100, sort: 'createdAt' }, filter)).items;
		},
		asked: async ({ organizationId, id }) => (await agents.asking(organizationId, [id])).get(id) ?? null,
		async answer(place, key, answer) {
			const { run } = await find(place);
			const [question] = await engine.waiting(place, key);
			if (!question) throw await closed(place, run, key);
			const of = { id: `question:${question.id}`, version: '', organizationId: place.organizationId };
			const faults = await argumentChecks.outputs.faults(of, question.schema, answer, NEVER);
			if (faults.length > 0) throw new GatewayError('validation_failed', faults[0]?.message ?? '', { details: faults });
			const sealed = new Envelopes(secrets, place.organizationId, definitionOf(run).ref).seal(answer);
			if (!(await runs.signal(place, answerOf(key), sealed))) throw new GatewayError('conflict', CLOSED);
		},
		chats: createChats(parts, hearings),
		tells: (given) => {
			listener = given;
		},
	};

	/** Runs an agent for a call, and follows it until it has ended. */
	const runFor = async (
		call: CallParts,
		agentId: string,
		input: Json,
		options: AgentRunOptions & { signal: AbortSignal },
	): Promise<Json> => {
		const { signal, resume } = options;
		const { organizationId, ofAgent, caller, listener: told } = call;
		const agent = await agents.get(organizationId, agentId);
		if (!agent) throw notFound('Agent');
		const around: RunParent = ofAgent ?? ALONE;
		assertDepth(around.chain, agentId);
		if (!isObject(input)) throw invalid('/', 'The input of an agent must be an object.');
		signal.throwIfAborted();
		const startedBy = caller?.subject ?? null;
		const known = resume === undefined ? null : await engine.get({ organizationId, id: resume });
		const asked = { organizationId, agent, input, trigger: 'manual', startedBy, here: true } as const;
		const { run } = known?.agentId === agentId ? known : await start(asked, around);
		const place = { organizationId, id: run.id };
		const answered = new Set<string>();
		try {
			const total = agent.pipeline.nodes.length;
			let [done, isWaiting] = [0, false];
			for await (const execution of engine.follow(place, signal)) {
				const seen = execution?.run;
				if (seen && hasRunEnded(seen)) return outputOf(open(await find(place)));
				if (seen) isWaiting = seen.status === 'waiting';
				// A question of an agent that it started is no change of the run itself.
				if (isWaiting) await answerAll(place, { engine, agents, by: startedBy, options, answered });
				if (!seen) continue;
				if (told) {
					const ended = (await engine.trace(place, { outputs: false })).filter(
						({ status }) => status === 'success' || status === 'skipped',
					).length;
					if (ended > done) told(ended, Math.max(total, ended));
					done = Math.max(done, ended);
				}
			}
			signal.throwIfAborted();
			throw notFound('Execution');
		} catch (thrown) {
			if (signal.aborted || thrown instanceof Unanswerable) await runs.cancel(place, 'The call that began the execution has ended.');
			throw thrown instanceof Unanswerable ? thrown.cause : thrown;
		}
	};

	const desk: AgentDesk = {
		of: (call) => ({
			run: (agentId, input, { signal, ...options } = {}) =>
				runFor(call, agentId, input, { ...options, signal: signal ? AbortSignal.any([call.signal, signal]) : call.signal }),
		}),
	};
	return { engine, desk };
}

/** @throws conflict */
function assertActive({ name, status }: Pick<AgentRow, 'name' | 'status'>): void {
	if (status !== 'active') throw new GatewayError('conflict', `The agent "${name}" is not active.`);
}

/** @throws what the run failed with */
function outputOf({ run }: Execution): Json {
	if (run.error) throw errorOf(run.error);
	return run.output;
}

/** Puts the fault of a run into an error that a caller of a tool may see. */
function errorOf({ code, message }: NonNullable<Execution['run']['error']>): Error {
	if (code === 'cancelled' || code === 'in_doubt' || code === 'interrupted') return new GatewayError('upstream_failed', message);
	if (code === 'timed_out') return new GatewayError('upstream_timeout', message);
	return code === 'validation_failed' ? new GatewayError('upstream_failed', message) : new GatewayError(code, message);
}
