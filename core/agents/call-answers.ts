// Answers of the client for whom an agent runs as a tool, to what the run asks people.

import type { AgentRunOptions } from '../contract/agents.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Agents } from '../store/store.ts';
import type { AgentEngine, ExecutionPlace } from './agents.ts';

interface Answering {
	engine: Pick<AgentEngine, 'waiting' | 'answer'>;
	agents: Pick<Agents, 'answered'>;
	/** Whoever answers, for people to read. */
	by: string | null;
	options: AgentRunOptions & { signal: AbortSignal };
	agentId: string;
	/** The questions that were answered before, by their keys. */
	answered: Set<string>;
}

/** The answer to a question was refused, so the run has no way on. */
export class Unanswerable extends Error {}

/** Answers the questions that a run waits for. @throws conflict that says where they are answered, Unanswerable */
export async function answerAll(place: ExecutionPlace, { engine, agents, by, options, agentId, answered }: Answering): Promise<void> {
	if (!options.answer) return;
	for (const { key, message, schema, approvers } of await engine.waiting(place)) {
		if (answered.has(key)) continue;
		answered.add(key);
		const question = { executionId: place.id, key, message, schema, isRestricted: approvers !== null };
		const answer = await options.answer(question).catch((cause: unknown) => {
			throw new Unanswerable('The question was not answered.', { cause });
		});
		if (answer === null) throw elsewhere(agentId, place);
		try {
			await engine.answer(place, key, answer);
			// Another call that waits for the same run asks it no more.
			await agents.answered(place.organizationId, place.id, key, by);
		} catch (thrown) {
			unlessAnswered(thrown);
		}
	}
}

const elsewhere = (agentId: string, { id }: ExecutionPlace): GatewayError =>
	new GatewayError(
		'conflict',
		`The agent waits for the answer of a person, which this client cannot give: POST /agents/${agentId}/executions/${id}/approve takes it. Then make the same call again for its result.`,
	);

/** Somebody else was faster. */
function unlessAnswered(thrown: unknown): void {
	const { code } = asGatewayError(thrown) ?? {};
	if (code !== 'conflict' && code !== 'not_found') throw thrown;
}
