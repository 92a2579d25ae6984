// Checks the graph of an agent before it is stored.

import { type Core, GatewayError, type Pipeline } from '../../../core/features.ts';

/** Checks a graph. @throws validation_failed with all its faults */
export async function assertRuns({ agents }: Core, organizationId: string, pipeline: Pipeline, agentId: string | null): Promise<void> {
	const faults = await agents.check(organizationId, pipeline, agentId);
	const details = faults.map(({ path, message }) => ({ path: `/pipeline${path}`, message }));
	const [first] = details;
	if (!first) return;
	const { message } = first;
	// The rules of fields end without one.
	const stop = message.endsWith('.') ? '' : '.';
	const all = details.length === 1 ? message : `${message}${stop} There are ${details.length} faults in all.`;
	throw new GatewayError('validation_failed', all, { details });
}
