// Checks, at the start, that every route of the management API declares what its callers need.

import type { Server } from '@hapi/hapi';
import type { Permissions } from '../contract/permissions.ts';
import type { Registry } from '../registry/registry.ts';
import { isPublic } from './access.ts';

/** The requirements that are no permissions. */
const NEEDS: readonly string[] = ['self', 'account', 'login'];

interface Declared {
	permissions: Permissions;
	registry: Pick<Registry, 'titleOf'>;
}

/** @throws Error naming the first route without a declared requirement, or with a permission that nobody declares, and its feature */
export function assertNeeds(server: Server, { permissions, registry }: Declared): void {
	const known: ReadonlySet<string> = new Set([...NEEDS, ...permissions.names]);
	for (const { method, path, settings } of server.table()) {
		if (isPublic(settings)) continue;
		const { need, organization, gatewayKeys } = settings.plugins?.gatehouse ?? {};
		const owner = settings.plugins?.feature;
		const route = `${owner === undefined ? '' : `feature:${owner} (${registry.titleOf(`feature:${owner}`)}): `}${method.toUpperCase()} ${path}`;
		if (need === undefined) throw new Error(`${route}: the route does not declare what it needs.`);
		if (!known.has(need)) throw new Error(`${route}: nothing declares the permission ${need}.`);
		if (organization === 'path' && !path.includes('{orgId}')) throw new Error(`${route}: the path has no {orgId}.`);
		if (gatewayKeys && method !== 'get') throw new Error(`${route}: a gateway's key is for GET routes only.`);
	}
}
