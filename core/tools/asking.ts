// Asks the user of a call's client, by the way that its transport lends, and bounds the questions that wait for an answer.

import type { Answer, Asker, Question } from '../contract/asking.ts';
import { GatewayError, PluginFault } from '../contract/errors.ts';
import type { Caller } from '../contract/nouns.ts';
import { deepFreeze, isObject } from '../kit/json.ts';
import { answerUnder } from '../process/hooks.ts';
import type { AccountOf } from '../shared/accounts.ts';
import { fittingAnswer, questionFault } from './question-schema.ts';

/** Questions that wait in this process at once: each holds a call and its connection. */
const MOST_OF_CALLER = 16;
const MOST_OF_ACCOUNT = 100;

/** The questions of this process that wait for an answer, counted by caller and by account. */
export class WaitingQuestions {
	/** Aborts when the service stops. */
	readonly stopping: AbortSignal;
	readonly #counts = new Map<string, number>();

	constructor(stopping: AbortSignal) {
		this.stopping = stopping;
	}

	/** Counts a question by each name. @returns a function that ends it. @throws rate_limited, and then counts it by none */
	hold(names: readonly { name: string; most: number }[]): () => void {
		const full = names.find(({ name, most }) => (this.#counts.get(name) ?? 0) >= most);
		if (full) throw new GatewayError('rate_limited', `${full.most} questions already wait for their users: answer one of them first.`);
		for (const { name } of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
		return () => {
			for (const { name } of names) this.#release(name);
		};
	}

	#release(name: string): void {
		const left = (this.#counts.get(name) ?? 0) - 1;
		if (left > 0) this.#counts.set(name, left);
		else this.#counts.delete(name);
	}
}

/** The call in which a question is asked. */
export interface AskingCall {
	/** `kind:name` of the plugin that asks. */
	plugin: string;
	organizationId: string;
	caller: Caller | null;
	/** Null or absent when the client has no user to ask. */
	asker?: Asker | null;
	/** `kind:name` of the plugin that lent the asker. */
	askedBy?: string;
	/** Ends the run in which the question was asked; absent outside one. */
	suspend?: ((reason: GatewayError) => void) | undefined;
	signal: AbortSignal;
}

interface AskingParts {
	waiting: WaitingQuestions;
	accountOf: AccountOf;
}

/** @throws not_implemented naming `client/elicitation`, rate_limited, validation_failed for an answer that does not fit, PluginFault */
export async function askUser(question: Question, call: AskingCall, { waiting, accountOf }: AskingParts): Promise<Answer> {
	const { plugin, organizationId, caller, asker, askedBy = plugin, signal } = call;
	const fault = questionFault(question);
	if (fault !== null) throw new PluginFault(plugin, `ask: ${fault}.`);
	if (!asker) throw unaskable('This needs an answer of the user, and the client cannot ask its user.');
	const asked = deepFreeze(structuredClone(question));
	const account = { name: `account:${await accountOf(organizationId)}`, most: MOST_OF_ACCOUNT };
	const ending = AbortSignal.any([signal, waiting.stopping]);
	ending.throwIfAborted();
	const release = waiting.hold([...ownOf(organizationId, caller), account]);
	try {
		const answer = await answerUnder({ plugin: askedBy, hook: 'ask' }, ending, () => asker(asked, ending));
		if (answer === 'later') throw suspended(call);
		return checked(askedBy, asked, answer);
	} finally {
		release();
	}
}

/** Callers without a name of their own count by the account alone. */
const ownOf = (organizationId: string, caller: Caller | null): { name: string; most: number }[] =>
	caller === null || caller.subject === 'anonymous' ? [] : [{ name: `caller:${organizationId}:${caller.subject}`, most: MOST_OF_CALLER }];

/** The error of a transport or client that cannot ask. */
export const unaskable = (message: string): GatewayError =>
	new GatewayError('not_implemented', message, { details: [{ path: 'client/elicitation', message: 'is needed by this tool.' }] });

/** Ends the run even if the executor catches the error and goes on: the client will send the call again. */
function suspended({ suspend }: AskingCall): GatewayError {
	const reason = unaskable('The tool waits for an answer of the user, with which the call is to be sent again.');
	// An executor that lets the error through ends by it.
	setImmediate(() => suspend?.(reason));
	return reason;
}

function checked(plugin: string, { schema }: Question, answer: unknown): Answer {
	const action = isObject(answer) ? answer['action'] : null;
	if (action === 'decline' || action === 'cancel') return { action };
	if (action !== 'accept') throw new PluginFault(plugin, 'the answer of ask must have accept, decline or cancel as action.');
	return { action, content: fittingAnswer(schema, (answer as { content?: unknown }).content) };
}
