// The lines of the request log that runs of agents leave: whose, how long, at what cost, and with what result; never inputs or outputs. A run
// leaves one where its end is written, however it ends.

import type { ModelUse } from '../contract/results.ts';
import { isObject } from '../kit/json.ts';
import { UsageMeter } from '../models/spending.ts';
import type { RunContext } from '../runs/context.ts';
import type { Runs } from '../runs/runs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { Recorder } from '../store/recorder.ts';
import type { EndedRun, RequestRow } from '../store/store.ts';
import { definitionOf } from './definition.ts';
import { Envelopes } from './envelopes.ts';
import type { Kept } from './trace.ts';

interface LineParts {
	recorder: Pick<Recorder, 'request'>;
	runs: Pick<Runs, 'get' | 'steps'>;
	secrets: Secrets;
}

/** An attempt of this process. */
interface Attempt {
	/** The use of models of all attempts, as far as this one knows of it. */
	meter: UsageMeter;
	startedMs: number;
}

type Timed = Pick<RequestRow, 'startedAt' | 'durationMs' | 'isOpenEnded'>;

export class RunLines {
	readonly #parts: LineParts;
	readonly #attempts = new Map<string, Attempt>();

	constructor(parts: LineParts) {
		this.#parts = parts;
	}

	/** Notes an attempt that begins. @returns the meter of its run, which hears what this attempt uses, and what former ones have kept */
	begin({ id, left }: Pick<RunContext, 'id' | 'left'>): UsageMeter {
		const attempt = { meter: new UsageMeter(), startedMs: performance.now() };
		this.#attempts.set(id, attempt);
		void left.then(() => {
			if (this.#attempts.get(id) === attempt) this.#attempts.delete(id);
		});
		return attempt.meter;
	}

	/** Writes the line of a run that has just ended. */
	async ended(run: EndedRun): Promise<void> {
		const attempt = this.#attempts.get(run.id);
		if (attempt) this.#write(run, timeOf(attempt), attempt.meter.use);
		else this.#write(run, timeOutside(run), await this.#keptUse(run).catch(() => null));
	}

	/** @param parts what is known of the tokens by their kind; all that was used, and what it cost, has been counted for the execution */
	#write({ organizationId, error, execution }: EndedRun, time: Timed, parts: ModelUse | null): void {
		if (!execution) return;
		const { agentId, tokens, cost } = execution;
		this.#parts.recorder.request({
			organizationId,
			kind: 'agent',
			agentId,
			...{ requestId: null, gatewayId: null, toolId: null, providerId: null, model: null, keyId: null, userId: null },
			...{ caller: null, method: null, userAgent: null, status: null },
			outcome: error?.code ?? 'success',
			...time,
			...{ upstreamMs: null, waitingMs: null, bytesIn: null, bytesOut: null },
			inputTokens: parts?.inputTokens ?? null,
			outputTokens: parts?.outputTokens ?? null,
			cachedTokens: parts?.cachedTokens ?? null,
			costMicroUsd: parts === null && tokens === 0 && cost === 0 ? null : cost,
		});
	}

	/** Returns the use of models that the steps of a run have kept: for one that ends while no attempt of this process is under way. */
	async #keptUse({ id, organizationId, execution }: EndedRun): Promise<ModelUse | null> {
		if (!execution?.tokens) return null;
		const place = { organizationId, id };
		const run = await this.#parts.runs.get(place);
		if (!run) return null;
		const envelopes = new Envelopes(this.#parts.secrets, organizationId, definitionOf(run).ref);
		const meter = new UsageMeter();
		for (const { status, attempt, output } of await this.#parts.runs.steps(place)) {
			const opened = status === 'done' && isOwn(attempt) ? envelopes.open(output) : null;
			// It was sealed with what it used.
			const { use } = (isObject(opened) ? opened : {}) as Pick<Kept, 'use'>;
			if (use) meter.add(use);
		}
		return meter.use;
	}
}

/** Whether a step was done by the run itself: the steps that it began with were counted for the one that it retries. */
export const isOwn = (attempt: number): boolean => attempt > 0;

/** The time of the last attempt: waiting for people counts in no line. */
function timeOf({ startedMs }: Attempt): Timed {
	const durationMs = performance.now() - startedMs;
	return { startedAt: Date.now() - Math.round(durationMs), durationMs };
}

/** The whole time of a run that ended outside of an attempt, which says nothing about speed: its line is where it ended, for whoever looks at what fails now. */
function timeOutside({ createdAt, startedAt, finishedAt }: EndedRun): Timed {
	return { startedAt: finishedAt.getTime(), durationMs: finishedAt.getTime() - (startedAt ?? createdAt).getTime(), isOpenEnded: true };
}
