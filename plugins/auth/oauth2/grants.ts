// Grants: what a user let a client do, and the tokens of it, in one document each. So whatever happens to a grant happens in one
// statement, and what ends it ends all its tokens.

import type { Caller, Context, JsonObject, Scope, StoredRecord } from '../../../core/index.ts';
import { clientTag } from './clients/clients.ts';
import { digest, isSame, mintId, mintSecret } from './secrets.ts';

/** Specification 5.2 rule 8. */
export const ACCESS_SECONDS = 60 * 60;
const REFRESH_MS = 30 * 24 * 60 * 60 * 1000;
/** Decisions, 27: refresh tokens that are good at once, beside the one that is due. */
const MAX_SIBLINGS = 50;
const MAX_HEADS = 1 + MAX_SIBLINGS;
/** Older ones end early: as many as two rounds of siblings bring, which honest clients ask for once in an hour. */
const MAX_ACCESS = 2 * MAX_HEADS;
/** Three rounds of siblings within one grace: the document stays of a size, however often somebody makes them. */
const MAX_USED = 3 * MAX_HEADS;
/** Tries to be the one who changes a grant: more than there are siblings who might come in between. */
const MAX_TRIES = 60;

const ACCESS_PREFIX = 'svc_at_';
const REFRESH_PREFIX = 'svc_rt_';
/** The grant's id, and what only the holder knows. A refresh token has a part that all of its grant share, by which a former one is told from a guess. */
const ACCESS = /^svc_at_([\w-]{22})\.([\w-]{43})$/;
const REFRESH = /^svc_rt_([\w-]{22})\.([\w-]{43})\.([\w-]{43})$/;

export const GRANTS = 'grant';
export const grantTag = (id: string): string => `grant:${id}`;
export const userTag = (userId: string): string => `user:${userId}`;

/** Times are of the database's clock, in milliseconds; secrets are digests. */
interface Grant extends JsonObject {
	id: string;
	clientId: string;
	clientName: string;
	userId: string;
	email: string;
	scopes: Scope[];
	/** What every refresh token of this grant has. */
	family: string;
	/** The refresh tokens that are good: one, and its siblings until one of them is used. */
	heads: string[];
	/** Those that were good within the grace, and when the first of them was used. */
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
	/** Null for a client that does not refresh. */
	refresh: string | null;
	scopes: Scope[];
}

/** @param now the database's. As it was read: `put` takes away whatever else is under this id. */
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
	/** Of the token itself. */
	id: string;
}

/** Null when it is no access token, or no longer one. From memory, as long as the grant is as it was. */
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

export interface FoundRefresh extends Found {
	family: string;
	secret: string;
}

/** Null when it is no refresh token of a grant that there is. It may have been used: `rotate` looks. */
export async function findRefresh(token: string, { records }: Context): Promise<FoundRefresh | null> {
	const [, grantId, family, secret] = REFRESH.exec(token) ?? [];
	if (grantId === undefined || family === undefined || secret === undefined) return null;
	const record = await records.get(grantTag(grantId));
	if (!record) return null;
	const { clientId, clientName, userId, email, scopes, family: its } = toGrant(record);
	if (!isSame(digest(family), its)) return null;
	return { grantId, grantedAt: record.createdAt, family, secret, clientId, clientName, userId, email, scopes };
}

/** `again`: not good, and nothing follows from it. `stolen`: a former one came back, so two hold what one should. */
export type Rotation = Tokens | 'again' | 'stolen' | 'gone';

/** A new pair for a refresh token. In one statement that takes effect for one asker at a time: the others look again. */
export async function rotate(
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

/** Without the former tokens whose grace is over: with a grace of 0, without all of them. */
const withinGrace = (grant: Grant, nowMs: number, graceMs: number): Grant => ({
	...grant,
	used: grant.used.filter(({ atMs }) => nowMs - atMs < graceMs),
});

/**
 * Decisions, 27. A token that is due ends its siblings, so one chain goes on; within the grace each of them, and each former one, gets
 * a sibling of its successor. @param used the digest of the token that was sent
 */
function advance(grant: Grant, { used, head, nowMs }: { used: string; head: string; nowMs: number }): Grant | 'again' | 'stolen' {
	if (grant.heads.includes(used)) {
		const ended = grant.heads.map((secret) => ({ secret, atMs: nowMs }));
		return { ...grant, heads: [head], used: [...grant.used, ...ended].slice(-MAX_USED) };
	}
	if (!grant.used.some(({ secret }) => secret === used)) return 'stolen';
	return grant.heads.length < MAX_HEADS ? { ...grant, heads: [...grant.heads, head] } : 'again';
}

/** The user as a member, if they have been one ever since: who was removed and came again has to let the client in again. */
export async function memberAt(time: Date, userId: string, { identity }: Context): Promise<Caller | null> {
	const member = await identity.member(userId);
	return member && time >= (member.memberSince ?? time) ? member : null;
}

/** Who let the client in. Null when they may not any more, and then the grant is ended. */
export async function grantor({ userId, grantId, grantedAt }: Found, context: Context): Promise<Caller | null> {
	const member = await memberAt(grantedAt, userId, context);
	if (!member) await endGrant(grantId, context);
	return member;
}

/** With all its tokens, and the code it may come from. @returns whether there was one */
export const endGrant = async (id: string, { records }: Pick<Context, 'records'>): Promise<boolean> =>
	(await records.drop(grantTag(id))) > 0;

/** One access token. @returns whether there was one */
export async function endAccess(grantId: string, accessId: string, { records }: Pick<Context, 'records'>): Promise<boolean> {
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

/** As `createGrant` stored it. */
const toGrant = ({ value }: StoredRecord): Grant => value as Grant;

/** For the management API: no digest in it. */
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
