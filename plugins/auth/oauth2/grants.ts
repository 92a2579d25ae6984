// Stores grants: what a user allows a client, and its tokens, in one document each. Each change of a grant is therefore one statement, and
// ending it ends all its tokens.

import type { Caller, Context, JsonObject, Scope, StoredRecord } from '../../../core/index.ts';
import { clientTag } from './clients/clients.ts';
import { digest, isSame, mintId, mintSecret } from './secrets.ts';
import { inTurn } from './turns.ts';

/** The lifetime of an access token by specification 5.2 rule 8. */
export const ACCESS_SECONDS = 60 * 60;
const REFRESH_MS = 30 * 24 * 60 * 60 * 1000;
/** The number of refresh tokens that may be valid beside the current one (decisions, 27). */
const MAX_SIBLINGS = 50;
const MAX_HEADS = 1 + MAX_SIBLINGS;
/**
 * The most access tokens of a grant; the oldest end early. It is as many as two rounds of siblings bring, which honest clients request once
 * an hour.
 */
const MAX_ACCESS = 2 * MAX_HEADS;
/** The most former refresh tokens: three rounds of siblings within one grace period. It bounds the size of the document. */
const MAX_USED = 3 * MAX_HEADS;
/** The number of attempts at a compare-and-set of a grant: more than there are siblings that could come first. */
const MAX_TRIES = 60;

const ACCESS_PREFIX = 'svc_at_';
const REFRESH_PREFIX = 'svc_rt_';
/**
 * Tokens hold the grant's id and a secret. Refresh tokens also hold a secret that all those of the grant share, which tells a former one
 * from a guess.
 */
const ACCESS = /^svc_at_([\w-]{22})\.([\w-]{43})$/;
const REFRESH = /^svc_rt_([\w-]{22})\.([\w-]{43})\.([\w-]{43})$/;

export const GRANTS = 'grant';
export const grantTag = (id: string): string => `grant:${id}`;
export const userTag = (userId: string): string => `user:${userId}`;

/** The stored document. Times are the database's, in milliseconds; secrets are digests. */
interface Grant extends JsonObject {
	id: string;
	clientId: string;
	clientName: string;
	userId: string;
	email: string;
	scopes: Scope[];
	/** The digest that every refresh token of the grant shares. */
	family: string;
	/** The valid refresh tokens: one, and its siblings until one of them is used. */
	heads: string[];
	/** Former refresh tokens within the grace period, and when the first of them was used. */
	used: { secret: string; atMs: number }[];
	access: { id: string; secret: string; scopes: Scope[]; expiresAtMs: number }[];
}

export interface Granted {
	clientId: string;
	clientName: string;
	userId: string;
	email: string;
	scopes: Scope[];
}

export interface Tokens {
	access: string;
	/** The refresh token; null for a client that does not refresh. */
	refresh: string | null;
	scopes: Scope[];
}

/** Creates a grant. `put` replaces whatever else has this id. @param now the database's time */
export async function createGrant(
	granted: Granted,
	{ id, nowMs, mayRefresh }: { id: string; nowMs: number; mayRefresh: boolean },
	{ records }: Context,
): Promise<Tokens> {
	const family = mintSecret();
	const head = mintSecret();
	const secret = mintSecret();
	const grant: Grant = {
		id,
		...granted,
		family: digest(family),
		heads: mayRefresh ? [digest(head)] : [],
		used: [],
		access: [accessEntry(secret, granted.scopes, nowMs)],
	};
	const { clientId, clientName, userId, email } = granted;
	await records.put(grantTag(id), grant, {
		tags: [GRANTS, grantTag(id), clientTag(clientId), userTag(userId)],
		ttlMs: mayRefresh ? REFRESH_MS : ACCESS_SECONDS * 1000,
		watched: true,
		audited: { type: 'oauth_grant', name: clientName || clientId, by: { userId, email } },
	});
	return {
		access: `${ACCESS_PREFIX}${id}.${secret}`,
		refresh: mayRefresh ? `${REFRESH_PREFIX}${id}.${family}.${head}` : null,
		scopes: granted.scopes,
	};
}

