// Builds the stored form of an operation's tool: the result of its importer, with the arguments in the requested layout.

import { flatten } from '../arguments/flat.ts';
import { PluginFault } from '../contract/errors.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { Api, BodyLayout, JsonObject, ToolDraft } from '../contract/nouns.ts';
import { cleanText, quote } from '../kit/clean-text.ts';
import { deepFreeze } from '../kit/json.ts';
import { escapeToken } from '../kit/json-pointer.ts';
import type { ApiToolDraft, OperationRow } from '../store/store.ts';
import { checkDraft } from './check-importer.ts';

const MAX_POINTER_CHARS = 200;

/** The executors that tools name. */
export interface Executors {
	has(executor: string): boolean;
	/** Returns the version of an executor's config, which is the one that importers write. */
	versionOf(executor: string): number;
	/** Returns the path of the first secret in a config of an executor; null if it holds none. */
	secretIn(executor: string, config: JsonObject): string[] | null;
}

/**
 * @param bodies the layout of the body among the arguments; a body that cannot be flattened stays nested
 * @throws PluginFault naming the member, the executor if there is none, or the field of its config that holds a secret
 */
export function draftTool(
	importer: SchemaImporter,
	operation: OperationRow,
	{ api, bodies, executors }: { api: Api; bodies: BodyLayout; executors: Executors },
): ApiToolDraft {
	const { bodyArgument, fillable = null, ...draft } = checkDraft(importer.name, importer.tool(deepFreeze(operation), deepFreeze(api)));
	assertNoSecret(importer.name, draft, executors);
	const flat = bodies === 'flat' && bodyArgument !== undefined ? flatten(draft.parameters, bodyArgument) : null;
	return {
		...draft,
		configVersion: executors.versionOf(draft.executor),
		parameters: flat?.parameters ?? draft.parameters,
		flattened: flat?.flattened ?? null,
		fillable,
		bodies,
		wholeHash: operation.wholeHash,
	};
}

/** Drafts are stored and compared as they are, so nothing would be sealed; and a description, which is shown, holds no secret. */
function assertNoSecret(
	importer: string,
	{ executor, executionConfig }: Pick<ToolDraft, 'executor' | 'executionConfig'>,
	executors: Executors,
): void {
	const refused = (fault: string): PluginFault => new PluginFault(`importer:${importer}`, `the draft that tool returns ${fault}.`);
	// Nobody knows the secrets of an executor that is not there.
	if (!executors.has(executor)) throw refused(`names the executor ${quote(executor)}, and there is none`);
	const path = executors.secretIn(executor, executionConfig);
	if (path === null) return;
	const pointer = cleanText(path.map((name) => `/${escapeToken(name)}`).join(''), MAX_POINTER_CHARS);
	throw refused(`must not fill ${pointer} of executionConfig, which the executor ${executor} marks as secret`);
}
