// Makes a tool of the `grpc` executor from a stored operation.

import { hintsOf, isAdding, type Operation, type ToolDraft } from '../../core/index.ts';

export function toTool({ name, description, parameters, outputSchema, definition }: Operation): ToolDraft {
	const { readOnly, idempotent, ...executionConfig } = definition;
	return {
		name,
		description,
		executor: 'grpc',
		parameters,
		outputSchema,
		annotations: hintsOf({ readOnlyHint: readOnly === true, destructiveHint: !isAdding(name), idempotentHint: idempotent === true }),
		executionConfig,
	};
}
