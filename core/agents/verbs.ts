// The verbs of nodes of effect `none`, each of them kept by itself: steps, other agents, iterations, questions.

import { randomUUID } from 'node:crypto';
import { GatewayError, notFound, PluginFault } from '../contract/errors.ts';
import type { ItemResult } from '../contract/nodes.ts';
import type { Json } from '../contract/nouns.ts';
import type { ModelUse } from '../contract/results.ts';
import { isObject } from '../kit/json.ts';
import { type RunContext, RunError } from '../runs/context.ts';
import { faultOf, isGivenUp } from '../runs/faults.ts';
import type { Agents, QuestionRow } from '../store/store.ts';
import { kindOf, MAX_DEPTH, type RunDefinition, runBudgets } from './definition.ts';
import type { Envelopes } from './envelopes.ts';
import { type At, Stopped, walk } from './interpreter.ts';
import { linkedTo } from './linked.ts';
import type { NodeVerbs } from './node-call.ts';
import type { NodeRuns, Try } from './node-runs.ts';
import { tracedDefinition } from './run-spans.ts';
import type { Trace } from './trace.ts';

/** The items of one node, and those that run at once. */
const MAX_ITEMS = 1_000;
const AT_ONCE = 8;

export interface VerbParts {
	run: RunContext;
	definition: RunDefinition;
	envelopes: Envelopes;
	trace: Trace;
	nodes: NodeRuns;
	agents: Pick<Agents, 'get' | 'ask'>;
	/** Ends a run that is not waited for any more. */
	cancel(runId: string): Promise<unknown>;
	/** Tells people of a question; never throws. */
	tell(question: QuestionRow): Promise<void>;
}

/** Returns the verbs of one try of a node. */
export function verbsOf(one: Try, parts: VerbParts): NodeVerbs {
	const { run, envelopes, nodes } = parts;
	let [agents, hasMapped] = [0, false];
	return {
		async step(key, work, { once = false } = {}) {
			let isNew = false;
			const done = async (): Promise<Json> => {
				isNew = true;
				const value = await work(one.signal);
				// The first that ends among steps at once keeps what all have used so far: the sum is right.
				const use = one.use.keep();
				return envelopes.seal({ value, ...(use && { use: { ...use } }) });
			};
			const sealed = await nodes.inSlots(one.signal, () => run.step(`${one.key}/${key}`, done, { once }));
			// It was sealed as what `work` returned.
			const { value, use } = envelopes.open(sealed) as { value: Awaited<ReturnType<typeof work>>; use?: Pick<ModelUse, keyof ModelUse> };
			if (use && !isNew) {
				one.use.recall(use);
				nodes.recalled(`${one.key}/${key}`, use);
			}
			return value;
		},
		run: (agentId, input) => runAgent(one, { agentId, input, key: `${one.key}/run/${agents++}` }, parts),
		async each(items, options = {}) {
			if (hasMapped) throw new PluginFault(`node:${one.node.type}`, 'each may be called once.');
			hasMapped = true;
			return one.hold.without(() => eachItem(one, items, options, parts));
		},
		suspend: (request, key) => suspend(one, { request, key: key === undefined ? one.key : `${one.key}/${key}` }, parts),
	};
}

interface AgentAsked {
	agentId: string;
	input: Json;
	key: string;
}

/** Runs another agent as a child, once: its output is a step of this run, so that a fork of it finds it. */
async function runAgent(one: Try, { agentId, input, key }: AgentAsked, parts: VerbParts): Promise<Json> {
	const { run, envelopes, definition } = parts;
	const output = `${key}/output`;
	if (run.former(output)?.status === 'done') return envelopes.open(await run.step(output, async () => null));
	const { chain, ref } = definition;
	const within = runBudgets(definition, run.id);
	assertDepth(chain, agentId);
	const row = await parts.agents.get(run.organizationId, agentId);
	if (!row) throw notFound('Agent');
	const { name, version: revision, pipeline, settings } = row;
	const child: RunDefinition = {
		...{ agentId, name, revision, pipeline, settings, ref },
		chain: [...chain, agentId],
		...(within.length > 0 && { within }),
		...tracedDefinition(),
	};
	let leave: (() => void) | undefined;
	const started = (id: string): void => {
		// An attempt that is given up leaves its child to the next one.
		leave = () => void (isGivenUp(one.signal.reason) || parts.cancel(id).catch(() => undefined));
		one.signal.addEventListener('abort', leave, { once: true });
	};
	try {
		const asked = {
			kind: kindOf(chain.length + 1),
			definition: child,
			input: envelopes.seal(input),
			deadlineMs: settings.timeoutMs ?? null,
		};
		parts.trace.wait(one.traced, true);
		const end = await one.hold.without(() => run.child(key, { ...asked, signal: one.signal, started }));
		parts.trace.wait(one.traced, false);
		const opened = envelopes.open(end);
		const result = isObject(opened) ? (opened['output'] ?? null) : null;
		await run.step(output, async () => envelopes.seal(result));
		return result;
	} catch (thrown) {
		if (!(thrown instanceof RunError) || one.signal.aborted) throw thrown;
		throw new RunError({ ...thrown.fault, message: `The agent "${name}" failed. ${thrown.message}` });
	} finally {
		if (leave) one.signal.removeEventListener('abort', leave);
	}
}

