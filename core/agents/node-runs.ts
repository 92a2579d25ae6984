// Runs single nodes: their tries, their time, the step that keeps their result, and what their policy makes of an error.

import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, ERRORS, GatewayError, PluginFault } from '../contract/errors.ts';
import type { NodeOutput } from '../contract/nodes.ts';
import type { Json } from '../contract/nouns.ts';
import type { ModelUse } from '../contract/results.ts';
import { MAX_NESTING, measureJson } from '../kit/json.ts';
import { raceWith } from '../kit/race.ts';
import type { Semaphore } from '../kit/semaphore.ts';
import { TimeSlice } from '../kit/time-slice.ts';
import { describeThrown } from '../process/strays.ts';
import { type RunContext, RunError } from '../runs/context.ts';
import { faultOf } from '../runs/faults.ts';
import type { RunFault, RunStep } from '../store/store.ts';
import { spanned } from '../telemetry/spans.ts';
import { nodeDraft } from '../telemetry/work-spans.ts';
import type { Envelopes } from './envelopes.ts';
import type { GraphNode } from './graph.ts';
import { Hold } from './hold.ts';
import type { At, NodeRunner, Ready, Settled } from './interpreter.ts';
import { Stopped } from './interpreter.ts';
import { linkedTo } from './linked.ts';
import type { NodeCaller } from './node-call.ts';
import { NodeUse, type Used } from './node-use.ts';
import { ERROR_PORT, MAX_BACKOFF_MS } from './policy.ts';
import type { Kept, Trace, Traced } from './trace.ts';

/** The most characters of an output. */
const MAX_OUTPUT_CHARS = 4 * 1024 * 1024;
/** The most characters of all outputs of nodes without an effect, which are kept nowhere but in memory: twice that many bytes at most. */
const MAX_COMPUTED_CHARS = 32 * 1024 * 1024;
/** The time of one try of a node with an effect, where its policy names none. */
const TIMEOUT_MS = 5 * 60_000;
/** The nodes that one run may run, iterations included. */
const MAX_NODES = 10_000;

/** One try of a node. */
export interface Try extends Ready {
	/** The name of the try in the keys of what the node keeps by itself. */
	key: string;
	traced: Traced;
	signal: AbortSignal;
	use: NodeUse;
	hold: Hold;
}

export interface NodeRunParts {
	run: RunContext;
	trace: Trace;
	envelopes: Envelopes;
	/** The nodes with an effect that run at once: of this run, and of the account in this process. */
	slots: readonly Semaphore[];
	callOf(one: Try): NodeCaller;
	/** Counts what a node used, once it has ended. */
	count(used: Used): Promise<void>;
	/** Hears what a step used of models in a former attempt. @param attempt its number; 0: one of the run that this one retries */
	recalled(use: ModelUse, attempt: number): void;
}

export class NodeRuns implements NodeRunner {
	readonly #parts: NodeRunParts;
	/** Nodes that wait for nothing would hold the event loop for as long as there are some. */
	readonly #slice = new TimeSlice();
	#nodes = 0;
	#computedChars = 0;

	constructor(parts: NodeRunParts) {
		this.#parts = parts;
	}

	skip({ id, type }: GraphNode, { prefix, iteration }: At): void {
		const { run, trace } = this.#parts;
		trace.skip({ key: prefix + id, nodeId: id, type, iteration: [...iteration], attempt: run.attempt });
	}

