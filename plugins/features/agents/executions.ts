// The executions of an agent: listed, shown with their trace, followed, cancelled, retried.

import { createHash } from 'node:crypto';
import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	actorOf,
	answerEvents,
	type Core,
	count,
	type Execution,
	type ExecutionFilter,
	type ExecutionSummary,
	GatewayError,
	lastEventIdOf,
	operation,
	organizationOf,
	type ServerEvent,
	shape,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { findAgent, findExecution } from './find.ts';
import { EXECUTION, EXECUTION_DETAIL, presentDetail, presentExecution, TRACE } from './present.ts';

const RECONNECT_MS = 2_000;
const PAGE = 100;

export const executionRoutes = (core: Core): ServerRoute[] => [
	listExecutions(core),
	getExecution(core),
	getTrace(core),
	followExecution(core),
	cancelExecution(core),
	retryExecution(core),
];

const PLACE = '/agents/{id}/executions/{execId}';

const listExecutions = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}/executions',
		id: 'listAgentExecutions',
		summary: 'Lists the executions of an agent, the newest first, without inputs and outputs.',
		need: 'agents:read',
		query: Joi.object({
			limit: Joi.number().integer().min(1).max(PAGE).default(20).description('The greatest number of executions of the answer.'),
			offset: Joi.number().integer().min(0).max(BOUNDS.offset).default(0).description('The number of executions that are skipped.'),
			status: Joi.string().valid('success', 'failed', 'running'),
			trigger: Joi.string().valid('manual', 'webhook', 'schedule'),
		}),
		answer: shape({
			executions: Joi.array().items(EXECUTION),
			total: count.description('All that match; counted to 10,000.'),
			...{ limit: count, offset: count },
		}),
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			// The query has passed its schema.
			const { limit, offset, ...filter } = request.query as unknown as { limit: number; offset: number } & ExecutionFilter;
			const { executions, total } = await core.store.agents.executions(organizationId, id, { limit, offset }, filter);
			const waiting = executions.flatMap(({ run }) => (run.status === 'waiting' ? [run.id] : []));
			const asking = waiting.length > 0 ? await core.store.agents.asking(organizationId, waiting) : new Map();
			return { executions: executions.map((one) => presentExecution(one, asking.has(one.run.id))), total, limit, offset };
		},
	});

const getExecution = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: PLACE,
		id: 'getAgentExecution',
		summary: 'Shows an execution with its trace.',
		description:
			'Outputs in the trace are cut at 64 KiB, and left out where they are very large or many; `GET …/trace?key=` shows one of them whole.',
		need: 'agents:read',
		answer: EXECUTION_DETAIL,
		handler: async (request) => {
			const execution = await findExecution(request, core);
			return presentDetail(execution, await isAsked(core, execution), await core.agents.trace(execution.run));
		},
	});

const getTrace = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `${PLACE}/trace`,
		id: 'getAgentExecutionTrace',
		summary: 'Shows the trace of an execution, or one entry of it with its whole output.',
		need: 'agents:read',
		query: Joi.object({ key: Joi.string().min(1).max(1000).description('The `key` of an entry, which is shown alone and whole.') }),
		answer: TRACE,
		handler: async (request) => {
			const { run } = await findExecution(request, core);
			// The query has passed its schema.
			const { key } = request.query as { key?: string };
			return { trace: await core.agents.trace(run, key === undefined ? {} : { full: key }) };
		},
	});

const followExecution = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `${PLACE}/events`,
		id: 'followAgentExecution',
		summary: 'Streams the progress of an execution as server-sent events.',
		description:
			'The data of each event `progress`, and of the last one, `done`, is the execution as the list of executions shows it, with `nodes`: what each node ' +
			'did, without outputs. Reconnecting loses nothing: each stream begins with the current state, unless `Last-Event-ID` names it. A client that has ' +
			'received the end receives a 204, which makes an `EventSource` stop.',
		need: 'agents:read',
		bare: true,
		produces: 'text/event-stream',
		answer: Joi.string(),
		alsoAnswers: { 204: 'The execution has ended with the event that `Last-Event-ID` names; no more will follow.' },
		errors: ['rate_limited'],
		slow: true,
		handler: async (request) => {
			const execution = await findExecution(request, core);
			const known = lastEventIdOf(request);
			const now = await eventOf(core, execution);
			if (execution.run.finishedAt && now.id === known) return request.generateResponse(null).code(204);
			return answerEvents(request, core, (signal) => events(core, execution, { signal, known }));
		},
	});

async function* events(
	core: Core,
	{ run }: Execution,
	{ signal, known }: { signal: AbortSignal; known: string | null },
): AsyncGenerator<ServerEvent, void> {
	yield { retry: RECONNECT_MS };
	let last = known;
	for await (const execution of core.agents.follow(run, signal)) {
		const event = execution && (await eventOf(core, execution));
		const isNews = event && event.id !== last;
		if (event) last = event.id;
		yield isNews ? event : { comment: 'still there' };
	}
}

/** The event's id is derived from what is shown, so that it is the same on every replica. */
async function eventOf(core: Core, execution: ExecutionSummary): Promise<ServerEvent & { id: string }> {
	const steps = await core.agents.trace(execution.run, { outputs: false });
	const nodes = steps.map(({ output: _output, isTruncated: _cut, ...entry }) => entry);
	const data = { ...presentExecution(execution, await isAsked(core, execution)), nodes };
	const id = createHash('sha256').update(JSON.stringify(data)).digest('base64url').slice(0, 22);
	return { id, event: execution.run.finishedAt ? 'done' : 'progress', data };
}

const isAsked = async ({ agents }: Core, { run }: ExecutionSummary): Promise<boolean> =>
	run.status === 'waiting' && (await agents.asked(run)) !== null;

const cancelExecution = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: `${PLACE}/cancel`,
		id: 'cancelAgentExecution',
		summary: 'Cancels an execution, with what it started.',
		description: 'Cancelling twice has the same result as once.',
		need: 'agents:execute',
		answer: EXECUTION,
		errors: ['conflict'],
		handler: async (request) => {
			const before = await findExecution(request, core);
			const isCancelled = await core.agents.cancel(before.run);
			const after = await findExecution(request, core);
			if (!isCancelled && after.run.status !== 'cancelled')
				throw new GatewayError('conflict', 'The execution has ended already: it can no longer be cancelled.');
			return presentExecution(after, false);
		},
	});

const retryExecution = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: `${PLACE}/retry`,
		id: 'retryAgentExecution',
		summary: 'Runs a failed execution again, from where it failed.',
		description:
			'The retry is an execution of its own, under the same pipeline. Nodes that had ended are not run again: it has their outputs.',
		need: 'agents:execute',
		answer: EXECUTION,
		status: 201,
		errors: ['conflict', 'rate_limited'],
		idempotent: true,
		handler: async (request) => {
			const { run } = await findExecution(request, core);
			const retried = await core.agents.retry({ organizationId: organizationOf(request).id, id: run.id }, actorOf(request).email);
			return presentExecution(retried, false);
		},
	});
