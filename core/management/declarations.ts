// The declarations of a feature: permissions, audited types, limit classes and the first segments of its paths. All of it is checked and put to
// use at the start.

import type { RequestRoute } from '@hapi/hapi';
import type { Window } from '../contract/limits.ts';
import type { Log } from '../contract/nouns.ts';
import { PERMISSIONS, type PermissionName, type Permissions, permissionsWith, type Role } from '../contract/permissions.ts';
import type { Store } from '../store/store.ts';

export interface Declarations {
	/** The least role that has a permission, by its name, such as `webhooks:write`: every role above has it too. */
	permissions?: Readonly<Record<string, Role>>;
	/** Types of resources that the feature records in the audit log by `core.recordAudit`. */
	audits?: readonly string[];
	/**
	 * Windows for operations that name them as `limit`, counted per user, key or address. Each replaces the window of the path; where it is
	 * wider than that of a prefix, both count.
	 */
	limits?: Readonly<Record<string, Window>>;
	/** First segments of the feature's paths: every route begins with one of them, and no organization gets one as its slug. */
	segments?: readonly string[];
}

/** A feature with what it declares. */
export interface Declaring extends Declarations {
	name: string;
}

const PERMISSION = /^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$/;

/** Types that the audit log records by itself; a test compares them with its list of tables. */
export const OWN_TYPES: readonly string[] = [
	...['organization', 'member', 'invitation', 'access_key', 'api', 'credential', 'schema', 'tool', 'gateway', 'gateway_tool'],
	...['auth_method', 'api_key', 'import', 'skill', 'gateway_skill', 'llm_provider'],
	...['alert_rule', 'agent', 'agent_webhook', 'agent_approval', 'agent_version', 'agent_schedule'],
];

/** Collects the permissions of all features. @throws Error naming the feature and the permission that is invalid or taken */
export function permissionsOfFeatures(features: readonly Declaring[]): Permissions {
	const declared = new Map<PermissionName, Role>();
	const owners = new Map<string, string>(PERMISSIONS.map((name) => [name, 'core']));
	for (const { name: feature, permissions = {} } of features) {
		for (const [name, role] of Object.entries(permissions)) {
			if (!isPermission(name)) throw new Error(`feature:${feature}: the permission "${name}" must match ${PERMISSION}.`);
			claim(owners, name, { feature, what: 'permission' });
			declared.set(name, role);
		}
	}
	return permissionsWith(declared);
}

/** @throws Error naming the feature and the type that another one has */
export function assertAudits(features: readonly Declaring[]): void {
	const owners = new Map(OWN_TYPES.map((type) => [type, 'core']));
	for (const { name: feature, audits = [] } of features) for (const type of audits) claim(owners, type, { feature, what: 'audited type' });
}

function claim(owners: Map<string, string>, name: string, { feature, what }: { feature: string; what: string }): void {
	const owner = owners.get(name);
	if (owner !== undefined) throw new Error(`feature:${feature}: the ${what} "${name}" belongs to ${owner}.`);
	owners.set(name, `feature:${feature}`);
}

const isPermission = (name: string): name is PermissionName => PERMISSION.test(name);

/**
 * Marks the routes that a feature has registered with its name, their limit classes and their own windows.
 * @throws Error naming a route that is below none of the feature's segments, an undeclared limit class, or two kinds of limits
 */
export function claimRoutes(routes: readonly RequestRoute[], { name: feature, segments = [], limits = {} }: Declaring): void {
	for (const { method, path, settings } of routes) {
		const route = `feature:${feature}: the route ${method.toUpperCase()} ${path}`;
		const [, first = ''] = path.split('/');
		// The path / has no segment, so it takes none from an organization.
		if (path !== '/' && !segments.includes(first))
			throw new Error(`${route} is below none of its segments (${segments.join(', ') || 'none'}).`);
		settings.plugins = { ...settings.plugins, feature };
		const { limit, addressLimit } = settings.plugins.operation ?? {};
		if (limit !== undefined && addressLimit) throw new Error(`${route} has both a limit class and a window of its own.`);
		if (addressLimit) settings.plugins.ownLimit = addressLimit;
		if (limit === undefined) continue;
		const window = Object.hasOwn(limits, limit) ? limits[limit] : undefined;
		if (!window) throw new Error(`${route} has the limit class "${limit}", which the feature does not declare.`);
		settings.plugins.limitClass = { ...window, name: `class:${feature}:${limit}` };
	}
}

/** Logs each organization whose slug a feature has taken as a segment since: the feature's routes win. */
export async function tellTakenSlugs(features: readonly Declaring[], { store, log }: { store: Store; log: Log }): Promise<void> {
	const owners = new Map(features.flatMap(({ name, segments = [] }) => segments.map((segment) => [segment.toLowerCase(), name])));
	for (const slug of await store.accounts.takenSlugs([...owners.keys()])) {
		const feature = `feature:${owners.get(slug)}`;
		log.warn(
			{ feature, slug },
			`${feature} has the segment "${slug}", which is also the slug of an organization: its routes win, and the gateways of that organization cannot be reached`,
		);
	}
}
