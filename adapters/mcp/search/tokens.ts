// Estimates what the lists of a gateway cost a model.

import { BoundedMap, TimeSlice, type Tool } from '../../../core/index.ts';
import { outputOf, showTool } from '../listing.ts';
import { type OutputSchemas, shownAs } from '../results/output-schemas.ts';
import { fingerprintOf } from './indexes.ts';
import { describeOwn, type Exposure } from './own-tools.ts';

/**
 * Characters of JSON for one token: the usual rule of thumb for English and JSON with the tokenizers of current models, which differ from
 * each other by a fifth. Clients may show a model less than they get, or reformat it.
 */
const CHARS_PER_TOKEN = 4;
const KEPT = 1000;

const estimates = new BoundedMap<string, Promise<Record<Exposure, number>>>(KEPT);

/** Estimates the tokens of `tools/list`, all pages of it, by exposure: once for each state of the tools. */
export async function estimateTokens(tools: readonly Tool[], schemas: OutputSchemas = 'loose'): Promise<Record<Exposure, number>> {
	const key = `${schemas} ${await fingerprintOf(tools)}`;
	const known = estimates.get(key) ?? estimate(tools, schemas);
	estimates.set(key, known);
	known.catch(() => estimates.delete(key));
	return known;
}

async function estimate(tools: readonly Tool[], schemas: OutputSchemas): Promise<Record<Exposure, number>> {
	const slice = new TimeSlice();
	let chars = 0;
	for (const tool of tools.map((given) => shownAs(given, schemas))) {
		// Icons are for people.
		const { icons: _icons, ...read } = showTool(tool, outputOf(tool));
		chars += JSON.stringify(read).length;
		if (slice.isOverNow) await slice.next();
	}
	const own = (exposure: Exposure): number => tokensOf(JSON.stringify(describeOwn(exposure, tools)).length);
	return { full: tokensOf(chars), search: own('search'), code: own('code') };
}

const tokensOf = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);
