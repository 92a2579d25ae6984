// Issues and redeems authorization codes: valid once, for ten minutes, for the client and redirect URI that they were issued for.

import { hash } from 'node:crypto';
import type { Context, JsonObject, Scope } from '../../../core/index.ts';
import { type Client, clientTag } from './clients/clients.ts';
import { OAuthFault } from './faults.ts';
import { createGrant, endGrant, grantTag, type Tokens, userTag } from './grants.ts';
import { digest, isSame, mintId, mintSecret } from './secrets.ts';

/** The lifetime by specification 5.2 rule 8. */
const LIFETIME_MS = 10 * 60_000;
/** The time in which a repeated redemption is taken for a client's retry (decisions, 27). */
const GRACE_MS = 10_000;
/** The form of a code verifier (RFC 7636 §4.1). */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
/** The form of a code challenge: SHA-256 in base64url (RFC 7636 §4.2). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export const isChallenge = (text: string): boolean => CHALLENGE.test(text);

interface Code extends JsonObject {
	/** The id of the grant that the code becomes. */
	grantId: string;
	clientId: string;
	userId: string;
	email: string;
	redirectUri: string;
	challenge: string;
	scopes: Scope[];
}

export type Approval = Omit<Code, 'grantId'>;

const keyOf = (code: string): string => `code:${digest(code)}`;

/** Issues a code and stores its digest. @returns the code */
export async function issueCode(approval: Approval, { records }: Context): Promise<string> {
	const code = mintSecret();
	const grantId = mintId();
	const tags = [grantTag(grantId), clientTag(String(approval['clientId'])), userTag(String(approval['userId']))];
	await records.put(keyOf(code), { ...approval, grantId }, { tags, ttlMs: LIFETIME_MS });
	return code;
}

/** Whether a code is kept, used or not. */
export const isCode = async (code: string, { records }: Context): Promise<boolean> => (await records.get(keyOf(code))) !== null;

export const UNKNOWN_CODE = 'the code is not known, or has expired';

export interface Redemption {
	code: string;
	/** Null when the redemption names none. */
	redirectUri: string | null;
	verifier: string | null;
}

/**
 * Redeems a code. @param mayUse returns the current scopes of a user who agreed at that time; null when they are no longer a member.
 * @throws invalid_grant
 */
export async function redeemCode(
	client: Client,
	{ code, redirectUri, verifier }: Redemption,
	{ context, mayUse }: { context: Context; mayUse: (userId: string, agreedAt: Date) => Promise<readonly Scope[] | null> },
): Promise<Tokens> {
	const { records } = context;
	const record = await records.get(keyOf(code));
	if (!record) throw refused(UNKNOWN_CODE);
	// The value has the form that `issueCode` stored.
	const approved = record.value as Code;
	if (approved.clientId !== client.id) throw refused(UNKNOWN_CODE);
	if (record.takenAt) {
		// RFC 6749 §4.1.2: "the authorization server MUST deny the request and SHOULD revoke (when possible) all tokens previously issued".
		if (record.readAt.getTime() - record.takenAt.getTime() > GRACE_MS) await endGrant(approved.grantId, context);
		throw refused('the code has been used');
	}
	// RFC 6749 §4.1.3 has clients repeat it. OAuth 2.1 §4.1.3 does not: the verifier, which is always demanded, serves the same purpose.
	if (redirectUri !== null && redirectUri !== approved.redirectUri) {
		throw refused('redirect_uri is not the one that the code was requested with');
	}
	if (!isVerified(verifier, approved.challenge)) throw refused('code_verifier does not match the code_challenge');
	const held = await mayUse(approved.userId, record.createdAt);
	const scopes = approved.scopes.filter((scope) => held?.includes(scope));
	if (scopes.length === 0) throw refused('the user may not use this gateway any more');
	const taken = await records.take(keyOf(code));
	if (!taken) throw refused('the code has been used');
	const granted = { clientId: client.id, clientName: client.name, userId: approved.userId, email: approved.email, scopes };
	const grant = { id: approved.grantId, nowMs: taken.readAt.getTime(), mayRefresh: client.mayRefresh };
	const tokens = await createGrant(granted, grant, context);
	// The client or consent may have been ended meanwhile. That dropped the code, which has the same tags, but not a grant created later.
	if (await records.update(keyOf(code), taken.revision, taken.value)) return tokens;
	await endGrant(approved.grantId, context);
	throw refused('the access that the code was for has been ended');
}

const isVerified = (verifier: string | null, challenge: string): boolean =>
	verifier !== null && VERIFIER.test(verifier) && isSame(hash('sha256', verifier, 'base64url'), challenge);

const refused = (description: string): OAuthFault => new OAuthFault('invalid_grant', description);
