// Schemas of arguments that are too large for a model: models are shown a reduced one, and arguments are checked against the whole one if
// that is possible.

import { GatewayError } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/nouns.ts';
import { quote } from '../kit/clean-text.ts';
import { assertBounded } from './looks.ts';
import { measureSize } from './size.ts';

/** Maximum size in characters of JSON; longer schemas are not kept. */
export const MAX_WHOLE_CHARS = 512 * 1024;
/** Limit of all whole schemas of one document together. */
const MAX_TOTAL_CHARS = 32 * 1024 * 1024;
const MAX_NAMED = 10;

export interface CutSchema {
	parameters: JsonSchema;
	/** Names of the parts that were omitted, which accept anything. */
	left: readonly string[];
}

export interface Settled {
	/** Null if arguments can only be checked against `parameters`. */
	whole: JsonSchema | null;
	/** The reason for the report, without a capital and a full stop; null if nothing was omitted. */
	reason: string | null;
}

/** The whole schemas of one document. */
export class WholeSchemas {
	#charsLeft = MAX_TOTAL_CHARS;

	/**
	 * Decides what to keep of a schema that had to be cut.
	 * @param left what was omitted for models. @param make returns the same schema within `MAX_WHOLE_CHARS`
	 */
	settle(left: readonly string[], make: () => CutSchema): Settled {
		if (left.length === 0) return { whole: null, reason: null };
		const whole = this.#charsLeft > 0 ? make() : null;
		if (!whole || whole.left.length > 0 || !this.#keeps(whole.parameters))
			return {
				whole: null,
				reason: `the schema of ${listed(left)} is too large and was left out: it accepts anything, and arguments are checked against the rest`,
			};
		const reason = `models are shown the schema without ${listed(left)}: arguments are checked against the whole one`;
		return { whole: whole.parameters, reason };
	}

	#keeps(schema: JsonSchema): boolean {
		const chars = JSON.stringify(schema).length;
		if (chars > MAX_WHOLE_CHARS || chars > this.#charsLeft || !isCheckable(schema)) return false;
		this.#charsLeft -= chars;
		return true;
	}
}

function isCheckable(schema: JsonSchema): boolean {
	try {
		measureSize(schema, '');
		assertBounded(schema, '');
		return true;
	} catch (error) {
		if (error instanceof GatewayError) return false;
		throw error;
	}
}

function listed(names: readonly string[]): string {
	const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
	return names.slice(0, MAX_NAMED).map(quote).join(', ') + more;
}
