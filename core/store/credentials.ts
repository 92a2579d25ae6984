// The storage port of connected APIs' credentials.

import type { KeyLocation } from '../contract/nouns.ts';

/** The location of an API key; not secret. */
export interface KeyPlace {
	name: string;
	in: KeyLocation;
}

/** A stored credential. `secret` is a sealed envelope (`core/secrets/envelopes.ts`); `origin` is the only one it may be sent to. */
export interface CredentialRow {
	apiId: string;
	type: string;
	/** The name of a security scheme in the API's description; null: for every need of the type. */
	scheme: string | null;
	origin: string;
	secret: string;
	/** The location of an API key in a request; null for other types. */
	place: KeyPlace | null;
	updatedAt: Date;
}

export interface Credentials {
	/** Lists credentials by type, then by scheme, those without a scheme first. */
	credentials(organizationId: string, apiId: string): Promise<CredentialRow[]>;
	/**
	 * Stores one credential per scheme, and one per type without a scheme: a second replaces the first, and voids the token that was obtained
	 * with it. Null when there is no such API. @throws validation_failed when an API would have more than fifty
	 */
	putCredential(
		organizationId: string,
		credential: Omit<CredentialRow, 'updatedAt' | 'place' | 'scheme'> & Partial<Pick<CredentialRow, 'place' | 'scheme'>>,
	): Promise<CredentialRow | null>;
	/** Returns false when there was none. */
	dropCredential(organizationId: string, credential: Pick<CredentialRow, 'apiId' | 'type' | 'scheme'>): Promise<boolean>;
}

/** A column of a row that holds secrets: one as a text, or several as texts in JSON. */
export interface SealedValue {
	organizationId: string;
	/** The name of the table in the location of its secrets. */
	table: string;
	value: string;
	isJson: boolean;
	/** Returns the row in the location of the secret at this JSON pointer. */
	rowOf(pointer: string): string;
}

/** Returns what the value is replaced by, null to leave it, and what is called once that is so. */
export type ChangeSealed = (value: SealedValue) => { anew: string | null; done(): void };