	async run(ready: Ready): Promise<Settled> {
		const { node, at } = ready;
		const { run, trace } = this.#parts;
		if (++this.#nodes > MAX_NODES) throw new GatewayError('conflict', `A run may run at most ${MAX_NODES} nodes.`);
		// Before anything is waited for: between two nodes of a branch the run would leave, since another branch waits.
		const hold = new Hold(run);
		if (this.#slice.isOverNow) await this.#slice.next();
		const key = at.prefix + node.id;
		const startedMs = performance.now();
		const traced = trace.begin({ key, nodeId: node.id, type: node.type, iteration: [...at.iteration], attempt: run.attempt });
		try {
			const kept = await spanned(
				() => nodeDraft(node),
				() => (node.effect === 'none' ? this.#recomputed(ready, { traced, hold }) : this.#stepped(ready, { traced, hold })),
			);
			trace.end(traced, startedMs, null);
			return { output: kept.output, port: kept.port, error: null };
		} catch (thrown) {
			if (run.signal.aborted) throw thrown;
			const stopped = at.signal.aborted || isStop(thrown);
			const fault = stopped ? STOPPED : this.#faultOf(thrown, ready);
			trace.end(traced, startedMs, fault);
			if (stopped) throw thrown instanceof Stopped ? thrown : new Stopped('Another node failed.');
			return this.#goOn(node, traced, fault);
		} finally {
			hold.end();
		}
	}

	/** Does what the policy says of an error. @throws RunError */
	#goOn({ id, policy, ports }: GraphNode, traced: Traced, fault: RunFault): Settled {
		const error = { code: fault.code, message: fault.message };
		// Without its way out, all that follows would be skipped, and the run succeed with nothing.
		const isStuck = policy.onError === 'continue' && ports !== null;
		// A node that is in doubt may have had its effect: nothing goes on as if it had not.
		if (policy.onError === 'fail' || isStuck || fault.code === 'in_doubt') throw named(id, fault);
		const isBranch = policy.onError === 'branch';
		const output: Json = isBranch ? { error } : policy.fallback;
		traced.output = output;
		return { output, port: isBranch ? ERROR_PORT : null, error };
	}

	/** A node without an effect of its own runs again in each attempt. */
	async #recomputed(ready: Ready, around: NodeRunTrace): Promise<Kept> {
		const use = new NodeUse();
		around.hold.count = () => this.#count(use);
		const { chars, ...kept } = await this.#counting(use, around.traced, () => this.#tries(ready, { ...around, use, usualMs: null }));
		this.#computedChars += chars;
		if (this.#computedChars > MAX_COMPUTED_CHARS)
			throw new GatewayError('conflict', `The outputs of nodes without an effect may have ${MAX_COMPUTED_CHARS} characters in all.`);
		this.#parts.trace.show(around.traced, kept.output, chars);
		return kept;
	}

	/** The result of a node with an effect is kept as a step. */
	async #stepped(ready: Ready, around: NodeRunTrace): Promise<Kept> {
		const { run, envelopes } = this.#parts;
		const { key } = around.traced;
		const former = run.former(key);
		if (former) recall(around.traced, former);
		const once = ready.node.effect === 'once';
		let isNew = false;
		const sealed = await this.#inSlots(ready.at.signal, () =>
			run.step(
				key,
				async () => {
					isNew = true;
					const use = new NodeUse();
					const { chars: _chars, ...kept } = await this.#counting(use, around.traced, () =>
						this.#tries(ready, { ...around, use, usualMs: TIMEOUT_MS }),
					).catch((thrown: unknown) => {
						// The step keeps that it was stopped, and not what it said of that.
						throw ready.at.signal.aborted ? new RunError(STOPPED) : thrown;
					});
					const [used, whole] = [use.used, use.keep()];
					return envelopes.seal({ ...kept, ...(used && { tokens: used.tokens, cost: used.cost }), ...(whole && { use: { ...whole } }) });
				},
				{ once },
			),
		);
		const { tries, tokens, cost, use: past, ...kept } = envelopes.open(sealed) as Kept;
		if (past && !isNew) this.recalled(key, past);
		Object.assign(around.traced, { tries, ...(tokens !== undefined && { tokens, cost: cost ?? null }) });
		return { ...kept, tries };
	}

	async #counting<T>(use: NodeUse, traced: Traced, work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} finally {
			const { used } = use;
			if (used) Object.assign(traced, { tokens: used.tokens, cost: used.cost });
			await this.#count(use);
		}
	}

	async #count(use: NodeUse): Promise<void> {
		const used = use.take();
		if (used) await this.#parts.count(used);
	}

	/** Counts what a step used in a former attempt for the run’s line and its client. */
	recalled(key: string, use: ModelUse): void {
		const { run, recalled } = this.#parts;
		recalled(use, run.former(key)?.attempt ?? run.attempt);
	}

	/** A step of the node's own takes a place, too. */
	inSlots<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
		return this.#inSlots(signal, work);
	}

	#inSlots<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
		return this.#parts.slots.reduceRight<() => Promise<T>>((inner, slot) => () => slot.run(inner, signal), work)();
	}

	async #tries(ready: Ready, around: Trying): Promise<Computed> {
		const { policy } = ready.node;
		const { traced } = around;
		for (let tried = 1; ; tried++) {
			traced.tries = tried;
			try {
				const key = tried === 1 ? traced.key : `${traced.key}#${tried}`;
				const { output, port = null, chars } = await this.#once(ready, { ...around, key });
				return { output, port, chars, tries: tried };
			} catch (thrown) {
				if (ready.at.signal.aborted || tried > policy.retries || !mayHelp(thrown)) throw thrown;
				await sleep(Math.min(MAX_BACKOFF_MS, policy.backoffMs * 2 ** (tried - 1)), undefined, { signal: ready.at.signal });
			}
		}
	}

	async #once(ready: Ready, { traced, hold, use, usualMs, key }: Trying & { key: string }): Promise<Measured> {
		const { node, at, from } = ready;
		const afterMs = node.policy.timeoutMs ?? usualMs;
		const own = linkedTo(at.signal);
		const late = (): RunError => new RunError({ code: 'timed_out', message: `It took longer than ${afterMs} ms.` });
		try {
			const call = this.#parts.callOf({ ...ready, key, traced, signal: own.signal, use, hold });
			const running = (async () => node.plugin.run({ input: at.scope['input'] ?? null, from }, node.config, call))();
			const done = await raceWith(at.signal, running, afterMs === null ? {} : { late: { afterMs, reason: late } });
			return checked(node, done);
		} finally {
			own.leave();
			own.abort(new Error('The try is over.'));
		}
	}

	/** Puts an error into words that people may read. */
	#faultOf(thrown: unknown, { node, at }: Ready): RunFault {
		if (!(thrown instanceof RunError) && !asGatewayError(thrown)) {
			const { run } = this.#parts;
			this.#parts
				.callOf({ node, at } as Try)
				.log.error({ runId: run.id, nodeId: node.id, error: describeThrown(thrown) }, 'a node failed unexpectedly');
			return { code: 'internal', message: 'The node failed unexpectedly; the log of the service has the reason.' };
		}
		return faultOf(thrown);
	}
}

