// Jobs: work of a plugin that outlives a request, on whichever replica, and the webhooks that core delivers in the same way. Types only.

import type { Call } from './context.ts';
import type { ErrorCode } from './errors.ts';
import type { Json } from './nouns.ts';

/** A kind of job of a plugin. */
export interface JobHandler<C = unknown, O = unknown> {
	/**
	 * Does the work, from the beginning at each attempt: what has an effect must bear being done twice. A replica that knows the job runs it.
	 * An error ends the attempt, and another one follows later; an error of the codes for wrong input, missing rights or missing things ends
	 * the job, since a repetition would not help. The job is the same attempt again when its process ended or was stopped.
	 * @returns the job's output, of at most 64 KiB as JSON
	 */
	run(data: Json, job: JobRun<C, O>): Promise<Json> | Promise<void>;
	/** The greatest number of attempts. Default 5; at most 20. */
	attempts?: number;
	/** Time limit of one attempt. Default 10 minutes; at most a day. */
	timeoutMs?: number;
	/** The number of such jobs that run at a time in each process. Default 10. */
	places?: number;
	/** The number of such jobs of one account that run at a time, over all replicas. Default 3. */
	perAccount?: number;
}

/** One attempt at a job. */
export interface JobRun<C = unknown, O = unknown> {
	id: string;
	/** 1 at first. */
	attempt: number;
	/** The plugin's config at the gateway or fixed address, as it is now: of a transport or an auth method. Null for other kinds. */
	config: C | null;
	/**
	 * A call made anew: the gateway, its tools and the caller's rights as they are now. An attempt does not begin when the caller's credential
	 * was revoked or has ended, they left, or the gateway is gone or inactive.
	 */
	call: Call<O>;
	/** Aborted when the job is cancelled, too late, or given to another replica because this one stops. It is the call's signal, too. */
	signal: AbortSignal;
	/** Tells whoever follows the job how far it is: at most 4 KiB as JSON, in place of what was told before. */
	progress(value: Json): void;
}

export interface JobOptions {
	/** Another job of this plugin, name and place under the same key is returned instead of a new one, also when it has ended. */
	key?: string;
	/** The time before which it does not begin; at most a year from now. */
	runAt?: Date;
	/**
	 * It begins at once in this process when a place is free, without waiting in the queue, and its first attempt goes on with this call itself,
	 * which still has the headers of its request. Otherwise, and at each later attempt, it is like any other job. `only`: where it cannot begin
	 * at once in this process, `add` throws rate_limited, and there is no job.
	 */
	here?: boolean | 'only';
	/** Fewer attempts than the handler allows. */
	attempts?: number;
	/** The time from its beginning, or from `runAt`, after which it fails whatever is left to try. Default: a day; at most 30 days. */
	deadlineMs?: number;
}

export type JobStatus = 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';

/** A job as it is. */
export interface Job {
	id: string;
	name: string;
	/** `waiting`: for its time, or for its next attempt. */
	status: JobStatus;
	/** The progress that it told last; null when it told none. */
	progress: Json;
	/** The handler's result; null unless it succeeded. */
	output: Json;
	error: JobFault | null;
	createdAt: Date;
	startedAt: Date | null;
	finishedAt: Date | null;
}

/** The reason why a job failed, in words that may be shown. */
export interface JobFault {
	code: ErrorCode | 'cancelled' | 'in_doubt' | 'interrupted' | 'timed_out';
	message: string;
}

/**
 * The jobs of one plugin at one gateway, or in one organization where there is no gateway: a job of another plugin or place does not exist.
 * The plugin decides whose job it is among the callers of the gateway. Ended jobs are kept as long as runs are.
 */
export interface Jobs {
	/**
	 * Begins a job in the name of this call's caller; it is durable when this resolves. `data`, of at most 64 KiB as JSON, is encrypted at rest,
	 * as are progress and output. @throws validation_failed, rate_limited when too many of the account wait, or by `here: 'only'`
	 */
	add(name: string, data: Json, options?: JobOptions): Promise<{ id: string }>;
	get(id: string): Promise<Job | null>;
	/** Cancels a job, on whichever replica it runs. @returns false when it has ended or is not there */
	cancel(id: string): Promise<boolean>;
	/** Yields the job whenever it may have changed, on whichever replica it is, until it has ended; null: it is still there. @throws not_found */
	follow(id: string, signal: AbortSignal): AsyncGenerator<Job | null, void>;
}

// ── webhooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface NewDelivery {
	/** The receiver, by POST. No redirect is followed. */
	url: string;
	/** The body, of at most 256 KiB: a text as it is, anything else as JSON. */
	body: Json;
	/** Further headers, such as a content type; `webhook-…` are core's. */
	headers?: Record<string, string>;
	/** The name of the event, sent as `webhook-event`. */
	event?: string;
	sign?: DeliverySign;
	/**
	 * Another webhook of this plugin and place under the same key is returned instead of a new one, also when it has ended: for jobs, whose
	 * attempts may come again.
	 */
	key?: string;
	/** The greatest number of attempts. Default 8, which take about three hours; at most 12, which take about a day. */
	attempts?: number;
}

/** The signature of a webhook. The secret is encrypted at rest and never told. */
export interface DeliverySign {
	/** 16 to 512 characters. `whsec_…` holds the key in base64 (Standard Webhooks); any other text is the key itself. */
	secret: string;
	/**
	 * `standard`: `webhook-signature` of Standard Webhooks, `v1,` and base64 over id, time and body. `sha256`: `sha256=` and hexadecimal over
	 * the body, as GitHub's. Default `standard`.
	 */
	scheme?: 'standard' | 'sha256' | 'both';
	/** The header of `sha256`. Default `x-hub-signature-256`. */
	header?: string;
}

export interface Delivery extends Pick<Job, 'id' | 'status' | 'error' | 'createdAt' | 'finishedAt'> {
	/** `webhook-id`: the same at each attempt. */
	messageId: string;
	/** The number of times that it was sent. */
	attempts: number;
	/** The status of the receiver's last answer; null when there was none. */
	lastStatus: number | null;
}

export interface Deliveries {
	get(id: string): Promise<Delivery | null>;
	/** Sends it no more. @returns false when it has ended or is not there */
	cancel(id: string): Promise<boolean>;
}
