// Server objects: where an operation is called (OpenAPI 3.1.1 §4.8.5). The base URL that the user gave to the API wins
// over the document's; only an operation's or a path's own server leads elsewhere.

import type { Json, JsonObject } from '../../core/index.ts';
import { isObject } from './document.ts';

/** The first usable server, variables by their defaults; null when there is none. May be relative. */
export function firstServer(servers: Json | undefined): string | null {
	return allServers(servers)[0] ?? null;
}

/** The URLs of a list of servers, without a trailing slash. */
export function allServers(servers: Json | undefined): string[] {
	if (!Array.isArray(servers)) return [];
	return servers.map(serverUrl).filter((url) => url !== null);
}

/** @returns the URL that `relative` means at `base`, without a trailing slash; null when that is no http(s) URL */
export function absoluteUrl(relative: string, base: string | null): string | null {
	const url = URL.parse(relative, base ?? undefined);
	if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) return null;
	return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function serverUrl(server: Json): string | null {
	if (!isObject(server) || typeof server['url'] !== 'string') return null;
	const url = fillVariables(server['url'], server['variables']);
	return url === null || /[\s\\{}]/.test(url) ? null : url;
}

/** Null when a variable has no default. */
function fillVariables(url: string, variables: Json | undefined): string | null {
	const defaults = isObject(variables) ? variables : {};
	const names = [...url.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name ?? '');
	if (names.some((name) => defaultOf(defaults, name) === null)) return null;
	return url.replace(/\{([^{}]+)\}/g, (_, name: string) => defaultOf(defaults, name) ?? '');
}

function defaultOf(variables: JsonObject, name: string): string | null {
	const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
	const value = isObject(variable) ? variable['default'] : undefined;
	return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
