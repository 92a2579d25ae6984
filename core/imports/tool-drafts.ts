// A tool of an operation as it is stored: what its importer makes of it, with its arguments as they were asked for.

import { flatten } from '../arguments/flat.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { Api, BodyLayout } from '../contract/nouns.ts';
import type { ApiToolDraft, OperationRow } from '../store/store.ts';

/** @param bodies how the body is to lie among the arguments; where that cannot be, it stays nested */
export function draftTool(importer: SchemaImporter, operation: OperationRow, api: Api, bodies: BodyLayout): ApiToolDraft {
	const { bodyArgument, fillable = null, ...draft } = importer.tool(operation, api);
	const flat = bodies === 'flat' && bodyArgument !== undefined ? flatten(draft.parameters, bodyArgument) : null;
	return {
		...draft,
		parameters: flat?.parameters ?? draft.parameters,
		flattened: flat?.flattened ?? null,
		fillable,
		bodies,
		wholeHash: operation.wholeHash,
	};
}