/** An output with its characters as JSON, about. */
interface Measured extends NodeOutput {
	chars: number;
}

type Computed = Kept & Pick<Measured, 'chars'>;

interface NodeRunTrace {
	traced: Traced;
	hold: Hold;
}

interface Trying extends NodeRunTrace {
	use: NodeUse;
	/** The time of a try where the policy names none; null: any. */
	usualMs: number | null;
}

const STOPPED: RunFault = { code: 'cancelled', message: 'It was stopped, since another node failed.' };

/** A step that was stopped in a former attempt, since another node had failed. */
const isStop = (thrown: unknown): boolean =>
	thrown instanceof Stopped || (thrown instanceof RunError && thrown.message === STOPPED.message);

/** The fault of the run names the node. */
export const named = (id: string, { message, ...fault }: RunFault): RunError =>
	new RunError({ ...fault, message: message.startsWith('Node "') ? message : `Node "${id}": ${message}` });

/** Whether another try may end otherwise: what is wrong in the request itself stays wrong. */
function mayHelp(thrown: unknown): boolean {
	if (thrown instanceof Stopped) return false;
	if (thrown instanceof RunError) return thrown.code !== 'in_doubt' && thrown.code !== 'cancelled';
	const code = asGatewayError(thrown)?.code;
	return code === undefined || code === 'rate_limited' || (ERRORS[code] >= 500 && code !== 'not_implemented');
}

/** Tells of a node as a former attempt left it. */
function recall(traced: Traced, { status, attempt, startedAt, finishedAt }: RunStep): void {
	if (status === 'started') return;
	traced.attempt = attempt === 0 ? 1 : attempt;
	traced.startedAt = startedAt.getTime();
	traced.duration = finishedAt && finishedAt.getTime() - startedAt.getTime();
}

/** @throws PluginFault */
function checked({ type, ports }: GraphNode, done: NodeOutput): Measured {
	const plugin = `node:${type}`;
	const { fault, chars, isTooDeep = false } = measureJson(done?.output, MAX_OUTPUT_CHARS);
	if (isTooDeep) throw new GatewayError('validation_failed', `Its output nests deeper than ${MAX_NESTING} levels.`);
	if (fault !== null) throw new PluginFault(plugin, `the output of run must be JSON: it ${fault}.`);
	if (chars > MAX_OUTPUT_CHARS) throw new GatewayError('upstream_failed', `Its output has more than ${MAX_OUTPUT_CHARS} characters.`);
	const { port } = done;
	if (ports ? port === undefined || !ports.includes(port) : port !== undefined)
		throw new PluginFault(
			plugin,
			`the port that run returns must be ${ports ? `one of ${ports.join(', ')}` : 'absent, since it has no ports'}.`,
		);
	return { ...done, chars };
}
