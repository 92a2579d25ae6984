// Invokes an agent, for a caller who waits, or not.

import { createHash, randomUUID } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentAsked,
	type AgentRow,
	accept,
	actorOf,
	asGatewayError,
	type Core,
	clientSignal,
	type Execution,
	GatewayError,
	type JsonObject,
	operation,
	organizationOf,
	showPreferences,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { INVOKE } from './fields.ts';
import { findAgent } from './find.ts';
import { durationOf, INVOKED, STARTED } from './present.ts';

interface InvokeBody {
	input: JsonObject;
	options?: { timeout?: number; trace?: boolean };
}

/** The first wait for the end, and the longest: in between it is looked whether the run waits for people. */
const SLICES_MS = { first: 500, most: 5000 };

export const invokeRoute = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents/{id}/invoke',
		id: 'invokeAgent',
		summary: 'Runs an agent, and answers with its output.',
		description:
			'With `?async=true`, or `Prefer: respond-async`, the answer comes at once: a 202 whose `Location` shows the execution. So does a call without `options.timeout` whose execution ' +
			'has not ended after 55 seconds, or that waits for an approval; the execution goes on. When the caller leaves before, the execution is cancelled, ' +
			'unless the agent’s `onDisconnect` is `continue`. With an `Idempotency-Key`, a repeated request gets the first answer, also that of a failure.',
		need: 'agents:execute',
		query: Joi.object({ async: Joi.boolean().default(false).description('Answer at once, with the place of the execution.') }),
		body: INVOKE,
		integers: 'exact',
		bare: true,
		answer: INVOKED,
		accepted: STARTED,
		errors: ['conflict', 'rate_limited', 'agent_failed'],
		idempotent: true,
		slow: true,
		handler: async (request) => {
			const agent = await findAgent(request, core);
			const prefers = /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i.test(request.raw.req.headers['prefer']?.toString() ?? '');
			const isAsync = prefers || request.query['async'] === true;
			if (prefers) showPreferences(request, ['respond-async']);
			// Before the start, so that no leaving is missed.
			const signal = clientSignal(request);
			const keyed = await underKey(request, core, agent);
			const execution = await start(request, core, { agent, isAsync, keyed });
			try {
				const answer = isAsync ? later(request, execution, false) : await answerOf(request, core, agent, { execution, signal });
				await keyed?.answered();
				return answer;
			} catch (thrown) {
				if (asGatewayError(thrown)?.code === 'agent_failed') await keyed?.answered();
				throw thrown;
			}
		},
	});

interface Starting {
	agent: AgentRow;
	isAsync: boolean;
	keyed: Keyed | null;
}

async function start(request: Request, core: Core, { agent, isAsync, keyed }: Starting): Promise<Execution> {
	// The body has passed INVOKE.
	const { input, options: { timeout } = {} } = request.payload as InvokeBody;
	const goesOn = isAsync || agent.settings.onDisconnect === 'continue';
	return begin(core, {
		...{ organizationId: organizationOf(request).id, agent, input, trigger: 'manual', startedBy: actorOf(request).email },
		...{ here: !isAsync, onLoss: goesOn ? 'resume' : 'fail' },
		...(timeout !== undefined && { timeoutMs: timeout }),
		...(keyed && { dedupe: keyed.dedupe }),
	});
}

/** The one run of all requests under an `Idempotency-Key`. */
interface Keyed {
	dedupe: string;
	/** Says that the key is about to keep the answer, which repetitions get from then on. */
	answered(): Promise<void>;
}

/**
 * Notes the run of a request that has an `Idempotency-Key` before it begins. A request whose process dies keeps no answer, and is executed again where it
 * is repeated: it waits for the run that was started then. The note goes with the answer, so that an organization has few.
 */
