// Reads Server Objects, which tell where an operation is called (OpenAPI 3.1.1 §4.8.5). The base URL that the user gave to the API
// takes precedence over the document's; only the own server of an operation or a path leads elsewhere.

import { escapeToken, invalid, isObject, type Json, type JsonObject, quote } from '../../core/index.ts';

const NAME = /\{([^{}]+)\}/g;
const MAX_NAMED = 20;

/** Values that the user set, by the variable's name. */
export type ServerVariables = Readonly<Record<string, string>>;

/** Returns the URL of the first usable server, which may be relative; null when there is none. */
export function firstServer(servers: Json | undefined, given: ServerVariables): string | null {
	return allServers(servers, given)[0] ?? null;
}

/** Returns the URLs of a list of servers, without a trailing slash. Variables have the values that the user set, or their defaults. */
export function allServers(servers: Json | undefined, given: ServerVariables): string[] {
	if (!Array.isArray(servers)) return [];
	return servers.map((server) => serverUrl(server, given)).filter((url) => url !== null);
}

/** @param lists every list of servers in the document. @throws validation_failed for unknown variables and for values that none allows */
export function checkVariables(given: ServerVariables, lists: (Json | undefined)[]): void {
	const servers = lists.flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
	for (const [name, value] of Object.entries(given)) {
		const at = `/options/serverVariables/${escapeToken(name)}`;
		const variables = servers.filter(({ url }) => namesIn(url).includes(name)).map((server) => variableOf(server, name));
		if (variables.length === 0) {
			const names = [...new Set(servers.flatMap(({ url }) => namesIn(url)))].slice(0, MAX_NAMED);
			throw invalid(at, `No server has a variable ${quote(name)}: there are ${names.map(quote).join(', ') || 'none'}.`);
		}
		if (variables.some((variable) => admits(variable, value))) continue;
		const values = variables.flatMap((variable) => (Array.isArray(variable['enum']) ? variable['enum'] : [])).slice(0, MAX_NAMED);
		throw invalid(at, `${quote(name)} must be one of ${[...new Set(values.map(String))].map(quote).join(', ')}.`);
	}
}

/** @returns the URL that `relative` means at `base`, without a trailing slash; null when that is no http(s) URL */
export function absoluteUrl(relative: string, base: string | null): string | null {
	const url = URL.parse(relative, base ?? undefined);
	if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) return null;
	return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function serverUrl(server: Json, given: ServerVariables): string | null {
	if (!isObject(server) || typeof server['url'] !== 'string') return null;
	const values = new Map(namesIn(server['url']).map((name) => [name, fillOf(server, name, given)]));
	// The URL is unknown if a variable has no value.
	if ([...values.values()].includes(null)) return null;
	const url = server['url'].replace(NAME, (_, name: string) => values.get(name) ?? '');
	return /[\s\\{}]/.test(url) ? null : url;
}

const namesIn = (url: Json | undefined): string[] => (typeof url === 'string' ? [...url.matchAll(NAME)].map(([, name]) => name ?? '') : []);

function fillOf(server: JsonObject, name: string, given: ServerVariables): string | null {
	const variable = variableOf(server, name);
	const set = Object.hasOwn(given, name) ? given[name] : undefined;
	if (set !== undefined && admits(variable, set)) return set;
	const value = variable['default'];
	return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function variableOf({ variables }: JsonObject, name: string): JsonObject {
	const variable = isObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
	return isObject(variable) ? variable : {};
}

const admits = ({ enum: values }: JsonObject, value: string): boolean =>
	!Array.isArray(values) || values.length === 0 || values.map(String).includes(value);
