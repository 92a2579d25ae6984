// Who may do what: the only table of roles. A route names the permission that it needs, a role lists those that it has.

/** What a reader of an organization sees. */
const READ = ['organization:read', 'members:read', 'apis:read', 'tools:read', 'gateway:read'] as const;
/** What its builders do. */
const BUILD = ['apis:write', 'tools:write', 'tools:execute', 'gateway:write'] as const;
/** What its administrators do. */
const ADMINISTER = ['organization:write', 'members:write', 'audit:read'] as const;
/** Making and unmaking owners. */
const OWN = ['owners:write'] as const;

export type Permission = (typeof READ | typeof BUILD | typeof ADMINISTER | typeof OWN)[number];

export const PERMISSIONS: readonly Permission[] = [...READ, ...BUILD, ...ADMINISTER, ...OWN];

const TABLE = {
	owner: [...READ, ...BUILD, ...ADMINISTER, ...OWN],
	admin: [...READ, ...BUILD, ...ADMINISTER],
	member: [...READ, ...BUILD],
	viewer: [...READ],
} as const satisfies Record<string, readonly Permission[]>;

export type Role = keyof typeof TABLE;

/** From the most powerful to the least. */
export const ROLES = Object.keys(TABLE) as Role[];

/** The README's table is compared with it. */
export const permissionsOf = (role: Role): readonly Permission[] => TABLE[role];

/** What it takes to give somebody this role, or to take it from them. */
export const permissionToGrant = (role: Role): Permission => (role === 'owner' ? 'owners:write' : 'members:write');
