// Hints about what a call of a tool does: its annotations, and what names tell.

import type { ToolAnnotations } from '../contract/nouns.ts';

/** The hints of a tool, all written out. */
export type Hints = Required<Omit<ToolAnnotations, 'title'>>;

/** Returns all hints; those that a tool lacks are MCP's defaults, which are the cautious ones (2026-07-28, schema, "ToolAnnotations"). */
export function hintsOf({ readOnlyHint = false, destructiveHint, idempotentHint, openWorldHint = true }: ToolAnnotations): Hints {
	return {
		readOnlyHint,
		// A call that only reads destroys nothing, and does the same when it is made again.
		destructiveHint: !readOnlyHint && (destructiveHint ?? true),
		idempotentHint: readOnlyHint || (idempotentHint ?? false),
		openWorldHint,
	};
}

const wordsOf = (lines: string[]): ReadonlySet<string> => new Set(lines.flatMap((line) => line.split(' ')));

const ADDING = wordsOf([
	'add append attach book check compute count create describe download echo export fetch find generate get insert invite list load',
	'lookup open preview publish query read register request retrieve search send show submit upload validate verify view',
]);
const CHANGING = wordsOf([
	'abort archive assign ban batch block bulk cancel change cleanup clear close deactivate decline delete deny destroy detach disable',
	'discard drop edit empty erase expire expunge kill merge migrate modify move overwrite patch prune purge put reject remove rename',
	'replace reset restore revert revoke rollback rotate set shutdown stop suspend swap sync terminate transfer truncate unassign',
	'uninstall unlink unpublish unset update upgrade upsert void wipe withdraw write',
]);
const MAX_CHARS = 500;

/**
 * Whether the name of an operation says that it only adds something or reads: `createPet`, `GetWeather`. One that says nothing, or that
 * something may be changed or removed, does not.
 * @param context other texts of the operation, such as its path, of which none may say that either
 */
export function isAdding(name: string, context = ''): boolean {
	const words = wordsIn(name);
	return words.some((word) => ADDING.has(word)) && ![...words, ...wordsIn(context)].some((word) => CHANGING.has(word));
}

/** Splits at capitals, too. */
const wordsIn = (name: string): string[] =>
	name
		.slice(0, MAX_CHARS)
		.replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
		.replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
		.toLowerCase()
		.split(/[^\p{L}]+/u);
