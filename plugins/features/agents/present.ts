// Agents and their executions, as the API shows them.

import Joi from 'joi';
import {
	type AgentRow,
	count,
	type Execution,
	type ExecutionSummary,
	inDollars,
	jsonObject,
	present,
	type QuestionRow,
	type RunSummary,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';

const nullable = (schema: Joi.Schema): Joi.Schema => schema.allow(null);
const anything = Joi.any().description('Any JSON value.');
const money = (what: string): Joi.Schema => nullable(Joi.number().min(0)).description(`US dollars. ${what}`);

export const AGENT = shape({
	id: uuid,
	name: Joi.string(),
	description: text,
	status: Joi.string().valid('active', 'inactive'),
	pipeline: shape({ nodes: Joi.array().items(jsonObject), edges: Joi.array().items(jsonObject) }),
	settings: jsonObject,
	totalExecutions: count.description('All executions so far, also those that are no longer kept.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'Agent' });

export const presentAgent = (row: AgentRow) => present(AGENT, row, { pipeline: row.pipeline, settings: row.settings });

// ── executions ─────────────────────────────────────────────────────────────────────────────────────────────────────

const summary = {
	executionId: uuid,
	agentId: uuid,
	revision: count.description('The revision of the agent that ran: the one at the start.'),
	versionIndex: nullable(count).description('The version of the agent that ran; null when it was not saved as one.'),
	status: Joi.string().valid('success', 'failed', 'running'),
	statusDetail: nullable(Joi.string())
		.description(
			'More than `status` tells: `queued`, `waiting` and `waiting_approval` of a running one, the code of its fault (`cancelled`, `timed_out`, `interrupted`, …) of a failed one.',
		)
		.example('waiting_approval'),
	trigger: Joi.string().valid('manual', 'webhook', 'schedule'),
	startedBy: nullable(text).description('Who or what started it, for people to read.'),
	duration: nullable(count).description('Milliseconds; null while it runs.'),
	tokensUsed: count,
	cost: money('Null when the cost of a call is unknown.'),
	error: nullable(shape({ code: Joi.string(), message: text })),
	retryOf: nullable(uuid).description('The execution that it repeats.'),
	parentId: nullable(uuid).description('The execution whose step it is.'),
	createdAt: timestamp,
	startedAt: nullable(timestamp),
	finishedAt: nullable(timestamp),
};

export const EXECUTION = shape(summary).meta({ schema: 'AgentExecution' });

export const TRACE_ENTRY = shape({
	key: Joi.string().description('Names the entry: the node behind the iterations around it.').example('each[2]/fetch'),
	nodeId: Joi.string(),
	type: Joi.string(),
	iteration: Joi.array().items(count).description('The place in the lists of the maps around the node; empty outside of maps.'),
	status: Joi.string().valid('success', 'failed', 'running', 'skipped', 'waiting'),
	attempt: count.description('Above 1 when another process had taken the run over.'),
	tries: count.description('How often it was tried, by its policy.'),
	startedAt: nullable(timestamp),
	duration: nullable(count).description('Milliseconds.'),
	output: anything.allow(null),
	isTruncated: Joi.boolean().description('Whether the output is cut, or left out: asked for alone, the entry has the whole.'),
	tokensUsed: count.optional(),
	cost: money('Null when it is unknown.').optional(),
	error: nullable(shape({ code: Joi.string(), message: text })),
})
	.unknown()
	.meta({ schema: 'TraceEntry' });
const trace = Joi.array().items(TRACE_ENTRY);

export const TRACE = shape({ trace });

export const EXECUTION_DETAIL = shape({ ...summary, input: anything, output: anything.allow(null), trace }).meta({
	schema: 'AgentExecutionDetail',
});

export const INVOKED = shape({
	output: anything.allow(null),
	executionId: uuid,
	duration: count.description('Milliseconds.'),
	tokensUsed: count,
	trace: trace.optional(),
}).meta({ schema: 'AgentAnswer' });

export const STARTED = shape({
	executionId: uuid,
	status: Joi.string().valid('running'),
	statusDetail: summary.statusDetail,
	url: Joi.string().description('Where to look for it.'),
}).meta({ schema: 'StartedExecution' });

/** Tells the three states of the specification. */
export function statusOf({ status }: Pick<RunSummary, 'status'>): 'success' | 'failed' | 'running' {
	if (status === 'succeeded') return 'success';
	return status === 'failed' || status === 'cancelled' ? 'failed' : 'running';
}

function detailOf({ status, error }: RunSummary, isAsked: boolean): string | null {
	if (error) return error.code;
	if (status === 'waiting') return isAsked ? 'waiting_approval' : 'waiting';
	return status === 'queued' ? 'queued' : null;
}

export const durationOf = ({ createdAt, startedAt, finishedAt }: RunSummary): number | null =>
	finishedAt && Math.max(0, finishedAt.getTime() - (startedAt ?? createdAt).getTime());

/** @param isAsked whether it waits for people */
function fieldsOf({ run, tokensUsed, cost }: ExecutionSummary, isAsked: boolean) {
	return {
		executionId: run.id,
		status: statusOf(run),
		statusDetail: detailOf(run, isAsked),
		...{ trigger: run.trigger, duration: durationOf(run), tokensUsed, cost: cost === null ? null : inDollars(cost) },
		error: run.error && { code: run.error.code, message: run.error.message },
		...{ retryOf: run.originId, parentId: run.parentId },
		...{ createdAt: run.createdAt, startedAt: run.startedAt, finishedAt: run.finishedAt },
	};
}

export const presentExecution = (execution: ExecutionSummary, isAsked: boolean) =>
	present(EXECUTION, execution, fieldsOf(execution, isAsked));

export const presentDetail = (execution: Execution, isAsked: boolean, steps: unknown) =>
	present(EXECUTION_DETAIL, execution, {
		...fieldsOf(execution, isAsked),
		...{ input: execution.run.input, output: execution.run.output, trace: steps },
	});

// ── questions ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const APPROVAL = shape({
	id: uuid,
	agentId: uuid,
	executionId: uuid,
	nodeId: Joi.string(),
	key: Joi.string().description('Names the question in its execution: that of a node in a map is asked for each item.'),
	message: text.description('What there is to decide.'),
	schema: jsonObject.description('JSON Schema of the answer: the form.'),
	approvers: nullable(jsonObject).description('Those who may answer, by `roles` or `emails`; null: everybody who may run the agent.'),
	until: nullable(timestamp).description('The node fails then; null: never.'),
	createdAt: timestamp,
}).meta({ schema: 'AgentApproval' });

export const presentApproval = (question: QuestionRow) =>
	present(APPROVAL, question, { executionId: question.runId, schema: question.schema, approvers: question.approvers });