/** @throws conflict for agents that call each other in a circle, or too deep */
export function assertDepth(chain: readonly string[], agentId: string): void {
	if (chain.includes(agentId)) throw new GatewayError('conflict', 'Agents run each other in a circle.');
	if (chain.length >= MAX_DEPTH) throw new GatewayError('conflict', `Agents may run each other ${MAX_DEPTH} deep at most.`);
}

async function eachItem(
	one: Try,
	items: readonly Json[],
	{ concurrency = AT_ONCE, stopsAtFault = false }: { concurrency?: number; stopsAtFault?: boolean },
	parts: VerbParts,
): Promise<ItemResult[]> {
	const { body } = one.node;
	if (!body) throw new PluginFault(`node:${one.node.type}`, 'each needs a body.');
	if (items.length > MAX_ITEMS) throw new GatewayError('validation_failed', `There are ${items.length} items, and may be ${MAX_ITEMS}.`);
	const results: ItemResult[] = new Array(items.length);
	const stop = linkedTo(one.signal);
	const { signal } = stop;
	let [next, fault] = [0, null as { error: unknown } | null];
	const work = async (): Promise<void> => {
		for (let index = next++; index < items.length && !fault; index = next++) {
			const item = items[index] ?? null;
			try {
				const at = inItem(one.at, { prefix: `${one.key}[${index}]/`, index, item, signal });
				results[index] = { ok: await walk({ graph: body, at, rootFrom: [{ nodeId: one.node.id, output: item }] }, parts.nodes) };
			} catch (error) {
				if (signal.aborted) throw error;
				const { code, message } = faultOf(error);
				results[index] = { error: { code, message } };
				// A fault after which something may have happened is not passed over, whatever the node says.
				if (!stopsAtFault && code !== 'in_doubt') continue;
				fault ??= { error };
				stop.abort(new Stopped('Another item failed.'));
			}
		}
	};
	const workers = Math.max(1, Math.min(AT_ONCE, concurrency, items.length));
	const ends = await Promise.allSettled(Array.from({ length: workers }, work));
	stop.leave();
	if (fault) throw (fault as { error: unknown }).error;
	for (const end of ends) if (end.status === 'rejected') throw end.reason;
	return results;
}

function inItem(
	{ scope, iteration }: At,
	{ prefix, index, item, signal }: Pick<At, 'prefix' | 'signal'> & { index: number; item: Json },
): At {
	const { item: outer, index: outerIndex, parent } = scope;
	const around =
		outerIndex === undefined ? {} : { parent: { item: outer ?? null, index: outerIndex, ...(parent !== undefined && { parent }) } };
	const { input = null, nodes = {} } = scope;
	return { prefix, signal, iteration: [...iteration, index], scope: { input, nodes, item, index, ...around } };
}

interface SuspendRequest {
	request: Parameters<NodeVerbs['suspend']>[0];
	key: string;
}

/** Waits for the answer of a person, which is an event of the run. One that has come, also to the run that this one retries, is asked for no more. */
async function suspend(one: Try, asking: SuspendRequest, parts: VerbParts): Promise<Json> {
	const { run, envelopes, trace } = parts;
	const { timeoutMs } = asking.request;
	const name = answerOf(asking.key);
	if (!run.heard(name)) await ask(one, asking, parts);
	trace.wait(one.traced, true);
	const answer = await one.hold.without(() => run.event<Json>(name, { ...(timeoutMs !== undefined && { timeoutMs }), signal: one.signal }));
	trace.wait(one.traced, false);
	return envelopes.open(answer);
}

/** Asks a person. The question is a row, once; that people were told of it is a step, so that no other attempt tells them again. */
async function ask({ node }: Try, { request, key }: SuspendRequest, { run, agents, tell }: VerbParts): Promise<void> {
	const { message, schema, timeoutMs, approvers = null } = request;
	const until = timeoutMs === undefined ? null : new Date(Date.now() + timeoutMs);
	const asked = await agents.ask(run.organizationId, run.id, { key, nodeId: node.id, message, schema, approvers, until });
	if (!asked) throw new Error('The run has no execution.');
	if (asked.answeredAt !== null) return;
	await run.step(`told:${asked.id}`, async () => {
		await tell(asked);
		return null;
	});
}

/** The name of the event that answers a question. */
export const answerOf = (key: string): string => `answer:${key}`;

/** The name of the envelopes of a new tree of runs. */
export const newRef = (): string => randomUUID();
