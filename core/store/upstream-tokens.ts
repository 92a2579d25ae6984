// The storage port of access tokens to connected APIs, which replicas get for one another.

/** The credential that they are got with; `secret` is its envelope, so another credential in its place is another one. */
export interface TokenOwner {
	apiId: string;
	type: string;
	scheme: string | null;
	secret: string;
}

/** What is stored; times are the database's. */
export interface TokenRow {
	/** 0 before the first; grows with every token. */
	revision: number;
	/** An envelope; null before the first. */
	sealed: string | null;
	/** Of the token; 0 or less: it has expired. */
	leftMs: number;
}

export type TokenTurn =
	/** Another replica is asking for one. */
	| { state: 'wait' }
	/** It is there. */
	| { state: 'found'; row: TokenRow }
	/** It is for the asker to get one, with what is left of the last, and nobody else does until the lease ends. */
	| { state: 'lease'; row: TokenRow };

export interface TokenStore {
	/**
	 * Null when the credential has been changed or is gone.
	 * @param asked.useless a revision whose token is of no use, though it has not expired
	 * @param asked.lease of the asker, if it is its turn
	 */
	turn(
		organizationId: string,
		owner: TokenOwner,
		asked: { useless: number | null; lease: string; leaseMs: number },
	): Promise<TokenTurn | null>;
	/** Ends the lease with a token. @returns its revision; null when the lease or the credential is gone, so that nothing was stored */
	keep(organizationId: string, owner: TokenOwner, token: { lease: string; sealed: string; lifetimeMs: number }): Promise<number | null>;
	/** Ends the lease without one. */
	giveUp(organizationId: string, owner: TokenOwner, lease: string): Promise<void>;
}
