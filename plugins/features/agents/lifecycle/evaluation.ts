// Tests an agent: runs it for a set of inputs, in one or two versions, and checks each output.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentRow,
	actorOf,
	asGatewayError,
	body,
	type Core,
	clientSignal,
	count,
	type Execution,
	invalid,
	type Json,
	type JsonObject,
	jsonObject,
	operation,
	shape,
	text,
	uuid,
} from '../../../../core/features.ts';
import { BOUNDS } from '../bounds.ts';
import { findAgent } from '../find.ts';
import { durationOf } from '../present.ts';
import { CHECK, type Check, checksOf, EXPECTATION, type Expectation } from './expectations.ts';
import { versionOf } from './versions.ts';

interface Case {
	name?: string;
	input: JsonObject;
	expect: Expectation;
}

interface EvaluationRequest {
	cases: Case[];
	versions: (number | null)[];
	timeoutMs: number;
}

interface Outcome {
	name: string;
	status: 'passed' | 'failed' | 'error';
	checks: Check[];
	output: Json;
	isTruncated: boolean;
	error: { code: string; message: string } | null;
	executionId: string | null;
	duration: number | null;
	tokensUsed: number;
	/** US dollars, judges included; null when a part is unknown. */
	cost: number | null;
}

const TEST = body({
	cases: Joi.array()
		.items(
			Joi.object({
				name: Joi.string().max(200),
				input: jsonObject.required().description('It has to match the schema of the agent’s input.'),
				expect: EXPECTATION.default({}).description('When empty, it is enough that the execution succeeds.'),
			}).meta({ schema: 'AgentTestCase' }),
		)
		.min(1)
		.max(BOUNDS.cases)
		.required(),
	versions: Joi.array()
		.items(Joi.number().integer().min(0).max(1e9).allow(null))
		.min(1)
		.max(BOUNDS.compared)
		.unique()
		.default([null])
		.description('The versions that are tested side by side; null: the agent as it is.'),
	timeoutMs: Joi.number().integer().min(100).max(BOUNDS.caseMs).default(30_000).description('The time limit of one case in milliseconds.'),
}).example({ cases: [{ name: 'by name', input: { name: 'Ada' }, expect: { contains: ['Ada'] } }] });

const money = Joi.number().min(0).allow(null).description('US dollars, with judges; null when a part is unknown.');
const OUTCOME = shape({
	name: Joi.string(),
	status: Joi.string().valid('passed', 'failed', 'error').description('`error`: the execution did not succeed.'),
	checks: Joi.array().items(CHECK),
	output: Joi.any().allow(null),
	isTruncated: Joi.boolean().description('The output is too large for this answer: the execution has it.'),
	error: shape({ code: Joi.string(), message: text }).allow(null),
	executionId: uuid.allow(null),
	duration: count.allow(null),
	tokensUsed: count,
	cost: money,
}).meta({ schema: 'AgentTestOutcome' });
const RESULT = shape({
	results: Joi.array().items(
		shape({
			version: count.allow(null).description('Null: the agent as it is.'),
			passed: count,
			failed: count.description('Those that failed, and those that ended with an error.'),
			tokensUsed: count,
			cost: money,
			cases: Joi.array().items(OUTCOME),
		}),
	),
	differing: Joi.array().items(count).description('The places of the cases whose status differs between the versions.'),
}).meta({ schema: 'AgentTestResult' });

const MAX_SHOWN = 65_536;
const SLICE_MS = 1_000;

export const evaluationRoute = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents/{id}/test',
		id: 'testAgent',
		summary: 'Runs an agent for a set of inputs, and checks each output; with two versions, side by side.',
		description:
			'Each case is an execution like any other: its tools have their effects, its models their costs. A case that waits for a person, or takes too long, is ' +
			`cancelled and ends with an error. The whole takes ${BOUNDS.testMs / 1000} s at most. An inactive agent can be tested.`,
		need: 'agents:execute',
		limit: 'agent-tests',
		body: TEST,
		integers: 'exact',
		answer: RESULT,
		idempotent: true,
		slow: true,
		handler: async (request) => {
			const agent = await findAgent(request, core);
			// The body has passed TEST.
			const asked = request.payload as EvaluationRequest;
			const signal = AbortSignal.any([clientSignal(request), AbortSignal.timeout(BOUNDS.testMs)]);
			await assertUsable(core, agent.organizationId, asked, signal);
			const tested = await Promise.all(asked.versions.map(async (version) => ({ version, agent: await snapshotOf(core, agent, version) })));
			const outcomes = await runAll(tested, asked, { core, startedBy: startedBy(request), signal });
			const results = tested.map(({ version }, at) => summed(version, outcomes[at] ?? []));
			const differing = asked.cases.flatMap((_case, at) => (new Set(outcomes.map((one) => one[at]?.status)).size > 1 ? [at] : []));
			return { results, differing };
		},
	});

const startedBy = (request: Request): string => `${actorOf(request).email} (test)`;

/** Checks what the expectations name, before anything runs. @throws validation_failed naming the field */
async function assertUsable(
	{ store, argumentChecks }: Core,
	organizationId: string,
	{ cases }: EvaluationRequest,
	signal: AbortSignal,
): Promise<void> {
	for (const [at, { expect }] of cases.entries()) {
		const path = `/cases/${at}/expect`;
		if (expect.judge && !(await store.llmProviders.get(organizationId, expect.judge.providerId)))
			throw invalid(`${path}/judge/providerId`, `cases[${at}].expect.judge.providerId names no LLM provider of this organization.`);
		if (!expect.schema) continue;
		await argumentChecks.admit(expect.schema, organizationId, signal).catch((thrown: unknown) => {
			const error = asGatewayError(thrown);
			throw error?.code === 'validation_failed' ? invalid(`${path}/schema`, `cases[${at}].expect.schema: ${error.message}`) : thrown;
		});
	}
}

