// Questions to the client's user, as both eras write them: `elicitation/create` in form mode.

import { type Answer, isObject, type Json, type JsonObject, type Question } from '../../core/index.ts';

/** Whether a client with these capabilities shows forms: an empty object means that it does, one with `url` alone that it does not. */
export function takesForms(capabilities: Json | undefined): boolean {
	const declared = isObject(capabilities) ? capabilities.elicitation : undefined;
	return isObject(declared) && (declared.form !== undefined || declared.url === undefined);
}

/** Without `mode`, which 2025-06-18 does not know: "Clients MUST treat missing mode as form" (2025-11-25, client, "Elicitation"). */
export const elicitation = ({ message, schema }: Question): JsonObject => ({
	method: 'elicitation/create',
	// Core checked that the question is JSON.
	params: { message, requestedSchema: schema as unknown as JsonObject },
});

/** Reads an `ElicitResult`; null when it is none. Core checks its content. */
export function readAnswer(result: Json | undefined): Answer | null {
	if (!isObject(result)) return null;
	const { action, content } = result;
	if (action === 'decline' || action === 'cancel') return { action };
	// Core drops what was not asked, and refuses what does not fit.
	return action === 'accept' ? { action, content: (content ?? {}) as Extract<Answer, { action: 'accept' }>['content'] } : null;
}
