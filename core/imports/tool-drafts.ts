// Builds the stored form of an operation's tool: the result of its importer, with the arguments in the requested layout.

import { flatten } from '../arguments/flat.ts';
import { PluginFault } from '../contract/errors.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { Api, BodyLayout, JsonObject, ToolDraft } from '../contract/nouns.ts';
import { cleanText, quote } from '../kit/clean-text.ts';
import { deepFreeze } from '../kit/json.ts';
import { escapeToken } from '../kit/json-pointer.ts';
import { resultOf } from '../process/hooks.ts';
import type { DraftedTool, OperationRow } from '../store/store.ts';
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
): DraftedTool {
	const {
		bodyArgument,
		fillable = null,
		parameters,
		outputSchema,
		...draft
	} = checkDraft(
		importer.name,
		resultOf({ plugin: `importer:${importer.name}`, hook: 'tool' }, () => importer.tool(deepFreeze(operation), deepFreeze(api))),
	);
	assertNoSecret(importer.name, draft, executors);
	const flat = bodies === 'flat' && bodyArgument !== undefined ? flatten(parameters, bodyArgument) : null;
	const drafted: DraftedTool = {
		...draft,
		configVersion: executors.versionOf(draft.executor),
		flattened: flat?.flattened ?? null,
		fillable,
		bodies,
		wholeHash: operation.wholeHash,
	};
	const given = flat?.parameters ?? parameters;
	if (given !== operation.parameters) drafted.parameters = given;
	if (outputSchema !== operation.outputSchema) drafted.outputSchema = outputSchema;
	return drafted;
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
