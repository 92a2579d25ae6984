// Checks the graph of an agent before it is stored.

import { type Core, invalidAll, type Pipeline } from '../../../core/features.ts';

/** Checks a graph. @throws validation_failed with all its faults */
export async function assertRuns({ agents }: Core, organizationId: string, pipeline: Pipeline, agentId: string | null): Promise<void> {
	const faults = await agents.check(organizationId, pipeline, agentId);
	const details = faults.map(({ path, message }) => ({ path: `/pipeline${path}`, message }));
	const [first, ...others] = details;
	if (first) throw invalidAll([first, ...others]);
}
