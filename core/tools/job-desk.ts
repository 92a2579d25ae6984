// The desk at which calls begin jobs and webhooks; a room above this one has it. Types only.

import type { Deliveries, Jobs, NewDelivery } from '../contract/jobs.ts';
import type { Caller, Gateway } from '../contract/nouns.ts';

/** The part of a call by which jobs are kept apart: one plugin, at one gateway or in one organization. */
export interface JobScope {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	gateway: Pick<Gateway, 'id'> | null;
	/** The one in whose name a job begins. */
	caller: Caller | null;
}

export interface JobDesk {
	jobs(scope: JobScope): Jobs;
	deliver(scope: JobScope, delivery: NewDelivery): Promise<{ id: string }>;
	deliveries(scope: JobScope): Deliveries;
}
