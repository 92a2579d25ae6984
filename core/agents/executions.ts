// Executions as people read them: opened, and with the trace of their nodes.

import { notFound } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { Execution, ReadStep, Run } from '../store/store.ts';
import type { TraceEntry } from './agents.ts';
import { definitionOf } from './definition.ts';
import { Envelopes } from './envelopes.ts';
import { openedOutput } from './program.ts';
import { type Kept, shownEntry, type Traced, tracedOf } from './trace.ts';

const envelopesOf = (secrets: Secrets, run: Run): Envelopes => new Envelopes(secrets, run.organizationId, definitionOf(run).ref);

/** Returns an execution with its input and output in clear, and without its progress, which is the trace. */
export function openExecution(secrets: Secrets, { run, ...rest }: Execution): Execution {
	const envelopes = envelopesOf(secrets, run);
	const { output } = openedOutput(envelopes, run.output);
	return { ...rest, run: { ...run, input: envelopes.open(run.input), output, progress: null } };
}

/** @param full the key of the one entry that is returned, whole. @throws not_found */
export function traceOf(secrets: Secrets, run: Run, steps: readonly ReadStep[], full: string | null): TraceEntry[] {
	const envelopes = envelopesOf(secrets, run);
	const { trace } = openedOutput(envelopes, run.output);
	const told = tracedOf(trace ?? envelopes.open(run.progress));
	const byKey = new Map(told.map((entry) => [entry.key, entry]));
	const types = typesOf(definitionOf(run).pipeline.nodes);
	const ofNodes = new Map<string, ReadStep>();
	for (const step of steps) {
		if (!types.has(nodeOf(step.key))) continue;
		ofNodes.set(step.key, step);
		byKey.set(step.key, merged(byKey.get(step.key), step, types.get(nodeOf(step.key)) ?? ''));
	}
	const entries = [...byKey.values()].filter(({ key }) => full === null || key === full);
	if (full !== null && entries.length === 0) throw notFound('Entry of the trace');
	const hasEnded = run.finishedAt !== null;
	return entries.sort(byStart).map((entry) => {
		const kept = keptOf(envelopes, ofNodes.get(entry.key));
		const seen = hasEnded && isOpen(entry) ? { ...entry, status: 'failed' as const } : entry;
		const used = kept?.tokens === undefined ? {} : { tokens: kept.tokens, cost: kept.cost ?? null };
		return shownEntry({ ...seen, ...used, tries: kept?.tries ?? seen.tries }, kept ? kept.output : (entry.output ?? null), full !== null);
	});
}

/** Joins what the run told of a node and the step that kept it, which is newer. */
function merged(told: Traced | undefined, step: ReadStep, type: string): Traced {
	const { key, status, attempt, startedAt, finishedAt, error } = step;
	const iteration = [...key.matchAll(/\[(\d+)\]\//g)].map(([, index]) => Number(index));
	const base: Traced = told ?? {
		...{ key, nodeId: nodeOf(key), type, iteration, attempt, tries: 1, status: 'running', startedAt: null, duration: null, error: null },
	};
	if (status === 'started') return { ...base, attempt, startedAt: startedAt.getTime() };
	const duration = finishedAt ? finishedAt.getTime() - startedAt.getTime() : base.duration;
	return {
		...base,
		attempt: attempt === 0 ? 1 : attempt,
		...{ startedAt: startedAt.getTime(), duration, status: status === 'done' ? 'success' : 'failed' },
		error: error && { code: error.code, message: error.message },
		...(step.isLeftOut && status === 'done' && { cut: step.size }),
	};
}

const isOpen = ({ status }: Traced): boolean => status === 'running' || status === 'waiting';

const keptOf = (envelopes: Envelopes, step: ReadStep | undefined): Kept | null =>
	step?.status === 'done' ? (envelopes.open(step.output) as Kept | null) : null;

/** The key of a node: its id behind the iterations around it. What a node keeps by itself, and what it waits for, may end like the id of another one. */
const NODE_KEY = /^(?:[^/:[\]]+\[\d+\]\/)*([^/:[\]]+)$/;

/** Returns the id of the node whose key this is; an empty text for any other key. */
const nodeOf = (key: string): string => NODE_KEY.exec(key)?.[1] ?? '';

/** Those that were never begun are last. */
const byStart = (a: Traced, b: Traced): number =>
	(a.startedAt ?? Number.POSITIVE_INFINITY) - (b.startedAt ?? Number.POSITIVE_INFINITY) || 0;

/** The types of all nodes by id, those of bodies included. */
function typesOf(value: Json | readonly object[], types = new Map<string, string>()): Map<string, string> {
	if (Array.isArray(value)) for (const one of value) typesOf(one as Json, types);
	else if (typeof value === 'object' && value !== null) {
		const { id, type, data } = value as { id?: unknown; type?: unknown; data?: unknown };
		if (typeof id === 'string' && typeof type === 'string' && typeof data === 'object') types.set(id, type);
		for (const one of Object.values(value)) if (typeof one === 'object') typesOf(one as Json, types);
	}
	return types;
}
