// The only table of roles. A route names the permission that it needs, a role lists those that it has.

/** Permissions for reading an organization. */
const READ = ['organization:read', 'members:read', 'apis:read', 'tools:read', 'gateway:read', 'agents:read', 'analytics:read'] as const;
/** Permissions for building: APIs, tools, gateways and agents. */
const BUILD = ['apis:write', 'tools:write', 'tools:execute', 'gateway:write', 'agents:write', 'agents:execute'] as const;
/** Permissions for administering an organization. */
const ADMINISTER = ['organization:write', 'members:write', 'audit:read'] as const;
/** Permission to appoint and remove owners. */
const OWN = ['owners:write'] as const;

export type Permission = (typeof READ | typeof BUILD | typeof ADMINISTER | typeof OWN)[number];

/** A permission of ours or of a feature: `webhooks:write`. */
export type PermissionName = Permission | `${string}:${string}`;

/** Our own permissions. */
export const PERMISSIONS: readonly Permission[] = [...READ, ...BUILD, ...ADMINISTER, ...OWN];

const TABLE = {
	owner: [...READ, ...BUILD, ...ADMINISTER, ...OWN],
	admin: [...READ, ...BUILD, ...ADMINISTER],
	member: [...READ, ...BUILD],
	viewer: [...READ],
} as const satisfies Record<string, readonly Permission[]>;

export type Role = keyof typeof TABLE;

/** The roles, from the most powerful to the least. */
export const ROLES = Object.keys(TABLE) as Role[];

/** Our own permissions of a role; a test compares the README's table with it. */
export const permissionsOf = (role: Role): readonly Permission[] => TABLE[role];

/** The permission needed to give this role to a member, or to take it away. */
export const permissionToGrant = (role: Role): Permission => (role === 'owner' ? 'owners:write' : 'members:write');

/** The permissions of a service: ours, and those that its features declare. */
export interface Permissions {
	names: readonly PermissionName[];
	of(role: Role): readonly PermissionName[];
}

/** @param declared the least role that has a permission, by its name */
export function permissionsWith(declared: ReadonlyMap<PermissionName, Role>): Permissions {
	const added = (role: Role): PermissionName[] =>
		[...declared].filter(([, least]) => ROLES.indexOf(role) <= ROLES.indexOf(least)).map(([name]) => name);
	const table = new Map(ROLES.map((role) => [role, [...permissionsOf(role), ...added(role)]]));
	return { names: [...PERMISSIONS, ...declared.keys()], of: (role) => table.get(role) ?? [] };
}
