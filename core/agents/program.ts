// The program of a run: the graph of its agent, walked in this process as far as it goes.

import type { Json } from '../contract/nouns.ts';
import type { Usage } from '../contract/providers.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { isObject } from '../kit/json.ts';
import { Semaphore } from '../kit/semaphore.ts';
import type { Spending, UsageMeter } from '../models/spending.ts';
import type { Registry } from '../registry/registry.ts';
import type { RunContext } from '../runs/context.ts';
import { RunError } from '../runs/context.ts';
import { persist } from '../runs/keeper.ts';
import type { Runs } from '../runs/runs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { Agents, QuestionRow } from '../store/store.ts';
import type { Services } from '../tools/call-parts.ts';
import type { Hearing } from './chats/conversation.ts';
import { type Ended, type Talks, talksOf } from './chats/talks.ts';
import { definitionOf, modelBudgets, type RunDefinition, runBudgets } from './definition.ts';
import { Envelopes } from './envelopes.ts';
import { compileGraph, type Graph } from './graph.ts';
import { type At, walk } from './interpreter.ts';
import { isOwn, type RunLines } from './logged-runs.ts';
import { NodeCaller, type NodeCallParts, noVerbs } from './node-call.ts';
import { NodeRuns, type Try } from './node-runs.ts';
import { Trace } from './trace.ts';
import { type VerbParts, verbsOf } from './verbs.ts';

export interface ProgramParts {
	registry: Registry;
	secrets: Secrets;
	services: () => Services;
	agents: Pick<Agents, 'get' | 'ask' | 'count'>;
	runs: Pick<Runs, 'cancel'>;
	/** Tells people of a question; never throws. */
	tell(question: QuestionRow): Promise<void>;
	shelfOf: NodeCallParts['shelfOf'];
	limits: NodeCallParts['limits'];
	lines: Pick<RunLines, 'begin'>;
	hearings: { of(ref: string): Hearing | null };
}

/** The nodes with an effect that run at once: of one run, and of one account in this process. */
const PER_RUN = 8;
const PER_ACCOUNT = 64;
const ACCOUNTS = 10_000;
/** Graphs are kept ready by agent and revision. */
const GRAPHS = 500;
/** A run that ends sooner tells nothing before its end. */
const TELL_AFTER_MS = 300;

export class AgentProgram {
	readonly #parts: ProgramParts;
	readonly #graphs = new BoundedMap<string, Graph>(GRAPHS);
	readonly #accounts = new BoundedMap<string, Semaphore>(ACCOUNTS);

	constructor(parts: ProgramParts) {
		this.#parts = parts;
	}

