// Writes the result of a tool as `CallToolResult`.

import { type GatewayError, isObject, type Json, type JsonObject, type Tool, type ToolResult } from '../../core/index.ts';
import { strictData } from './results/strict.ts';

/** @param tool the one that the list showed, null when it showed none */
export function encodeResult(
	{ content, structured, isError }: ToolResult,
	tool: Pick<Tool, 'outputSchema' | 'strictOutput'> | null,
): JsonObject {
	const structuredContent = isError ? structured : owed(content, structured, tool);
	return {
		// Content blocks have the wire's own shape.
		content: content as Json[],
		...(isObject(structuredContent) && { structuredContent }),
		...(isError && { isError }),
	};
}

/**
 * "Servers MUST provide structured results that conform to this schema" (tools, "Output Schema"): clients refuse a whole call without one, so
 * where an object is promised, an answer that is none is wrapped in one.
 */
function owed(content: ToolResult['content'], structured: Json | undefined, tool: Pick<Tool, 'outputSchema' | 'strictOutput'> | null) {
	if (!tool?.outputSchema) return structured;
	if (tool.strictOutput && structured !== undefined) return strictData(structured, tool.outputSchema);
	return isObject(structured) ? structured : { result: structured ?? textOf(content) };
}

const textOf = (content: ToolResult['content']): string =>
	content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

/** "Input validation errors" and failures of upstreams are results that a model can read (tools, "Error Handling"). */
export function encodeFailure({ message, details }: GatewayError): JsonObject {
	// The message already says the first detail.
	const lines = [message, ...details.slice(1).map((detail) => `${detail.path || '/'} ${detail.message}`)];
	return { content: [{ type: 'text', text: lines.join('\n') }], isError: true };
}
