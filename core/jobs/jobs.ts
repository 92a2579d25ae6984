// Jobs of plugins and webhooks, on the engine of runs: the desk at which calls begin them, and what runs them.

import type { Log } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import type { CallOrigin, Rebuilt } from '../gateways/rebuild.ts';
import type { Registry } from '../registry/registry.ts';
import type { Runs } from '../runs/runs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { JobDesk } from '../tools/job-desk.ts';
import { defineDeliveries, deliver, deliveriesAt } from './deliveries.ts';
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

/** Defines the kinds of run of all jobs, before runs are opened. */
export function createJobs(parts: JobParts): JobDesk {
	definePluginJobs(parts);
	defineDeliveries(parts);
	return {
		jobs: (scope) => jobsAt(scope, parts),
		deliver: (scope, delivery) => deliver(scope, delivery, parts),
		deliveries: (scope) => deliveriesAt(scope, parts),
	};
}
