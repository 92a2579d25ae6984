// The way of a result between the executor and the client: it is checked where its API promises a schema, and cut where it is too large.

import type { ArgumentChecks } from '../arguments/checks.ts';
import type { ToolResult } from '../contract/nouns.ts';
import type { RunResult } from '../contract/results.ts';
import type { CallParts } from './call-parts.ts';
import type { ToolEntry } from './entry.ts';
import { withinBudget } from './result-budget.ts';

const MAX_NAMED = 10;

/** @returns at once what needs neither a check nor a cut */
export function settle(result: ToolResult, entry: ToolEntry, around: SettleParts): RunResult | Promise<RunResult> {
	const isPlain = !entry.tool.strictOutput && !around.callParts.strictOutput && entry.maxResultBytes === null;
	return isPlain ? result : settled(result, entry, around);
}

interface SettleParts {
	checks: ArgumentChecks;
	callParts: Pick<CallParts, 'keep' | 'strictOutput'>;
	signal: AbortSignal;
}

async function settled(
	result: ToolResult,
	{ tool, maxResultBytes }: ToolEntry,
	{ checks, callParts, signal }: SettleParts,
): Promise<RunResult> {
	const { keep, strictOutput } = callParts;
	const schema = tool.strictOutput || strictOutput ? tool.outputSchema : null;
	if (schema !== null && !result.isError) {
		const { structured } = result;
		const faults =
			structured === undefined ? [{ path: '', message: 'has no data.' }] : await checks.outputs.faults(tool, schema, structured, signal);
		if (faults.length > 0) return broken(faults);
	}
	if (maxResultBytes === null) return result;
	return withinBudget(result, { maxBytes: maxResultBytes, schema, ...(keep && { keep }) });
}

function broken(faults: readonly { path: string; message: string }[]): RunResult {
	const lines = faults.slice(0, MAX_NAMED).map(({ path, message }) => `${path || '/'} ${message}`);
	const more = faults.length > MAX_NAMED ? [`… and ${faults.length - MAX_NAMED} more.`] : [];
	const message = ['The answer breaks the output schema of the tool:', ...lines, ...more].join('\n');
	return { content: [{ type: 'text', text: message }], isError: true, error: { code: 'upstream_failed', message } };
}