	/** @throws RunError that names the node */
	async run(run: RunContext): Promise<Json> {
		const definition = definitionOf(run);
		const agents = patient(this.#parts.agents, run.signal);
		const envelopes = new Envelopes(this.#parts.secrets, run.organizationId, definition.ref);
		const input = envelopes.open(run.input);
		const told = new Telling(run, envelopes);
		const trace = new Trace((isUrgent) => told.tell(isUrgent));
		told.trace = trace;
		const leave = run.hold();
		const meter = this.#parts.lines.begin(run);
		const talks = talksOf(definition, { run, envelopes, trace, hearing: () => this.#parts.hearings.of(definition.ref) });
		const nodes: NodeRuns = new NodeRuns({
			...{ run, trace, envelopes },
			slots: [
				new Semaphore(PER_RUN, Number.POSITIVE_INFINITY, never),
				await persist(run.signal, () => this.#accountSlots(run.organizationId, definition.chain.length)),
			],
			callOf: (one) => this.#callOf(one, { run, definition, verbs, talks, meter }),
			count: (used) => agents.count(run.organizationId, run.id, used),
			recalled: (use, attempt) => {
				if (isOwn(attempt)) meter.add(use);
				talks?.uses.recalled(use);
			},
		});
		const cancel = (id: string): Promise<boolean> => this.#parts.runs.cancel({ organizationId: run.organizationId, id });
		const verbs: VerbParts = { run, definition, envelopes, trace, nodes, cancel, agents, tell: this.#parts.tell };
		const at: At = { prefix: '', iteration: [], scope: { input, nodes: {} }, signal: run.signal };
		try {
			const graph = this.#graphOf(run.organizationId, definition);
			leave();
			talks?.begin(graph);
			const output = await walk({ graph, at, rootFrom: [] }, nodes);
			told.end();
			return envelopes.seal({ output, trace: trace.stored(true), ...(talks && { ended: talks.ended }) } as unknown as Json);
		} catch (error) {
			told.last();
			throw error;
		} finally {
			leave();
			told.end();
		}
	}

	#graphOf(organizationId: string, { agentId, revision, pipeline }: RunDefinition): Graph {
		const key = `${organizationId}:${agentId}:${revision}`;
		const found = this.#graphs.get(key) ?? compileGraph(this.#parts.registry, pipeline);
		this.#graphs.set(key, found);
		return found;
	}

	/** Returns the slots of an account at a depth: a node that waits for an agent below it has one, and must not keep them all from that agent. */
	async #accountSlots(organizationId: string, depth: number): Promise<Semaphore> {
		const key = `${await this.#parts.services().accountOf(organizationId)} ${depth}`;
		const found = this.#accounts.get(key) ?? new Semaphore(PER_ACCOUNT, Number.POSITIVE_INFINITY, never);
		this.#accounts.set(key, found);
		return found;
	}

	#callOf(one: Try, { run, definition, verbs, talks, meter }: Calling): NodeCaller {
		const { node, at, signal = at.signal, use } = one;
		const { agentId, chain } = definition;
		const spent = (usage: Usage | null): void => {
			use.add(usage);
			meter.spent(usage);
			talks?.uses.spent(usage);
		};
		const spending: Spending = { budgets: modelBudgets(definition, run.id), spent };
		return new NodeCaller({
			...{ services: this.#parts.services(), shelfOf: this.#parts.shelfOf, limits: this.#parts.limits },
			...{ organizationId: run.organizationId, runId: run.id },
			...{ type: node.type, agentId, chain, within: runBudgets(definition, run.id), uses: node.uses, scope: at.scope, signal },
			spending,
			verbs: node.effect === 'none' ? verbsOf(one, verbs) : noVerbs(node.type),
			talk: talks?.of(one) ?? null,
		});
	}
}

interface Calling {
	run: RunContext;
	definition: RunDefinition;
	verbs: VerbParts;
	talks: Talks | null;
	meter: UsageMeter;
}

/** Asks as often as it takes: a database that is away for a while fails no node, least of all one that has had its effect. */
const patient = (agents: ProgramParts['agents'], signal: AbortSignal): ProgramParts['agents'] => ({
	get: (...asked) => persist(signal, () => agents.get(...asked)),
	ask: (...asked) => persist(signal, () => agents.ask(...asked)),
	count: (...asked) => persist(signal, () => agents.count(...asked)),
});

const never = (): Error => new RunError({ code: 'unavailable', message: 'Too much waits.' });

/** Tells what the nodes do: not at once, since most runs are short, and with what they told last when the run fails or leaves. */
class Telling {
	trace: Trace | null = null;
	readonly #run: RunContext;
	readonly #value: Json;
	readonly #timer: NodeJS.Timeout;
	#isBegun = false;
	#isOver = false;

	constructor(run: RunContext, envelopes: Envelopes) {
		this.#run = run;
		this.#value = envelopes.lazily(() => (this.trace?.stored(this.#isOver) ?? []) as unknown as Json);
		this.#timer = setTimeout(() => {
			this.#isBegun = true;
			this.tell();
		}, TELL_AFTER_MS);
		run.signal.addEventListener('abort', () => this.end(), { once: true });
	}

	tell(isUrgent = false): void {
		this.#isBegun ||= isUrgent;
		if (this.#isBegun && !this.#isOver) this.#run.progress(this.#value);
	}

	/** Tells how it ended. */
	last(): void {
		this.end();
		this.#run.progress(this.#value);
	}

	end(): void {
		this.#isOver = true;
		clearTimeout(this.#timer);
	}
}

/** Returns the parts of an output of a run. */
export function openedOutput(envelopes: Envelopes, stored: Json): { output: Json; trace: Json; ended: Ended | null } {
	const opened = envelopes.open(stored);
	const { output = null, trace = null, ended = null } = isObject(opened) ? opened : {};
	// It was sealed as it is.
	return { output, trace, ended: ended as Ended | null };
}
