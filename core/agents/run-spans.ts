// The span of each attempt of a run, in the trace that the run was started in: it is stored with the run, for whichever replica runs it.

import type { Json } from '../contract/nouns.ts';
import type { RunContext } from '../runs/context.ts';
import { traceContext } from '../telemetry/spans.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { agentDraft } from '../telemetry/work-spans.ts';
import { definitionOf, type RunDefinition } from './definition.ts';

/** Returns the part of a definition that keeps the trace around. */
export function tracedDefinition(): Pick<RunDefinition, 'trace'> {
	const trace = traceContext();
	return trace ? { trace: { ...trace } } : {};
}

export function tracedRun(run: RunContext, { telemetry }: { telemetry: Pick<Telemetry, 'run'> }, work: () => Promise<Json>): Promise<Json> {
	const { agentId, name, revision, trace } = definitionOf(run);
	const { id: runId, attempt, organizationId: organization, over } = run;
	return telemetry.run({ id: runId, trace, over }, () => agentDraft({ agentId, name, revision, organization, runId, attempt }), work);
}
