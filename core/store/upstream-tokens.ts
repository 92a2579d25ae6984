// The storage port of access tokens to connected APIs, which replicas obtain for one another.

/** The credential that a token is obtained with; `secret` is its envelope, so a replaced credential is a different owner. */
export interface TokenOwner {
	apiId: string;
	type: string;
	scheme: string | null;
	secret: string;
}

/** A stored token; times are the database's. */
export interface TokenRow {
	/** 0 before the first token; every new one increments it. */
	revision: number;
	/** An envelope; null before the first token. */
	sealed: string | null;
	/** The remaining lifetime of the token; 0 or less when it has expired. */
	leftMs: number;
}

export type TokenTurn =
	/** Another replica is obtaining a token. */
	| { state: 'wait' }
	/** A token is stored. */
	| { state: 'found'; row: TokenRow }
	/** The caller is to obtain a token, starting from the last one; nobody else does until the lease ends. */
	| { state: 'lease'; row: TokenRow };

export interface TokenStore {
	/**
	 * Returns the stored token, or the lease for obtaining one; null when the credential was changed or is gone.
	 * @param asked.useless the revision of a token that is of no use, though it has not expired
	 * @param asked.lease the id of the lease that the caller would get
	 */
	turn(
		organizationId: string,
		owner: TokenOwner,
		asked: { useless: number | null; lease: string; leaseMs: number },
	): Promise<TokenTurn | null>;
	/** Ends the lease with a token. @returns its revision; null when the lease or the credential is gone, so that nothing was stored */
	keep(organizationId: string, owner: TokenOwner, token: { lease: string; sealed: string; lifetimeMs: number }): Promise<number | null>;
	/** Ends the lease without a token. */
	giveUp(organizationId: string, owner: TokenOwner, lease: string): Promise<void>;
}
