// Makes a tool of the `grpc` executor from a stored operation.

import type { Operation, ToolDraft } from '../../core/index.ts';

export function toTool({ name, description, parameters, outputSchema, definition }: Operation): ToolDraft {
	const { readOnly, idempotent, ...executionConfig } = definition;
	return {
		name,
		description,
		executor: 'grpc',
		parameters,
		outputSchema,
		annotations: { readOnlyHint: readOnly === true, ...(idempotent === true ? { idempotentHint: true } : {}), openWorldHint: true },
		executionConfig,
	};
}
