// Builds the stored form of an operation's tool: the result of its importer, with the arguments in the requested layout.

import { flatten } from '../arguments/flat.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { Api, BodyLayout } from '../contract/nouns.ts';
import { deepFreeze } from '../kit/json.ts';
import type { ApiToolDraft, OperationRow } from '../store/store.ts';
import { checkDraft } from './check-importer.ts';

/** @param bodies the layout of the body among the arguments; a body that cannot be flattened stays nested */
export function draftTool(importer: SchemaImporter, operation: OperationRow, api: Api, bodies: BodyLayout): ApiToolDraft {
	const { bodyArgument, fillable = null, ...draft } = checkDraft(importer.name, importer.tool(deepFreeze(operation), deepFreeze(api)));
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
