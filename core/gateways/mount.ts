// Prepares one gateway for serving: the plugins of its snapshot's rows with their configs, a route table, and its tools.

import { Router } from '@hapi/call';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { AuthMethod, GatewayRoute, TransportAdapter } from '../contract/kinds.ts';
import type { Gateway, JsonObject, Tool } from '../contract/nouns.ts';
import type { Skill } from '../contract/skills.ts';
import { type KeyedGateway, noKeysYet } from '../identity/gateway-keys.ts';
import { quote } from '../kit/clean-text.ts';
import { deepFreeze } from '../kit/json.ts';
import { isSamePlace } from '../registry/manifest-fields.ts';
import type { Registry } from '../registry/registry.ts';
import { loadConfig, shownConfig } from '../registry/stored-configs.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { AuthRow, GatewayRow, GatewaySnapshot, OrganizationRow, SkillRow } from '../store/store.ts';
import type { ToolShelf } from '../tools/call-parts.ts';
import type { ToolEntry } from '../tools/entry.ts';
import type { Invoker } from '../tools/invoke.ts';
import { PayloadKeeper } from '../tools/log/payloads.ts';
import type { MountedMethod } from './authenticate.ts';
import type { Speaker } from './refusals.ts';

/** A route of a plugin, which speaks for it. */
export interface MountedRoute extends Speaker {
	route: GatewayRoute;
}

export interface GatewayShelf extends ToolShelf {
	/** Returns all that it finds, in order, also what is not listed. */
	entries(): Iterable<ToolEntry>;
}

export interface MountedGateway extends KeyedGateway {
	/** `kind:name` of its transport. */
	plugin: string;
	/** The transport's config. */
	config: JsonObject;
	/** Changes with every edit of the gateway. */
	version: string;
	/** Its address without the host, such as `acme/main`, for the log. */
	place: string;
	methods: MountedMethod[];
	/** Its transport, which speaks for paths without a route. */
	speaker: Speaker;
	/** Whether its transport decides which pages may send requests. */
	judgesOrigin: boolean;
	/** The suffix under which it is served, too. */
	suffix: string | null;
	shelf: GatewayShelf;
	router: Router<MountedRoute>;
}

export interface MountParts {
	registry: Registry;
	secrets: Secrets;
	invoker: Invoker;
}

export const gatewayLocation = (organizationId: string, row: string): SecretLocation => ({ organizationId, table: 'gateways', row });
export const authLocation = (organizationId: string, row: string): SecretLocation => ({ organizationId, table: 'gateway_auth', row });

/**
 * @param url under which clients reach the gateway
 * @throws not_implemented when its transport or a method is not loaded, UnfitConfig when a configuration does not fit it any more,
 * secret_unreadable naming a secret of its configuration
 */
export function mountGateway(snapshot: GatewaySnapshot, url: string, parts: MountParts): MountedGateway {
	const { gateway: row, organization } = snapshot;
	const transport = parts.registry.get('transport', row.type);
	if (!transport) throw new GatewayError('not_implemented', `The transport "${row.type}" of this gateway is not loaded.`);
	const place = gatewayLocation(row.organizationId, row.id);
	const of = `the gateway ${quote(row.name)}`;
	const stored = { kind: 'transport', name: row.type, config: row.configuration, version: row.configVersion } as const;
	const config = loadConfig(parts.registry, stored, parts.secrets, { ...place, of });
	const methods = snapshot.auth.map((auth, at, all) => {
		const isFirst = all.findIndex(({ type }) => type === auth.type) === at;
		return { ...mountMethod(auth, parts), ...(!isFirst && { realm: auth.id }) };
	});
	return {
		gateway: deepFreeze(describeGateway(row, organization, url)),
		plugin: `transport:${transport.name}`,
		config,
		version: String(row.version),
		place: organization.slug + row.endpoint,
		methods,
		speaker: speakerOf(transport, config),
		judgesOrigin: transport.judgesOrigin === true,
		suffix: transport.suffix ?? null,
		shelf: shelve(snapshot, parts),
		router: routeTable(transport, config, methods),
		keys: noKeysYet(),
	};
}

function mountMethod(row: AuthRow, { registry, secrets }: MountParts): MountedMethod {
	const plugin = registry.get('auth', row.type);
	if (!plugin) throw new GatewayError('not_implemented', `The authentication method "${row.type}" of this gateway is not loaded.`);
	const { isRequired, validationRules: rules } = row;
	const stored = { kind: 'auth', name: row.type, config: row.configuration, version: row.configVersion } as const;
	const place = { ...authLocation(row.organizationId, row.id), of: `the authentication method "${row.type}" of this gateway` };
	try {
		const shown = lazily(() => deepFreeze(shownConfig(registry, stored, secrets)));
		return { plugin, isRequired, config: loadConfig(registry, stored, secrets, place), rules, shownConfig: shown };
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error?.code !== 'secret_unreadable') throw thrown;
		// Only this method is shut; the gateway's other methods do not depend on its secret.
		const config = deepFreeze(shownConfig(registry, stored, secrets));
		return { plugin, isRequired, config, rules, shut: new GatewayError('forbidden', error.message, { cause: thrown }) };
	}
}

const describeGateway = (row: GatewayRow, organization: OrganizationRow, url: string): Gateway => ({
	id: row.id,
	organizationId: row.organizationId,
	organizationSlug: organization.slug,
	organizationName: organization.name,
	name: row.name,
	type: row.type,
	endpoint: row.endpoint,
	description: row.description,
	status: row.status,
	icon: row.icon,
	url,
});

