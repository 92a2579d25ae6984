// From a stored operation to a tool of the `grpc` executor.

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
