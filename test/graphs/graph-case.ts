// Graphs as data: what each of them has to do.

import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import type { Pipeline } from '../../core/store/store.ts';

export interface GraphCase {
	/** Completes “a graph with …”. */
	name: string;
	graph: Pipeline;
	/** The input, beside the tag that tells runs apart. */
	input?: JsonObject;
	/** The output of a run that succeeds; absent: it fails. */
	output?: Json;
	/** The code of the fault, and the node that it names. */
	fault?: [code: string, node: string];
	/** How each node ended, by its key: `a+` success, `b-` skipped, `c!` failed. */
	trace: string;
	/** How often each effect was begun: `a b b`, in any order. */
	effects: string;
	/** The answers to questions, by their keys. */
	answers?: Record<string, Json>;
	/** Agents that the graph runs: their ids are put in place of their names. */
	agents?: Record<string, Pipeline>;
}

export const START: [string] = ['start'];
export const FINISH: [string] = ['finish'];
