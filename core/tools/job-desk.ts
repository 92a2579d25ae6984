// The desk at which calls begin jobs and webhooks; a room above this one has it. Types only.

import type { Call } from '../contract/context.ts';
import type { Deliveries, Jobs, NewDelivery } from '../contract/jobs.ts';
import type { Caller, Gateway, JsonObject } from '../contract/nouns.ts';

/** The gateways that the caller of a call over several of them reaches. */
export interface CallReach {
	gateways: 'all' | readonly string[];
	/** The fixed address of the transport; null for a call that a feature made. */
	path: string | null;
}

/** The part of a call by which jobs are kept apart: one plugin, at one gateway or in one organization. */
export interface JobScope {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	gateway: Pick<Gateway, 'id'> | null;
	/** The one in whose name a job begins. */
	caller: Caller | null;
	/** Admitted the caller instead of a gateway's methods; absent in a call at one gateway. */
	reach?: CallReach;
	/** Returns this very call, for the first attempt at a job that begins in this process; null when it has no config of the plugin. */
	goOn?(signal: AbortSignal): LiveCall | null;
}

/** A call that outlives its request in the process that received it. */
export interface LiveCall {
	call: Call;
	config: JsonObject;
}

export interface JobDesk {
	jobs(scope: JobScope): Jobs;
	deliver(scope: JobScope, delivery: NewDelivery): Promise<{ id: string }>;
	deliveries(scope: JobScope): Deliveries;
}
