// Answers of the client for whom an agent runs as a tool, to what the run asks people.

import type { AgentRunOptions } from '../contract/agents.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Agents, AskedPlace } from '../store/store.ts';
import type { AgentEngine, ExecutionPlace } from './agents.ts';

interface Answering {
	engine: Pick<AgentEngine, 'asked' | 'waiting' | 'answer'>;
	agents: Pick<Agents, 'answered'>;
	/** Whoever answers, for people to read. */
	by: string | null;
	options: AgentRunOptions & { signal: AbortSignal };
	/** The keys of the questions that were answered before. */
	answered: Set<string>;
}

type Asking = Answering & Required<Pick<AgentRunOptions, 'answer'>>;

/** The answer to a question was refused, so the run has no way on. */
export class Unanswerable extends Error {}

/**
 * Answers the questions that a run waits for, and those of runs that it started. @throws conflict that says where they are answered,
 * Unanswerable
 */
export async function answerAll(place: ExecutionPlace, answering: Answering): Promise<void> {
	const { answer } = answering.options;
	if (!answer) return;
	for (;;) {
		const asked = await answering.engine.asked(place);
		// Questions without an answer yet, which may come from elsewhere, are looked at again later.
		if (!asked || !(await answerThoseOf(asked, place, { ...answering, answer }))) return;
	}
}

/** Answers the questions of one run. @param top the run of the call @returns whether there was one that had not been answered */
async function answerThoseOf({ agentId, runId: id }: AskedPlace, top: ExecutionPlace, asking: Asking): Promise<boolean> {
	const { engine, agents, by, answered } = asking;
	const { organizationId } = top;
	let isAny = false;
	for (const { key: own, message, schema, approvers } of await engine.waiting({ organizationId, id })) {
		const key = id === top.id ? own : `${id}/${own}`;
		if (answered.has(key)) continue;
		answered.add(key);
		isAny = true;
		const question = { executionId: top.id, key, message, schema, isRestricted: approvers !== null };
		const answer = await asking.answer(question).catch((cause: unknown) => {
			throw new Unanswerable('The question was not answered.', { cause });
		});
		if (answer === null) throw elsewhere(agentId, id);
		try {
			await engine.answer({ organizationId, id }, own, answer);
			// Another call that waits for the same run asks it no more.
			await agents.answered(organizationId, id, own, by);
		} catch (thrown) {
			unlessAnswered(thrown);
		}
	}
	return isAny;
}

const elsewhere = (agentId: string, id: string): GatewayError =>
	new GatewayError(
		'conflict',
		`The agent waits for the answer of a person, which this client cannot give: POST /agents/${agentId}/executions/${id}/approve takes it. Then make the same call again for its result.`,
	);

/** Somebody else was faster. */
function unlessAnswered(thrown: unknown): void {
	const { code } = asGatewayError(thrown) ?? {};
	if (code !== 'conflict' && code !== 'not_found') throw thrown;
}