const accessEntry = (secret: string, scopes: Scope[], nowMs: number): Grant['access'][number] => ({
	id: mintId(),
	secret: digest(secret),
	scopes,
	expiresAtMs: nowMs + ACCESS_SECONDS * 1000,
});

interface Found extends Granted {
	grantId: string;
	grantedAt: Date;
}

export interface FoundAccess extends Found {
	/** The id of the access token. */
	id: string;
}

/** Finds a valid access token; null when there is none. The grant is read from memory as long as it is unchanged. */
export async function findAccess(token: string, { records }: Context): Promise<FoundAccess | null> {
	const [, grantId, secret] = ACCESS.exec(token) ?? [];
	if (grantId === undefined || secret === undefined) return null;
	const record = await records.recall(grantTag(grantId));
	if (!record) return null;
	const grant = toGrant(record);
	const wanted = digest(secret);
	const entry = grant.access.find((one) => isSame(one.secret, wanted));
	if (!entry || entry.expiresAtMs <= record.readAt.getTime()) return null;
	const { clientId, clientName, userId, email } = grant;
	return { grantId, grantedAt: record.createdAt, id: entry.id, clientId, clientName, userId, email, scopes: entry.scopes };
}

/** Finds a grant by its id; null when it has ended. */
export async function findGrant(grantId: string, { records }: Context): Promise<Found | null> {
	const record = await records.get(grantTag(grantId));
	if (!record) return null;
	const { clientId, clientName, userId, email, scopes } = toGrant(record);
	return { grantId, grantedAt: record.createdAt, clientId, clientName, userId, email, scopes };
}

export interface FoundRefresh extends Found {
	family: string;
	secret: string;
}

/** Finds the grant of a refresh token; null when there is none. `rotate` checks whether the token was used before. */
export async function findRefresh(token: string, { records }: Context): Promise<FoundRefresh | null> {
	const [, grantId, family, secret] = REFRESH.exec(token) ?? [];
	if (grantId === undefined || family === undefined || secret === undefined) return null;
	const record = await records.get(grantTag(grantId));
	if (!record) return null;
	const { clientId, clientName, userId, email, scopes, family: its } = toGrant(record);
	if (!isSame(digest(family), its)) return null;
	return { grantId, grantedAt: record.createdAt, family, secret, clientId, clientName, userId, email, scopes };
}

/** The result of a rotation. `again`: refused without consequences. `stolen`: a former token came back, so two parties hold one token. */
export type Rotation = Tokens | 'again' | 'stolen' | 'gone';

/**
 * Issues a new pair for a refresh token by compare-and-set: of concurrent requests at several replicas one takes effect, and the others try
 * again; those at one process come one after another. @throws unavailable for one whose time is over before its turn
 */
export const rotate = (found: FoundRefresh, asked: { scopes: Scope[]; graceMs: number }, context: Context): Promise<Rotation> =>
	inTurn(found.grantId, context, () => rotateNow(found, asked, context));

async function rotateNow(
	found: FoundRefresh,
	{ scopes, graceMs }: { scopes: Scope[]; graceMs: number },
	{ records }: Context,
): Promise<Rotation> {
	for (let tries = 0; tries < MAX_TRIES; tries++) {
		const record = await records.get(grantTag(found.grantId));
		if (!record) return 'gone';
		const grant = toGrant(record);
		const nowMs = record.readAt.getTime();
		const head = mintSecret();
		const access = mintSecret();
		const next = advance(withinGrace(grant, nowMs, graceMs), { used: digest(found.secret), head: digest(head), nowMs });
		if (next === 'again' || next === 'stolen') return next;
		const live = next.access.filter(({ expiresAtMs }) => expiresAtMs > nowMs).slice(1 - MAX_ACCESS);
		const changed: Grant = { ...next, access: [...live, accessEntry(access, scopes, nowMs)] };
		if (await records.update(grantTag(grant.id), record.revision, changed, { ttlMs: REFRESH_MS })) {
			return {
				access: `${ACCESS_PREFIX}${grant.id}.${access}`,
				refresh: `${REFRESH_PREFIX}${grant.id}.${found.family}.${head}`,
				scopes,
			};
		}
	}
	return 'again';
}

