// Calls of tools that the client of a run brings and runs itself. They are a step of the run, their results an event of it, so any replica may
// hand them out and take them in, and the run waits outside of every process.

import { randomBytes } from 'node:crypto';
import type { ClientTools } from '../../contract/nodes.ts';
import type { Json } from '../../contract/nouns.ts';
import type { ChatTool, ChatToolCall } from '../../contract/providers.ts';
import type { ModelUse } from '../../contract/results.ts';
import type { RunStep } from '../../store/store.ts';
import type { Envelopes } from '../envelopes.ts';
import type { Try } from '../node-runs.ts';
import type { VerbParts } from '../verbs.ts';
import type { Said, Wishes } from './conversation.ts';
import type { TurnUse } from './turn-use.ts';

/** The time that a client has for the results of its tools: a run that nobody comes back to ends. */
const WAIT_MS = 60 * 60_000;
const ID = /^call_([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{12}$/;

/** The calls of one answer of a model, as their step keeps them. A type alias, since it is stored as JSON. */
export type Handed = { calls: { id: string; name: string; arguments: string }[]; use: ModelUse | null };

/** Calls whose results are not here yet, and the step that they are. */
export interface PendingCalls extends Handed {
	key: string;
}

/**
 * The results of calls, by their ids, with what the user said after them, and the wishes of the request that brought them. A type alias, since it
 * is stored as JSON.
 */
export type Brought = { results: Record<string, string>; wishes: Wishes; said?: readonly Said[] };

interface Parts extends Pick<VerbParts, 'run' | 'envelopes' | 'trace'> {
	/** Returns the tools that the client offers by now. */
	list(): readonly ChatTool[];
	uses: TurnUse;
	/** Hears of the request that brought the results of these calls of the model. */
	brought(calls: readonly ChatToolCall[], wishes: Wishes, said: readonly Said[]): void;
}

/** Returns the tools of the client for one try of a node. */
export const clientToolsOf = (one: Try, { run, envelopes, trace, list, uses, brought }: Parts): ClientTools => ({
	get list() {
		return list();
	},
	async call(calls, key) {
		const step = `${one.key}/client:${key}`;
		const named = (): Handed => ({
			calls: calls.map(({ name, arguments: args }) => ({ id: newCallId(run.id), name, arguments: args })),
			use: uses.untold,
		});
		const handed = envelopes.open(await run.step(step, async () => envelopes.seal(named() as unknown as Json))) as unknown as Handed;
		uses.tells(handed.use);
		trace.wait(one.traced, true);
		const answer = await one.hold.without(() => run.event<Json>(eventOf(step), { timeoutMs: WAIT_MS, signal: one.signal }));
		trace.wait(one.traced, false);
		await run.step(resultsOf(step), async () => true);
		// It was sealed as such by the request that brought them.
		const { results, wishes, said = [] } = envelopes.open(answer) as unknown as Brought;
		brought(calls, wishes, said);
		return handed.calls.map(({ id }) => results[id] ?? '');
	},
});

/** The event that has the results of the calls of a step. */
export const eventOf = (step: string): string => `${step}/answer`;

const resultsOf = (step: string): string => `${step}/results`;
const isCalls = ({ key, status }: RunStep): boolean => /\/client:[^/]+$/.test(key) && status === 'done';

/** Returns the keys of the steps that handed out calls: of all, or of those whose results the run waits for. */
export function callKeys(steps: readonly RunStep[], arePending: boolean): string[] {
	const keys = new Set(steps.map(({ key }) => key));
	return steps.filter((step) => isCalls(step) && !(arePending && keys.has(resultsOf(step.key)))).map(({ key }) => key);
}

/** Returns the calls that steps with whole outputs have handed out. */
export const handedCalls = (steps: readonly RunStep[], envelopes: Envelopes): PendingCalls[] =>
	steps.filter(isCalls).map(({ key, output }) => ({ ...(envelopes.open(output) as unknown as Handed), key }));

/** The id of a call names its run, since clients keep nothing else of it. */
const newCallId = (runId: string): string =>
	`call_${Buffer.from(runId.replaceAll('-', ''), 'hex').toString('base64url')}${randomBytes(9).toString('base64url')}`;

/** Returns the id of the run that a call belongs to; null for an id that is none of ours. */
export function runOfCall(id: string): string | null {
	const [, name] = ID.exec(id) ?? [];
	if (name === undefined) return null;
	return Buffer.from(name, 'base64url')
		.toString('hex')
		.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
