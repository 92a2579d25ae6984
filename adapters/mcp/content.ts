// Writes the result of a tool as `CallToolResult`.

import { type GatewayError, isObject, type Json, type JsonObject, type JsonSchema, type ToolResult } from '../../core/index.ts';

/** @param outputSchema the one that the list showed, null when it showed none */
export function encodeResult({ content, structured, isError }: ToolResult, outputSchema: JsonSchema | null): JsonObject {
	// "Servers MUST provide structured results that conform to this schema" (tools, "Output Schema"): clients refuse a
	// whole call without one, so where an object is promised, an answer that is none is wrapped in one.
	const isOwed = outputSchema !== null && !isError && !isObject(structured);
	const structuredContent = isOwed ? { result: structured ?? textOf(content) } : structured;
	return {
		// Content blocks have the wire's own shape.
		content: content as Json[],
		...(isObject(structuredContent) && { structuredContent }),
		...(isError && { isError }),
	};
}

const textOf = (content: ToolResult['content']): string =>
	content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

/** "Input validation errors" and failures of upstreams are results that a model can read (tools, "Error Handling"). */
export function encodeFailure({ message, details }: GatewayError): JsonObject {
	// The message already says the first detail.
	const lines = [message, ...details.slice(1).map((detail) => `${detail.path || '/'} ${detail.message}`)];
	return { content: [{ type: 'text', text: lines.join('\n') }], isError: true };
}