/** Collects tools and skills, in the order of their assignment. One whose executor is not loaded is not listed, and says so when it is called. */
function shelve(snapshot: GatewaySnapshot, { invoker, registry }: MountParts): GatewayShelf {
	const apis = new Map(snapshot.apis.map((api) => [api.id, api]));
	const byName = new Map<string, ToolEntry>();
	const byId = new Map<string, ToolEntry>();
	const { payloadLog } = snapshot.gateway;
	const payloads = payloadLog && new PayloadKeeper(payloadLog);
	for (const { assignment, tool } of snapshot.tools) {
		const api = tool.apiId === null ? null : (apis.get(tool.apiId) ?? null);
		const credentials = snapshot.credentials.filter(({ apiId }) => apiId === tool.apiId);
		const limit = assignment.rateLimit === null ? null : { assignmentId: assignment.id, perMinute: assignment.rateLimit };
		const { name, description, confirm } = assignment;
		const maxResultBytes = assignment.maxResultBytes ?? snapshot.gateway.maxResultBytes;
		const tags = snapshot.tags.get(tool.id) ?? [];
		const entry = invoker.prepare(tool, { name, description, api, credentials, limit, maxResultBytes, confirm, payloads, tags });
		byName.set(name, entry);
		byId.set(tool.id, entry);
	}
	const listed = [...byName.values()].map(({ tool }) => tool).filter(({ executor }) => registry.get('executor', executor) !== null);
	const tools: readonly Tool[] = Object.freeze(listed);
	const skills: readonly Skill[] = Object.freeze(snapshot.skills.map(describeSkill));
	return {
		list: () => tools,
		find: (ref) => ('name' in ref ? byName.get(ref.name) : byId.get(ref.id)) ?? null,
		entries: () => byName.values(),
		skills: () => skills,
	};
}

const describeSkill = ({ id, organizationId, name, description, frontmatter, version, ...row }: SkillRow): Skill =>
	deepFreeze({
		...{ id, organizationId, name, description, frontmatter: { name, description, ...frontmatter } },
		...{ arguments: row.arguments, files: row.files, version: String(version) },
	});

function lazily<T extends object>(make: () => T): () => T {
	let made: T | null = null;
	return () => {
		made ??= make();
		return made;
	};
}

export function speakerOf(owner: TransportAdapter | AuthMethod, config: JsonObject): Speaker {
	const fail = owner.fail?.bind(owner);
	return { plugin: `${owner.kind}:${owner.name}`, config, ...(fail && { fail }) };
}

/** Throws when two plugins of one gateway have the same route. @param titled completes the id of a plugin for the message */
export function routeTable(
	transport: TransportAdapter,
	config: JsonObject,
	methods: readonly MountedMethod[],
	titled: (plugin: string) => string = (plugin) => plugin,
): Router<MountedRoute> {
	const router = new Router<MountedRoute>({ isCaseSensitive: true });
	const owners: { owner: TransportAdapter | AuthMethod; config: JsonObject }[] = [{ owner: transport, config }];
	for (const method of methods) {
		if (method.shut) continue;
		// Two rows of one method share its routes; the first row's config counts.
		if (!owners.some(({ owner }) => owner === method.plugin)) owners.push({ owner: method.plugin, config: method.config });
	}
	const mounted: MountedRoute[] = [];
	for (const { owner, config: its } of owners) {
		const speaker = speakerOf(owner, its);
		for (const route of owner.routes ?? []) mounted.push({ route, ...speaker });
	}
	for (const [at, one] of mounted.entries()) addRoute(router, one, mounted.slice(0, at), titled);
	return router;
}

function addRoute(
	router: Router<MountedRoute>,
	one: MountedRoute,
	others: readonly MountedRoute[],
	titled: (plugin: string) => string,
): void {
	const { method, path } = one.route;
	try {
		router.add({ method: method.toLowerCase(), path }, one);
	} catch (cause) {
		// The manifest's check ensures that the path is valid and that no route of the same plugin has it.
		const other = others.find(({ route }) => isSamePlace(route, one.route));
		const owners = `${other ? titled(other.plugin) : 'another plugin'} and ${titled(one.plugin)}`;
		throw new Error(`${owners} both have the route ${method} ${path}, and one gateway may have both plugins.`, { cause });
	}
}

/** Checks at start that every transport and every method together make a route table. @throws Error naming the route and both owners */
export function checkRoutes(registry: Registry): void {
	const titled = (plugin: string): string => `${plugin} (${registry.titleOf(plugin)})`;
	const methods = registry.list('auth').map((plugin) => ({ plugin, isRequired: true, config: {}, rules: {} }));
	for (const transport of registry.list('transport')) routeTable(transport, {}, methods, titled);
}

export type RouteMatch = { found: MountedRoute; params: Record<string, string> };

/** Finds the route of a request; null when none matches. */
export function findRoute(router: Router<MountedRoute>, method: string, path: string): RouteMatch | null {
	const match = router.route(method.toLowerCase(), path);
	if (match instanceof Error) return null;
	// Every parameter of a path that matched is present, percent-decoded.
	return { found: match.route, params: match.params as Record<string, string> };
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** Returns the error for an unmatched path: 405 with `Allow` when a route of another method matches, else 404. */
export function unmatched(router: Router<MountedRoute>, path: string): GatewayError {
	const allowed = METHODS.filter((method) => findRoute(router, method, path) !== null);
	if (allowed.length === 0) return new GatewayError('not_found', 'There is nothing at this path of the gateway.');
	const allow = allowed.join(', ');
	return new GatewayError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });
}
