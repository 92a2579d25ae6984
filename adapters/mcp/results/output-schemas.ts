// The output schemas that a gateway shows: none, documentation that no result can break, or the real ones, which its results then keep.

import type { Tool } from '../../../core/index.ts';

export const OUTPUT_SCHEMAS = ['off', 'loose', 'strict'] as const;
export type OutputSchemas = (typeof OUTPUT_SCHEMAS)[number];

/** Returns a tool as the gateway shows it; `loose` shows the real schema only where the tool's API promises to keep it. */
export function shownAs(tool: Tool, schemas: OutputSchemas): Tool {
	if (schemas === 'loose' || !tool.outputSchema) return tool;
	return schemas === 'off' ? { ...tool, outputSchema: null } : { ...tool, strictOutput: true };
}
