// Makes a tool of the `graphql` executor from a stored operation.

import { hintsOf, isAdding, type Operation, type ToolDraft } from '../../core/index.ts';
import { SELECT } from './config.ts';

export function toTool({ name, description, method, parameters, outputSchema, definition }: Operation): ToolDraft {
	const { query = null, selects } = definition;
	return {
		name,
		description,
		executor: 'graphql',
		parameters,
		outputSchema,
		// Only the fields of a mutation may have side effects (§6.2.2).
		annotations: hintsOf({ readOnlyHint: method === 'QUERY', destructiveHint: !isAdding(name) }),
		executionConfig: { query, ...(selects === true ? { selectArgument: SELECT } : {}) },
	};
}
