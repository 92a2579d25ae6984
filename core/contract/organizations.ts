// Organizations, as a plugin meets them at an address that belongs to none of them. Types only.

import type { Call } from './context.ts';
import type { Caller } from './nouns.ts';

/** An organization of a user. */
export interface UserOrganization {
	id: string;
	slug: string;
	/** The name that its owners gave it: any text of at most 200 characters. */
	name: string;
	/** The caller that the user is there now. */
	caller: Readonly<Caller>;
}

/** The organizations at an address over all of them, where a credential or a person says which one is meant. */
export interface OrganizationChoice<O = unknown> {
	/**
	 * Returns the same call in an organization: its records, and its members as `identity` knows them. Null when there is none with this id.
	 * It is looked up once. @throws unavailable
	 */
	at(organizationId: string): Promise<Call<O> | null>;
	/** Lists the organizations of a user, in the order in which they joined. @throws unavailable */
	of(userId: string): Promise<UserOrganization[]>;
}
