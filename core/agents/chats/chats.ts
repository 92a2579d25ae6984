// Conversations with agents: a client hears the text of its run as it arrives, gets the calls of its own tools, and brings their results.

import { GatewayError } from '../../contract/errors.ts';
import type { Json } from '../../contract/nouns.ts';
import type { ChatToolCall } from '../../contract/providers.ts';
import type { ModelUse } from '../../contract/results.ts';
import type { Registry } from '../../registry/registry.ts';
import { hasRunEnded } from '../../runs/following.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Secrets } from '../../secrets/envelopes.ts';
import type { AgentRow, Agents, AskedPlace, Execution, Run } from '../../store/store.ts';
import type { CallParts } from '../../tools/call-parts.ts';
import type { ExecutionPlace } from '../agents.ts';
import { definitionOf } from '../definition.ts';
import { Envelopes } from '../envelopes.ts';
import { openExecution } from '../executions.ts';
import { compileGraph, type Graph } from '../graph.ts';
import { openedOutput } from '../program.ts';
import { type ToolboxParts, toolbox } from '../toolbox.ts';
import { type Brought, callKeys, eventOf, handedCalls, type PendingCalls, runOfCall } from './client-calls.ts';
import type { Hearing, Said, Wishes } from './conversation.ts';
import { Heard } from './heard.ts';
import { plus } from './turn-use.ts';

/** One event of a turn; the last one is not `text`. */
export type TurnEvent =
	| { type: 'text'; text: string }
	/** The run has ended. `rest` is what the client has not heard of its output; null: what it heard is not the output. */
	| { type: 'ended'; execution: Execution; rest: string | null; use: ModelUse | null; reason: string; hasActed: boolean }
	/** The run waits for tools of the client. */
	| { type: 'calls'; calls: ChatToolCall[]; use: ModelUse | null }
	/** The run waits for people, or one that it started does. */
	| { type: 'asked'; at: AskedPlace };

export interface TurnOf {
	place: ExecutionPlace;
	heard: Heard;
	/** The keys of calls whose results were given. */
	answered?: readonly string[];
}

export interface AgentChats {
	/** Hears what the run of this reference says in this process; from before its start on. */
	listen(ref: string): Heard & Disposable;
	/** Yields what the run says until it ends or waits for somebody. */
	turn(of: TurnOf, signal: AbortSignal): AsyncGenerator<TurnEvent, void>;
	/** Returns the id of the execution that calls with these ids belong to; null when they are not of one. */
	executionOf(callIds: readonly string[]): string | null;
	/** Finds an execution of an agent, and the reference by which it is heard; null when there is none. */
	find(agent: AgentRow, id: string): Promise<{ execution: Execution; ref: string } | null>;
	/** Tells whether the execution waits for the result of one of these calls. @throws not_found */
	awaits(place: ExecutionPlace, callIds: readonly string[]): Promise<boolean>;
	/**
	 * Gives the results of the client's tools, by the ids of the calls, what its user said after them, and the wishes with which the run goes on.
	 * @returns the keys of the calls @throws validation_failed naming calls that have none
	 */
	bring(place: ExecutionPlace, results: ReadonlyMap<string, string>, said: readonly Said[], wishes: Wishes): Promise<string[]>;
	/** Returns which of these names a tool has that a node offers; null when no node lets a model call tools of a client. */
	clashes(agent: AgentRow, names: readonly string[]): Promise<string[] | null>;
}

interface ChatParts {
	registry: Registry;
	secrets: Secrets;
	runs: Pick<Runs, 'follow' | 'steps' | 'signal'>;
	agents: Pick<Agents, 'executionOf' | 'asking'>;
	services: () => ToolboxParts['services'];
	shelfOf: ToolboxParts['shelfOf'];
}

/** Those who hear runs of this process, by the reference of the run. */
export class Hearings {
	readonly #byRef = new Map<string, Heard>();

	of(ref: string): Hearing | null {
		return this.#byRef.get(ref) ?? null;
	}