/** Removes former tokens whose grace period is over; a period of 0 removes all. */
const withinGrace = (grant: Grant, nowMs: number, graceMs: number): Grant => ({
	...grant,
	used: grant.used.filter(({ atMs }) => nowMs - atMs < graceMs),
});

/**
 * Advances the grant (decisions, 27). Using a current token ends its siblings, so one chain goes on; within the grace period each of them,
 * and each former token, gets a sibling of its successor. @param used the digest of the token that was sent
 */
function advance(grant: Grant, { used, head, nowMs }: { used: string; head: string; nowMs: number }): Grant | 'again' | 'stolen' {
	if (grant.heads.includes(used)) {
		const ended = grant.heads.map((secret) => ({ secret, atMs: nowMs }));
		return { ...grant, heads: [head], used: [...grant.used, ...ended].slice(-MAX_USED) };
	}
	if (!grant.used.some(({ secret }) => secret === used)) return 'stolen';
	return grant.heads.length < MAX_HEADS ? { ...grant, heads: [...grant.heads, head] } : 'again';
}

/** Finds the user as a member who has been one since the given time. A user who was removed and joined again has to allow the client again. */
export async function memberAt(time: Date, userId: string, { identity }: Context): Promise<Caller | null> {
	const member = await identity.member(userId);
	return member && time >= (member.memberSince ?? time) ? member : null;
}

/** Finds the user who allowed the client. Ends the grant and returns null when they are no longer a member. */
export async function grantor({ userId, grantId, grantedAt }: Found, context: Context): Promise<Caller | null> {
	const member = await memberAt(grantedAt, userId, context);
	if (!member) await endGrant(grantId, context);
	return member;
}

/** Ends a grant with all its tokens, and the code that it may come from. @returns whether there was one */
export const endGrant = async (id: string, { records }: Pick<Context, 'records'>): Promise<boolean> =>
	(await records.drop(grantTag(id))) > 0;

/** Ends one access token. @returns whether there was one. @throws unavailable for a request whose time is over before its turn */
export const endAccess = (grantId: string, accessId: string, context: Context): Promise<boolean> =>
	inTurn(grantId, context, () => endAccessNow(grantId, accessId, context));

async function endAccessNow(grantId: string, accessId: string, { records }: Context): Promise<boolean> {
	for (let tries = 0; tries < MAX_TRIES; tries++) {
		const record = await records.get(grantTag(grantId));
		if (!record) return false;
		const grant = toGrant(record);
		const access = grant.access.filter(({ id }) => id !== accessId);
		if (access.length === grant.access.length) return false;
		if (await records.update(grantTag(grantId), record.revision, { ...grant, access }, { audited: true })) return true;
	}
	throw new Error('a grant changed too often to be changed');
}

/** The value has the form that `createGrant` stored. */
const toGrant = ({ value }: StoredRecord): Grant => value as Grant;

/** Shows a grant in the management API, without digests. */
export function presentGrant(record: StoredRecord): JsonObject {
	const { id, clientId, clientName, userId, email, scopes, access } = toGrant(record);
	const live = access.filter(({ expiresAtMs }) => expiresAtMs > record.readAt.getTime());
	return {
		grantId: id,
		clientId,
		clientName,
		userId,
		email,
		scopes,
		accessTokens: live.map((one) => ({ id: one.id, scopes: one.scopes, expiresAt: new Date(one.expiresAtMs).toISOString() })),
		createdAt: record.createdAt.toISOString(),
		expiresAt: record.expiresAt?.toISOString() ?? null,
	};
}
