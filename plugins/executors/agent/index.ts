// The `agent` executor: an agent of the organization as a tool.

import { createHash } from 'node:crypto';
import Joi from 'joi';
import {
	type AgentQuestion,
	type Call,
	GatewayError,
	type Json,
	type JsonObject,
	type ToolExecutor,
	type ToolResult,
} from '../../../core/index.ts';
import { answerOf, formOf } from './questions.ts';

interface AgentToolConfig {
	agentId: string;
	timeoutMs: number;
}

/** The longest that a task may wait for a run. */
const LONGEST_MS = 3_600_000;

export default {
	kind: 'executor',
	api: 1,
	name: 'agent',
	creatable: true,
	summary: 'Runs an agent of the organization: arguments are its input, its output is the result.',
	config: Joi.object<AgentToolConfig>({
		agentId: Joi.string()
			.guid()
			.required()
			.description('Id of the agent. A tool without `parameters` takes its input schema, also when that changes'),
		timeoutMs: Joi.number()
			.integer()
			.min(1)
			.max(LONGEST_MS)
			.default(120_000)
			.description(
				'Milliseconds for the whole run, which is cancelled then. Requests to gateways end after two minutes; only a task of A2A lasts longer',
			),
	}),
	deadlineMs: LONGEST_MS,
	agent: ({ agentId }) => ({ id: agentId, at: '/executionConfig/agentId' }),
	async execute(args, { agentId, timeoutMs }, call) {
		const late = new AbortController();
		const tooLate = new GatewayError('upstream_timeout', `The agent took longer than ${timeoutMs} ms.`);
		const timer = setTimeout(() => late.abort(tooLate), timeoutMs);
		try {
			return resultOf(await run(args, agentId, call, AbortSignal.any([call.signal, late.signal])));
		} catch (thrown) {
			throw late.signal.aborted && !call.signal.aborted ? tooLate : thrown;
		} finally {
			clearTimeout(timer);
		}
	},
} satisfies ToolExecutor<AgentToolConfig>;

/** Time in which the same call finds the run again that waits for an answer. */
const WAITS_MS = 600_000;

/**
 * Runs the agent. One that waits for an answer is found again by the same call of the same caller, so that its nodes do not run twice: a
 * client sends the call once more with the answer, or after somebody has approved.
 */
async function run(args: JsonObject, agentId: string, call: Call, signal: AbortSignal): Promise<Json> {
	const key = waitingKey(args, agentId, call);
	const resume = key === null ? null : await call.kv.get(key);
	let isWaiting = false;
	const answer = async (question: AgentQuestion): Promise<Json> => {
		if (key !== null) await call.kv.put(key, question.executionId, WAITS_MS);
		const given = await ask(question, call);
		isWaiting = given === null;
		return given;
	};
	try {
		return await call.agents.run(agentId, args, { signal, answer, ...(resume !== null && { resume }) });
	} finally {
		// A run that has ended, however it did, has told its result by now.
		if (key !== null && !isWaiting) await call.kv.drop(key);
	}
}

/** Callers without a name are not told apart. */
function waitingKey(args: JsonObject, agentId: string, { caller, tool }: Call): string | null {
	if (caller === null || caller.subject === 'anonymous') return null;
	const call = JSON.stringify([agentId, tool?.id ?? null, caller.method, caller.subject, args]);
	return `waits:${createHash('sha256').update(call).digest('base64url')}`;
}

/** Asks the user of the client. @returns null where that is not possible. @throws forbidden when they do not answer */
async function ask({ message, schema, isRestricted, key }: AgentQuestion, call: Call): Promise<Json> {
	// The user of a client is not known to be one of those who may answer.
	const form = isRestricted ? null : formOf(schema);
	if (form === null) return null;
	try {
		return answerOf(
			await call.ask({
				key: `q_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`,
				message: message.slice(0, 4000),
				schema: form,
			}),
			form,
		);
	} catch (thrown) {
		if (thrown instanceof GatewayError && thrown.code === 'not_implemented') return null;
		throw thrown;
	}
}

const resultOf = (output: Json): ToolResult =>
	typeof output === 'string'
		? { content: [{ type: 'text', text: output }] }
		: { content: [{ type: 'text', text: JSON.stringify(output) }], structured: output };