/** Returns the agent as a version has it. @throws not_found */
async function snapshotOf(core: Core, agent: AgentRow, version: number | null): Promise<AgentRow> {
	if (version === null) return { ...agent, status: 'active' };
	const { pipeline, settings, firstRevision } = await versionOf(core, agent, version);
	return { ...agent, status: 'active', pipeline, settings, version: firstRevision };
}

interface Running {
	core: Core;
	startedBy: string;
	signal: AbortSignal;
}

/** Runs all cases of all versions, some at once. @returns the outcomes by version */
async function runAll(
	tested: readonly { agent: AgentRow }[],
	{ cases, timeoutMs }: EvaluationRequest,
	running: Running,
): Promise<Outcome[][]> {
	const outcomes: Outcome[][] = tested.map(() => new Array(cases.length));
	const waiting = cases.flatMap((one, at) => tested.map(({ agent }, version) => ({ one, at, agent, version })));
	let next = 0;
	const work = async (): Promise<void> => {
		for (let task = waiting[next++]; task; task = waiting[next++]) {
			const { one, at, agent, version } = task;
			const outcome = await runCase(agent, one, { ...running, timeoutMs });
			(outcomes[version] as Outcome[])[at] = { ...outcome, name: one.name ?? String(at) };
		}
	};
	await Promise.all(Array.from({ length: BOUNDS.testedAtOnce }, work));
	return outcomes;
}

const NOTHING: Omit<Outcome, 'name' | 'status' | 'error'> = {
	...{ checks: [], output: null, isTruncated: false, executionId: null, duration: null, tokensUsed: 0, cost: 0 },
};
const LATE = { code: 'timed_out', message: 'The time of the test was over.' };

async function runCase(
	agent: AgentRow,
	{ input, expect }: Case,
	{ core, startedBy: by, signal, timeoutMs }: Running & { timeoutMs: number },
): Promise<Omit<Outcome, 'name'>> {
	if (signal.aborted) return { ...NOTHING, status: 'error', error: LATE };
	const { organizationId } = agent;
	let execution: Execution;
	try {
		const asked = { organizationId, agent, input, trigger: 'manual', startedBy: by, timeoutMs, here: true, onLoss: 'fail' } as const;
		execution = await core.agents.start(asked);
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error || error.status >= 500) throw thrown;
		return { ...NOTHING, status: 'error', error: { code: error.code, message: error.message } };
	}
	const { seen, fault } = await ended(core, execution, signal);
	const { run, tokensUsed } = seen;
	const [ran, executionId] = [seen.cost === null ? null : seen.cost / 1_000_000, run.id];
	const used = { executionId, duration: durationOf(run), tokensUsed };
	const error = fault ?? (run.error && { code: run.error.code, message: run.error.message });
	if (error) return { ...NOTHING, ...used, cost: ran, status: 'error', error };
	let cost = ran;
	const spent = (of: number | null): void => {
		cost = cost === null || of === null ? null : cost + of;
	};
	const checks = await checked({ input, output: run.output }, expect, { core, organizationId, signal, spent });
	const isTruncated = JSON.stringify(run.output).length > MAX_SHOWN;
	const status = checks.every(({ passed }) => passed) ? 'passed' : 'failed';
	return { ...used, cost, status, checks, isTruncated, output: isTruncated ? null : run.output, error: null };
}

/** Checks an output; when the time is over meanwhile, it has not passed. */
async function checked(...[of, expect, judging]: Parameters<typeof checksOf>): Promise<Check[]> {
	try {
		return await checksOf(of, expect, judging);
	} catch (thrown) {
		const expects = expect.judge ? 'judge' : 'schema';
		const error = asGatewayError(thrown);
		if (judging.signal.aborted) return [{ expects, passed: false, message: LATE.message }];
		if (error) return [{ expects, passed: false, message: error.message }];
		throw thrown;
	}
}

/** Waits for the end of a case, and ends it when it waits for a person or the time is over. */
async function ended(core: Core, { run }: Execution, signal: AbortSignal): Promise<{ seen: Execution; fault: Outcome['error'] }> {
	const place = { organizationId: run.organizationId, id: run.id };
	for (;;) {
		const seen = await core.agents.wait(place, SLICE_MS, signal);
		if (seen.run.finishedAt) return { seen, fault: null };
		const isAsked = seen.run.status === 'waiting' && (await core.agents.asked(place)) !== null;
		if (!isAsked && !signal.aborted) continue;
		await core.agents.cancel(place);
		return { seen, fault: isAsked ? { code: 'waiting_approval', message: 'The execution waits for a person.' } : LATE };
	}
}

function summed(version: number | null, cases: readonly Outcome[]) {
	const passed = cases.filter(({ status }) => status === 'passed').length;
	const costs = cases.map(({ cost }) => cost);
	const cost = costs.includes(null) ? null : costs.reduce<number>((sum, one) => sum + (one ?? 0), 0);
	const tokensUsed = cases.reduce((sum, one) => sum + one.tokensUsed, 0);
	return { version, passed, failed: cases.length - passed, tokensUsed, cost, cases };
}
