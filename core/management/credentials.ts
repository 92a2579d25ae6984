// The credentials of an admitted request, as its handler reads them.

import type { Request } from '@hapi/hapi';
import type { Actor, OrganizationRef, Repositories, Store } from '../store/store.ts';

/** Returns the store, acting for the caller. */
export const storeOf = (request: Request, { store }: { store: Store }): Repositories => store.as(actorOf(request));

/** Returns the actor that changes are recorded under. */
export function actorOf(request: Request): Actor {
	const { actor } = request.auth.credentials;
	if (!actor) throw new Error(`${request.method} ${request.path}: the route changes something for a key that only reads.`);
	return actor;
}

/** Returns the organization of a request whose route needs one. */
export function organizationOf(request: Request): OrganizationRef {
	const { organization } = request.auth.credentials;
	if (!organization) throw new Error(`${request.method} ${request.path}: the route asks for an organization that it did not declare.`);
	return organization;
}

export function userIdOf(request: Request): string {
	const { user } = request.auth.credentials;
	if (!user) throw new Error(`${request.method} ${request.path}: the route asks for a user but is public.`);
	return user.id;
}
