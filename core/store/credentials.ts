// The storage port of connected APIs' credentials.

import type { KeyLocation } from '../contract/nouns.ts';

/** Of an API key; no secret. */
export interface KeyPlace {
	name: string;
	in: KeyLocation;
}

/** `secret` is a sealed envelope (`core/secrets/envelopes.ts`); `origin` the only one it may be sent to. */
export interface CredentialRow {
	apiId: string;
	type: string;
	/** Of the API's description, by its name there; null: wherever the type is asked for. */
	scheme: string | null;
	origin: string;
	secret: string;
	/** Where an API key goes in a request; null for other types. */
	place: KeyPlace | null;
	updatedAt: Date;
}

export interface Credentials {
	/** By type, then by scheme, of which none is the first. */
	credentials(organizationId: string, apiId: string): Promise<CredentialRow[]>;
	/**
	 * One per scheme, and one per type without a scheme: a second replaces the first, and voids the token that was got with it. Null when
	 * there is no such API. @throws validation_failed when an API would have more than fifty
	 */
	putCredential(
		organizationId: string,
		credential: Omit<CredentialRow, 'updatedAt' | 'place' | 'scheme'> & Partial<Pick<CredentialRow, 'place' | 'scheme'>>,
	): Promise<CredentialRow | null>;
	/** False when there was none. */
	dropCredential(organizationId: string, credential: Pick<CredentialRow, 'apiId' | 'type' | 'scheme'>): Promise<boolean>;
}
