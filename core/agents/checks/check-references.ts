// The faults of placeholders: what they name must be there when their node runs.

import type { Json, JsonSchema } from '../../contract/nouns.ts';
import { isObject } from '../../kit/json.ts';
import type { Placeholder, Step, Template } from '../templates.ts';

export interface Seen {
	/** The nodes before the node. */
	before: ReadonlySet<string>;
	/** The number of bodies around the node. */
	depth: number;
	/** The schema of the run's input; null when it is not known. */
	schema: JsonSchema | null;
}

/** Returns the end of a sentence for each fault. */
export function referenceFaults({ parts, fault }: Template, seen: Seen): string[] {
	if (fault !== null) return [fault];
	return parts.flatMap((part) => (typeof part === 'string' ? [] : (faultOf(part, seen) ?? [])));
}

function faultOf({ path }: Placeholder, { before, depth, schema }: Seen): string | null {
	const [root, ...rest] = path;
	const shown = `{{${shownPath(path)}}}`;
	switch (root) {
		case 'input':
			return closedFault(rest, schema, shown);
		case 'nodes':
			return nodeFault(rest, before, shown);
		case 'item':
		case 'index':
			return depth > 0 ? null : `${shown} is known in the body of a node only, which runs for each item`;
		case 'parent': {
			const steps = path.findIndex((step) => step !== 'parent');
			const levels = steps < 0 ? path.length : steps;
			const what = path[levels];
			if (what !== 'item' && what !== 'index') return `${shown} must go on with item or index`;
			return levels < depth ? null : `${shown} names a body around this one, which there is not`;
		}
		default:
			return `${shown} begins with none of input, nodes${depth > 0 ? ', item, index, parent' : ''}`;
	}
}

function nodeFault([id, member]: readonly Step[], before: ReadonlySet<string>, shown: string): string | null {
	if (id === undefined) return `${shown} must name a node`;
	if (!before.has(String(id))) return `${shown} names the node "${id}", which is not before it`;
	return member === 'output' || member === 'error' ? null : `${shown} must go on with output, or error`;
}

/** Tells whether a path leaves a schema that allows no other members. */
function closedFault(path: readonly Step[], schema: JsonSchema | null, shown: string): string | null {
	let at: Json | undefined = schema ?? undefined;
	for (const step of path) {
		if (!isObject(at)) return null;
		const { properties, patternProperties, additionalProperties, type } = at;
		// References and alternatives may allow anything.
		if (Object.keys(at).some((name) => OPENING.has(name))) return null;
		if (typeof step === 'number' || type === 'array') {
			at = at['items'];
			continue;
		}
		const known: Json | undefined = isObject(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined;
		if (known === undefined && additionalProperties === false && patternProperties === undefined)
			return `${shown} names ${JSON.stringify(step)}, which the schema of the input does not allow`;
		at = known;
	}
	return null;
}

const OPENING = new Set(['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'not', 'dependentSchemas', 'unevaluatedProperties']);

const shownPath = (path: readonly Step[]): string =>
	path
		.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`))
		.join('')
		.slice(0, 80);
