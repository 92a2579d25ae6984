// Compares parameters that name their style with those that leave it to OpenAPI's defaults.

import { isObject, type Json, type JsonObject } from '../../core/index.ts';

/** The style that a parameter without one has (OpenAPI 3.1.1 §4.8.12.2). */
const STYLE: Record<string, string> = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' };

/** Leaves out of a definition what its parameters say and would have anyway. */
export function normalize(definition: JsonObject): JsonObject {
	const { parameters } = definition;
	return Array.isArray(parameters) ? { ...definition, parameters: parameters.map(withoutDefaults) } : definition;
}

function withoutDefaults(parameter: Json): Json {
	if (!isObject(parameter)) return parameter;
	const { style, explode, ...rest } = parameter;
	const usual = STYLE[String(parameter['in'])];
	if (usual === undefined) return parameter;
	const actual = style ?? usual;
	// The lists of `form` and of cookies are written one by one.
	const isExploded = actual === 'form' || actual === 'cookie';
	return {
		...rest,
		...(actual !== usual && { style: actual }),
		// Members of `deepObject` are written one by one, whatever it says.
		...(actual !== 'deepObject' && explode !== undefined && explode !== isExploded && { explode }),
	};
}
