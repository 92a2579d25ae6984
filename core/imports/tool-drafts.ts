// Builds the stored form of an operation's tool: the result of its importer, with the arguments in the requested layout.

import { flatten } from '../arguments/flat.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { Api, BodyLayout } from '../contract/nouns.ts';
import { deepFreeze } from '../kit/json.ts';
import type { ApiToolDraft, OperationRow } from '../store/store.ts';
import { checkDraft } from './check-importer.ts';

/**
 * @param bodies the layout of the body among the arguments; a body that cannot be flattened stays nested
 * @param versionOf the version of an executor's config, which is the one that importers write
 */
export function draftTool(
	importer: SchemaImporter,
	operation: OperationRow,
	{ api, bodies, versionOf }: { api: Api; bodies: BodyLayout; versionOf: (executor: string) => number },
): ApiToolDraft {
	const { bodyArgument, fillable = null, ...draft } = checkDraft(importer.name, importer.tool(deepFreeze(operation), deepFreeze(api)));
	const flat = bodies === 'flat' && bodyArgument !== undefined ? flatten(draft.parameters, bodyArgument) : null;
	return {
		...draft,
		configVersion: versionOf(draft.executor),
		parameters: flat?.parameters ?? draft.parameters,
		flattened: flat?.flattened ?? null,
		fillable,
		bodies,
		wholeHash: operation.wholeHash,
	};
}
