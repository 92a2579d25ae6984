// Asks the user of the client before a tool runs, where its assignment says so. What cannot be asked does not run.

import { createHash } from 'node:crypto';
import type { Answer, Asker, Question } from '../contract/asking.ts';
import { asGatewayError } from '../contract/errors.ts';
import type { JsonObject, Tool } from '../contract/nouns.ts';
import { cleanText, quote } from '../kit/clean-text.ts';
import type { Confirming } from '../store/store.ts';
import { unaskable } from './asking.ts';
import { hintsOf } from './hints.ts';

const MAX_SHOWN_CHARS = 2500;

/** The confirmations of one call of a client: each is for one run, however often the same one is asked for. */
const asked = new WeakMap<Asker, Map<string, number>>();

export const isConfirmed = (confirm: Confirming | null, { annotations }: Tool): boolean =>
	confirm === 'always' || (confirm === 'destructive' && hintsOf(annotations).destructiveHint);

/**
 * Asks whether the tool may run with exactly these arguments.
 * @returns whether it may. @throws not_implemented when the client has no way to ask, and what asking throws
 */
export async function confirmed(
	tool: Tool,
	args: JsonObject,
	{ asker, ask }: { asker: Asker | null | undefined; ask(question: Question): Promise<Answer> },
): Promise<boolean> {
	if (!asker) throw unaskable('This tool runs only when the user confirms it, and the client cannot ask its user: it did not run.');
	const answer = await ask(questionOf(tool, args, asker)).catch((thrown: unknown) => {
		const error = asGatewayError(thrown);
		if (error?.code !== 'validation_failed') throw thrown;
		// The form came back in another form: nobody has said yes.
		return { action: 'cancel' } as const;
	});
	return answer.action === 'accept' && answer.content['run'] === true;
}

function questionOf({ id, name, annotations }: Tool, args: JsonObject, asker: Asker): Question {
	const shown = cleanText(JSON.stringify(args, null, 1), MAX_SHOWN_CHARS);
	const digest = createHash('sha256')
		.update(JSON.stringify([id, args]))
		.digest('base64url')
		.slice(0, 22);
	const counts = asked.get(asker) ?? new Map<string, number>();
	asked.set(asker, counts);
	const count = (counts.get(digest) ?? 0) + 1;
	counts.set(digest, count);
	const title = annotations.title === undefined ? '' : ` (${quote(annotations.title)})`;
	return {
		// An answer is found by its key, so it counts for these arguments of this tool alone, and for one run.
		key: `confirm-${digest}-${count}`,
		message: `Run the tool ${quote(name)}${title} with these arguments?\n${shown}`,
		schema: {
			type: 'object',
			properties: { run: { type: 'boolean', title: 'Run it', description: 'Nothing happens unless this is chosen.', default: false } },
			required: ['run'],
		},
	};
}
