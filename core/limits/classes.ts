// The windows in which a request counts: the one of its path by the table, a class in place of it, and the one that its route declares for itself.

import { Router } from '@hapi/call';
import type { Request, Server } from '@hapi/hapi';
import type { GatewayRoute } from '../contract/kinds.ts';
import type { Window } from '../contract/limits.ts';
import { isDecodable } from '../http/queries.ts';
import type { ReservedSegments } from '../http/reserved.ts';
import { CREDENTIALS_PREFIX, ENDPOINT_PREFIXES, type LimitTable, type NamedWindow } from './table.ts';

export interface ClassParts {
	table: LimitTable;
	reserved: ReservedSegments;
	/** The limits of the gateways' routes of all plugins, for requests that reach no gateway. */
	gatewayRoutes: GatewayRouteLimits;
}

declare module '@hapi/hapi' {
	interface PluginSpecificConfiguration {
		/** The limit class that the route's feature declares for it. */
		limitClass?: Window & { name: string };
		/** The window that the route declares for itself, counted beside another. */
		ownLimit?: Window;
	}
	interface PluginsStates {
		/** The route of a gateway that the request is for; absent when there is none. */
		gatewayRoute?: GatewayRoute | undefined;
	}
}

export const globalWindow = (table: LimitTable): NamedWindow => ({ name: 'global', window: table.global, isStrict: false });

/** The window for unknown gateways and for bad credentials at any of them: else every made-up path would open a fresh window. */
const unknownGateway = ({ gateways }: LimitTable): NamedWindow | null => gateways && { name: 'gateway', window: gateways, isStrict: false };

/** @param path normalized. Null when there is no limit */
export function windowOf({ table, reserved }: Pick<ClassParts, 'table' | 'reserved'>, path: string): NamedWindow | null {
	const category = categoryOf(table, path);
	if (category !== undefined) return category;
	return reserved.isGatewayPath(path) ? unknownGateway(table) : globalWindow(table);
}

/** Returns the window of a prefix; null when it has no limit, undefined when the path has none of the prefixes. */
function categoryOf(table: LimitTable, path: string): NamedWindow | null | undefined {
	const [, first = '', , third = '', ...more] = path.split('/');
	const isDiscovery = first === '.well-known' && more.length === 0 && ENDPOINT_PREFIXES.includes(third);
	const category = isDiscovery ? third : first;
	if (Object.hasOwn(table.categories, category)) {
		const window = table.categories[category];
		return window ? { name: category, window, isStrict: category === CREDENTIALS_PREFIX } : null;
	}
	if (/^\/agents\/[^/]+\/(?:invoke|v1\/chat\/completions)$/.test(path))
		return { name: 'agents/invoke', window: table.invoke, isStrict: false };
	return undefined;
}

/**
 * Returns the windows of a request beside the one of its route. Bad credentials count in the window of the path nevertheless: no feature
 * decides how many may be tried.
 * @param own the window of the route
 */
export function windowsOf(request: Request, own: NamedWindow | null, parts: ClassParts): readonly (NamedWindow | null)[] {
	const path = normalized(request.path);
	const declared = request.route.settings.plugins?.limitClass;
	if (declared) return classWindows(declared, categoryOf(parts.table, path));
	return [windowBeside(own, parts, path)];
}

/** A class replaces the window of a prefix where it is stricter; where it is not, it cannot loosen it, and both count. */
function classWindows({ name, max, seconds }: Window & { name: string }, category: NamedWindow | null | undefined): NamedWindow[] {
	const own = { name, window: { max, seconds }, isStrict: false };
	return category && !isWithin(own.window, category.window) ? [own, category] : [own];
}

/** Whether a window never admits what the other one refuses: neither at once nor in the long run. */
const isWithin = (one: Window, other: Window): boolean => one.max <= other.max && one.max * other.seconds <= other.max * one.seconds;

/**
 * Returns the window of the path; the global one for a route below `/auth` with a window of its own: in the prefix's, the route's number
 * might never be reached.
 */
export function windowBeside(own: NamedWindow | null, parts: ClassParts, path: string): NamedWindow | null {
	return own && path.startsWith(`/${CREDENTIALS_PREFIX}/`) ? globalWindow(parts.table) : windowOf(parts, path);
}

// ── windows of routes ──────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the window that the route of a request declares. Replicas of all versions count it under the name of the route. */
export function ownWindow(request: Request, { table, reserved, gatewayRoutes }: ClassParts): NamedWindow | null {
	const { gatewayRoute } = request.plugins;
	if (table.routes && Object.keys(table.routes).length === 0) return null;
	if (gatewayRoute && !table.routes) return gatewayRoute.limit ? named(gatewayName(gatewayRoute), gatewayRoute.limit) : null;
	const path = normalized(request.path);
	const method = request.method === 'head' ? 'get' : request.method;
	if (!reserved.isGatewayPath(path)) return routeWindow(request.server, table, method, path);
	const inside = `/${path.split('/').slice(3).join('/')}`;
	return table.routes ? replaced(table.routes, gatewayName({ method, path: inside })) : gatewayRoutes.find(method, inside);
}

/** @param path normalized: other spellings of a path, which have no route, count with it */
export function routeWindow(server: Server, { routes }: LimitTable, method: string, path: string): NamedWindow | null {
	const name = `${method.toUpperCase()} ${path}`;
	if (routes) return replaced(routes, name);
	const route = isDecodable(path) ? server.match(method as Parameters<Server['match']>[0], path) : null;
	const declared = route?.settings.plugins?.ownLimit;
	return route && declared ? named(`${method.toUpperCase()} ${route.path}`, declared) : null;
}

function replaced(routes: NonNullable<LimitTable['routes']>, name: string): NamedWindow | null {
	const window = Object.hasOwn(routes, name) ? routes[name] : undefined;
	return window ? named(name, window) : null;
}

const named = (name: string, window: Window): NamedWindow => ({ name, window, isStrict: true });

const gatewayName = ({ method, path }: { method: string; path: string }): string =>
	`${method.toUpperCase()} /:org/:gw${path === '/' ? '' : path}`;

/** The limits of the routes that gateways may have. */
export interface GatewayRouteLimits {
	/** Returns the window of the first route that has this place, of several the strictest; null when none declares one. */
	find(method: string, path: string): NamedWindow | null;
}

/** @param plugins all that are loaded and may have routes */
export function gatewayRouteLimits(plugins: readonly { routes?: readonly GatewayRoute[] }[] = []): GatewayRouteLimits {
	const routes = plugins.flatMap((plugin) => plugin.routes ?? []);
	const limited = routes.flatMap((route) => {
		if (!route.limit) return [];
		const router = new Router({ isCaseSensitive: false });
		router.add({ method: route.method.toLowerCase(), path: route.path });
		return [{ router, window: named(gatewayName(route), route.limit) }];
	});
	limited.sort(({ window: { window: a } }, { window: { window: b } }) => a.max / a.seconds - b.max / b.seconds);
	return {
		find: (method, path) => limited.find(({ router }) => !(router.route(method, path) instanceof Error))?.window ?? null,
	};
}

/** Normalizes the case and the slashes of a path. It runs several times for every request, and nearly all paths are normal. */
export function normalized(path: string): string {
	const lower = path.toLowerCase();
	if (!lower.includes('//') && !lower.endsWith('/')) return lower;
	return lower.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
}