	add(ref: string): Heard & Disposable {
		const heard = new Heard();
		this.#byRef.set(ref, heard);
		return Object.assign(heard, { [Symbol.dispose]: () => void (this.#byRef.get(ref) === heard && this.#byRef.delete(ref)) });
	}
}

export function createChats(parts: ChatParts, hearings: Hearings): AgentChats {
	const { registry, secrets, runs, agents } = parts;
	const envelopesOf = (run: Run): Envelopes => new Envelopes(secrets, run.organizationId, definitionOf(run).ref);
	const found = async ({ organizationId, id }: ExecutionPlace): Promise<Execution> => {
		const execution = await agents.executionOf(organizationId, id);
		if (!execution) throw new GatewayError('not_found', 'Execution not found.');
		return execution;
	};

	const callsOf = async (run: Run, place: ExecutionPlace, arePending: boolean): Promise<PendingCalls[]> => {
		const keys = callKeys(await runs.steps(place, { outputs: false }), arePending);
		return keys.length > 0 ? handedCalls(await runs.steps(place, { keys }), envelopesOf(run)) : [];
	};

	/** Returns what a run that does not go on by itself waits for; null when it goes on. */
	const waitsFor = async (run: Run, place: ExecutionPlace, answered: readonly string[]): Promise<TurnEvent | null> => {
		const pending = (await callsOf(run, place, true)).filter(({ key }) => !answered.includes(key));
		const use = pending.reduce<ModelUse | null>((sum, one) => plus(sum, one.use), null);
		if (pending.length > 0) return { type: 'calls', calls: pending.flatMap(({ calls }) => calls), use };
		const at = (await agents.asking(place.organizationId, [place.id])).get(place.id);
		return at ? { type: 'asked', at } : null;
	};

	const endOf = async (place: ExecutionPlace, heard: Heard): Promise<TurnEvent> => {
		const execution = await found(place);
		const { ended } = openedOutput(envelopesOf(execution.run), execution.run.output);
		const opened = openExecution(secrets, execution);
		const { use = null, reason = 'stop' } = ended ?? {};
		return { type: 'ended', execution: opened, rest: heard.restOf(contentOf(opened.run.output)), use, reason, hasActed: heard.hasActed };
	};

	async function* turn({ place, heard, answered = [] }: TurnOf, signal: AbortSignal): AsyncGenerator<TurnEvent, void> {
		const stop = new AbortController();
		let [seen, fault, isOver] = [null as Run | null, null as { thrown: unknown } | null, false];
		const follow = async (): Promise<void> => {
			let latest: Run | null = null;
			try {
				for await (const run of runs.follow(place, AbortSignal.any([signal, stop.signal]))) {
					latest = run ?? latest;
					// A question of an agent that it started is no change of the run itself.
					if (!run && latest?.status !== 'waiting') continue;
					seen = latest;
					heard.wake();
				}
			} catch (thrown) {
				fault = { thrown };
			}
			isOver = true;
			heard.wake();
		};
		void follow();
		try {
			for (;;) {
				const text = heard.take();
				if (text !== '') {
					yield { type: 'text', text };
					continue;
				}
				const run: Run | null = seen;
				seen = null;
				if (run && hasRunEnded(run)) return yield await endOf(place, heard);
				const waiting: TurnEvent | null = run?.status === 'waiting' ? await waitsFor(run, place, answered) : null;
				if (waiting) return yield waiting;
				if (fault) throw (fault as { thrown: unknown }).thrown;
				signal.throwIfAborted();
				if (isOver && !seen) throw new GatewayError('not_found', 'Execution not found.');
				await heard.wait();
			}
		} finally {
			stop.abort();
		}
	}

	return {
		listen: (ref) => hearings.add(ref),
		turn,
		executionOf(callIds) {
			const [id = null, other] = new Set(callIds.map(runOfCall));
			return other === undefined ? id : null;
		},
		async find({ id: agentId, organizationId }, id) {
			const execution = await agents.executionOf(organizationId, id);
			return execution?.agentId === agentId ? { execution, ref: definitionOf(execution.run).ref } : null;
		},
		async awaits(place, callIds) {
			const { run } = await found(place);
			if (hasRunEnded(run)) return false;
			const pending = await callsOf(run, place, true);
			return pending.some(({ calls }) => calls.some(({ id }) => callIds.includes(id)));
		},
		async bring(place, results, said, wishes) {
			const { run } = await found(place);
			const envelopes = envelopesOf(run);
			const asked = await callsOf(run, place, false);
			const given = asked.filter(({ calls }) => calls.some(({ id }) => results.has(id)));
			assertWhole(given, results);
			for (const { key, calls } of given) {
				const own: Brought = { results: Object.fromEntries(calls.map(({ id }) => [id, results.get(id) ?? ''])), wishes, said };
				// The first results count; a repeated request gets what followed them.
				await runs.signal(place, eventOf(key), envelopes.seal(own as unknown as Json));
			}
			return given.map(({ key }) => key);
		},
		async clashes({ organizationId, pipeline }, names) {
			const nodes = takers(compileGraph(registry, pipeline));
			if (nodes.length === 0) return null;
			const uses = nodes.flatMap((node) => node.uses);
			const { services, shelfOf } = parts;
			// The tools are listed, not run.
			const around = {} as CallParts & { caller: never };
			const { list } = await toolbox({ services: services(), organizationId, uses, shelfOf, around });
			const taken = new Set(list.map(({ name }) => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)));
			return names.filter((name) => taken.has(name));
		},
	};
}

/** The nodes that let a model call tools of the client, those in bodies included. */
const takers = ({ nodes }: Graph): { uses: readonly ToolboxParts['uses'][number][] }[] =>
	[...nodes.values()].flatMap((node) => [...(node.plugin.offersClientTools ? [node] : []), ...(node.body ? takers(node.body) : [])]);

function assertWhole(given: readonly PendingCalls[], results: ReadonlyMap<string, string>): void {
	const missing = given.flatMap(({ calls }) => calls).find(({ id }) => !results.has(id));
	const unknown = [...results.keys()].find((id) => !given.some(({ calls }) => calls.some((call) => call.id === id)));
	if (!missing && unknown === undefined && given.length > 0) return;
	const message = missing
		? `The result of the tool call "${missing.id}" is missing: each call of a turn needs one.`
		: `No tool was called under the id "${unknown ?? ''}".`;
	throw new GatewayError('validation_failed', message, { details: [{ path: '/messages', message }] });
}

/** The output of a run as the content of a message. */
export const contentOf = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output));
