// Shows a tool as `tools/list` does, with an output schema that no result can break.

import { atFragment, type Call, hintsOf, isObject, type Json, type JsonObject, type JsonSchema, type Tool } from '../../core/index.ts';
import { iconsOf } from './results/icons.ts';
import { type OutputSchemas, shownAs } from './results/output-schemas.ts';
import { strictSchema } from './results/strict.ts';

const KEPT_MS = 600_000;
/** Levels of fields that an output schema documents; deeper ones cost every client tokens and tell it little. */
const DOCUMENTED_DEPTH = 3;
const MAX_REFERENCES = 8;

/** Shows a tool as lists do; the schema of its output is made once for each version. */
export async function describeTool(given: Tool, call: Call, schemas: OutputSchemas): Promise<JsonObject> {
	const tool = shownAs(given, schemas);
	if (!tool.outputSchema) return showTool(tool);
	return showTool(tool, await call.memo(`output:${schemas}:${tool.id}:${tool.version}`, KEPT_MS, async () => outputOf(tool) ?? {}));
}

/** Returns the output schema that clients are shown. */
export function outputOf({ outputSchema, strictOutput = false }: Tool): JsonSchema | undefined {
	if (!outputSchema) return undefined;
	return strictOutput ? strictSchema(outputSchema) : documentOutput(outputSchema);
}

/** @param outputSchema the one that clients are shown */
export function showTool({ name, description, parameters, annotations, icon }: Tool, outputSchema?: JsonSchema): JsonObject {
	const { title } = annotations;
	return {
		name,
		...(title !== undefined && { title }),
		description,
		...(icon !== undefined && { icons: iconsOf(icon) }),
		inputSchema: parameters,
		...(outputSchema && { outputSchema }),
		// Clients take a hint that is missing for the worst, and revisions before 2025-06-18 have the title here.
		annotations: { ...(title !== undefined && { title }), ...hintsOf(annotations) },
	};
}

/**
 * The schema as documentation: names, types in words and descriptions, asserting nothing but an object. Clients of both
 * SDKs throw away the answer of a call when it breaks the tool's output schema, and what upstreams send breaks theirs
 * daily; references and dialects that a client cannot resolve would lose it the whole list.
 */
export function documentOutput(schema: JsonSchema): JsonSchema {
	return { type: 'object', ...documentField(schema, schema, DOCUMENTED_DEPTH) };
}

function documentField(given: Json, root: JsonSchema, depth: number): JsonObject {
	const schema = resolve(given, root);
	const types = [schema.type].flat().filter((type) => typeof type === 'string');
	const description = typeof schema.description === 'string' ? schema.description : '';
	const text = [schema === root ? '' : types.join(' or '), description].filter(Boolean).join(': ');
	return {
		...(typeof schema.title === 'string' && { title: schema.title }),
		...(text && { description: text }),
		...(depth > 0 && documentInside(schema, root, depth - 1)),
	};
}

function documentInside({ properties, items }: JsonObject, root: JsonSchema, depth: number): JsonObject {
	return {
		...(isObject(properties) && {
			properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, documentField(field, root, depth)])),
		}),
		...(isObject(items) && { items: documentField(items, root, depth) }),
	};
}

/** Follows local references; one that leads nowhere documents nothing. */
function resolve(given: Json, root: JsonSchema): JsonObject {
	let schema: Json | undefined = given;
	for (let hops = 0; hops < MAX_REFERENCES && isObject(schema) && typeof schema.$ref === 'string'; hops += 1) {
		schema = atFragment(root, schema.$ref);
	}
	return isObject(schema) ? schema : {};
}