async function underKey(request: Request, core: Core, { organizationId, id }: AgentRow): Promise<Keyed | null> {
	const key = request.raw.req.headers['idempotency-key']?.toString();
	if (key === undefined) return null;
	const asked = JSON.stringify([actorOf(request).userId, id, key, request.query, request.payload]);
	const place = `invoke:${createHash('sha256').update(asked).digest('base64url')}`;
	const records = core.recordsOf({ organizationId });
	const own = `invoke:${randomUUID()}`;
	const isFirst = await records.add(place, { dedupe: own }, { ttlMs: BOUNDS.keyMs });
	const dedupe = isFirst ? own : (await records.get(place))?.value['dedupe'];
	const answered = async (): Promise<void> => void (await records.remove(place));
	return { dedupe: typeof dedupe === 'string' ? dedupe : own, answered };
}

/** Starts a run. @throws validation_failed naming the field of the body */
async function begin({ agents }: Core, asked: AgentAsked): Promise<Execution> {
	try {
		return await agents.start(asked);
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error?.code !== 'validation_failed') throw thrown;
		const details = error.details.map(({ path, message }) => ({ path: `/input${path === '/' ? '' : path}`, message }));
		throw new GatewayError('validation_failed', error.message, { details });
	}
}

interface Awaited {
	execution: Execution;
	signal: AbortSignal;
}

async function answerOf(request: Request, core: Core, agent: AgentRow, { execution, signal }: Awaited) {
	const { options: { timeout, trace } = {} } = request.payload as InvokeBody;
	const { organizationId, id } = execution.run;
	const place = { organizationId, id };
	const { seen, isAsked } = await settled(core, place, { ms: timeout ?? BOUNDS.waitMs, isBounded: timeout === undefined, signal });
	if (seen?.run.finishedAt) {
		if (seen.run.status !== 'succeeded') throw failureOf(seen);
		const { output } = seen.run;
		const answer = { output, executionId: id, duration: durationOf(seen.run) ?? 0, tokensUsed: seen.tokensUsed };
		return trace ? { ...answer, trace: await core.agents.trace(place) } : answer;
	}
	// A service that stops gives the run back; nobody has left.
	if (signal.aborted && !core.stopping.aborted && agent.settings.onDisconnect !== 'continue') await core.agents.cancel(place);
	return later(request, seen ?? execution, isAsked);
}

/** Waits until an execution has ended, waits for people, or the time is over. @param isBounded whether the time is ours, not the run's */
async function settled(
	core: Core,
	place: { organizationId: string; id: string },
	{ ms, isBounded, signal }: { ms: number; isBounded: boolean; signal: AbortSignal },
): Promise<{ seen: Execution | null; isAsked: boolean }> {
	// The run ends by its own time limit, of which its row tells a little later.
	const untilMs = performance.now() + ms + (isBounded ? 0 : SLICES_MS.most);
	let seen: Execution | null = null;
	for (let slice: number = SLICES_MS.first; !signal.aborted; slice = Math.min(slice * 2, SLICES_MS.most)) {
		const left = untilMs - performance.now();
		if (left <= 0) break;
		seen = await core.agents.wait(place, Math.min(slice, left), signal);
		if (seen.run.finishedAt) break;
		if (seen.run.status === 'waiting' && (await core.agents.asked(place)) !== null) return { seen, isAsked: true };
	}
	return { seen, isAsked: false };
}

/** Answers before the end. */
export function later(request: Request, { agentId, run }: Execution, isAsked: boolean) {
	const url = `/agents/${agentId}/executions/${run.id}`;
	accept(request, { location: url, 'retry-after': '1' });
	const detail = run.status === 'queued' ? 'queued' : null;
	return { executionId: run.id, status: 'running', statusDetail: isAsked ? 'waiting_approval' : detail, url };
}

function failureOf({ run }: Execution): GatewayError {
	const { code = 'internal', message = '' } = run.error ?? {};
	const more = { executionId: run.id, reason: code };
	return new GatewayError('agent_failed', ['The agent failed.', message].join(' ').trim(), { more, headers: { 'x-execution-id': run.id } });
}
