// What a tool answered, as `CallToolResult`.

import type { GatewayError, Json, JsonObject, JsonSchema, ToolResult } from '../../core/index.ts';
import { isObject } from './messages.ts';

/** @param outputSchema that the list showed, null when it showed none */
export function encodeResult({ content, structured, isError }: ToolResult, outputSchema: JsonSchema | null): JsonObject {
	const structuredContent =
		isObject(structured) || outputSchema === null || isError ? structured : structured;
	return {
		// Content blocks have the wire's own shape.
		content: content as Json[],
		...(isObject(structuredContent) && { structuredContent }),
		...(isError && { isError }),
	};
}

/**
 * "Servers MUST provide structured results that conform to this schema" (tools, "Output Schema"), and clients refuse the
 * whole call without one, so an answer that is no object is wrapped in one.
 */
const textOf = (content: ToolResult['content']): string =>
	content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

/** "Input validation errors" and failures of upstreams are results that the model can read (tools, "Error Handling"). */
export function encodeFailure({ message, details }: GatewayError): JsonObject {
	// The message says the first of the details.
	const lines = [message, ...details.slice(1).map((detail) => `${detail.path || '/'} ${detail.message}`)];
	return { content: [{ type: 'text', text: lines.join('\n') }], isError: true };
}
