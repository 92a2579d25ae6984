// Jobs of plugins and webhooks, on the engine of runs: the desk at which calls begin them, and what runs them.

import type { Log } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import type { CallOrigin, Rebuilt } from '../gateways/rebuild.ts';
import type { Registry } from '../registry/registry.ts';
import type { Runs } from '../runs/runs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { JobDesk } from '../tools/job-desk.ts';
import { defineDeliveries, deliver, deliveriesAt } from './deliveries.ts';
import { LiveCalls } from './live-calls.ts';
import { definePluginJobs, jobsAt } from './plugin-jobs.ts';

export interface JobParts {
	registry: Registry;
	runs: Pick<Runs, 'define' | 'start' | 'get' | 'follow' | 'cancel'>;
	secrets: Secrets;
	egress: Pick<Egress, 'check' | 'of'>;
	log: Log;
	/** Makes a call anew, with the rights that its caller has now. */
	rebuild(origin: CallOrigin): Promise<Rebuilt>;
}

/** With the calls of jobs that begin in this process. */
export type DeskParts = JobParts & { live: LiveCalls };

/** Defines the kinds of run of all jobs, before runs are opened. */
export function createJobs(given: JobParts): JobDesk {
	const parts: DeskParts = { ...given, live: new LiveCalls() };
	definePluginJobs(parts);
	defineDeliveries(parts);
	return {
		jobs: (scope) => jobsAt(scope, parts),
		deliver: (scope, delivery) => deliver(scope, delivery, parts),
		deliveries: (scope) => deliveriesAt(scope, parts),
	};
}
