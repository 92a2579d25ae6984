// Reads an answer of a model that has to be JSON of a schema.

import type { ModelCall } from '../contract/models.ts';
import type { Json, JsonSchema } from '../contract/nouns.ts';
import { hasManyNames, MANY_NAMES } from '../kit/json.ts';
import { hasInfinity, mayRound, quoteLongIntegers, UNHELD_NUMBER } from '../kit/json-numbers.ts';

const MOST_NAMED = 10;
/** A longer text would be parsed for too long. */
const MAX_CHARS = 1_000_000;
/** JSON in a block of Markdown, which models write around it. */
const FENCED = /^```(?:json)?[ \t]*\n([\s\S]*?)\n?```$/;

/**
 * Returns the value with its text; or what is wrong with the text, a line for each fault, for the model that wrote it. An integer that no
 * double holds is a text in the value, as in the body of a request: a place for texts or for anything keeps its digits, one for numbers is at fault.
 */
export async function readStructured(
	text: string,
	schema: JsonSchema,
	call: Pick<ModelCall, 'faults'>,
): Promise<{ value: Json; json: string } | { faults: string }> {
	const trimmed = text.trim();
	const json = FENCED.exec(trimmed)?.[1] ?? trimmed;
	if (json.length > MAX_CHARS) return { faults: `It has more than ${MAX_CHARS} characters.` };
	if (hasManyNames(json)) return { faults: `It has ${MANY_NAMES}.` };
	let value: Json;
	try {
		value = JSON.parse(json) as Json;
		if (mayRound(json)) value = JSON.parse((await quoteLongIntegers(json)).text) as Json;
	} catch {
		return { faults: json === '' ? 'It is empty.' : 'It is not JSON.' };
	}
	if (hasInfinity(value)) return { faults: `It has ${UNHELD_NUMBER}.` };
	const faults = await call.faults(schema, value);
	if (faults.length === 0) return { value, json };
	const lines = faults.slice(0, MOST_NAMED).map(({ path, message }) => `${path || '/'} ${message}`);
	return { faults: [...lines, ...(faults.length > MOST_NAMED ? [`… and ${faults.length - MOST_NAMED} more.`] : [])].join('\n') };
}

/** Asks a model whose answer did not fit for another one. */
export const repairing = (faults: string, schema: JsonSchema): string =>
	`That answer does not fit:\n${faults}\n\nAnswer again with nothing but JSON of this JSON Schema:\n${JSON.stringify(schema)}`;
