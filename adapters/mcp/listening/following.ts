// `resources/subscribe` of the legacy era. The resources that a session follows are a record of it, so that the replica with its stream knows of
// them; each with the version that it had then, so that no change is missed before the stream hears of it.

import { createHash } from 'node:crypto';
import {
	type Call,
	GatewayError,
	isObject,
	type Json,
	type JsonObject,
	type ServedVersions,
	type StoredRecord,
} from '../../../core/index.ts';
import type { Exchange, Method } from '../dispatch.ts';
import { CODES, ProtocolError } from '../messages.ts';
import { noResource, readUri } from '../resources/methods.ts';
import { versionAt } from '../resources/readers.ts';
import { sessionOf } from './cancelling.ts';
import type { Followed } from './lists.ts';

/** The most resources of one session, or of one subscription of 2026-07-28. */
export const MOST_FOLLOWED = 100;
/** The most sessions of one caller that follow any. */
const MOST_SESSIONS = 100;
/** The time after which a session that subscribes to nothing more and opens no stream follows nothing. */
const KEPT_MS = 24 * 3_600_000;
const ATTEMPTS = 10;
const TAG = 'following';

/** @throws ProtocolError; insufficient_scope, unavailable */
export const subscribe: Method = async (exchange) => {
	const { message, call } = exchange;
	const uri = readUri(message.params.uri);
	const key = keyOf(neededSession(exchange), call);
	// Refuses those who may not read tools.
	await call.tools();
	const version = versionAt(uri, await servedNow(call));
	if (version === null) throw noResource(CODES.resourceNotFound, uri);
	await change(key, call, (followed) => {
		if (followed[uri] === undefined && Object.keys(followed).length >= MOST_FOLLOWED)
			throw new ProtocolError(CODES.invalidParams, `A session may follow ${MOST_FOLLOWED} resources.`);
		return { ...followed, [uri]: version };
	});
	return {};
};

export const unsubscribe: Method = async (exchange) => {
	const uri = readUri(exchange.message.params.uri);
	const key = keyOf(neededSession(exchange), exchange.call);
	await change(key, exchange.call, ({ [uri]: _left, ...others }) => others);
	return {};
};

/** Yields the resources that the session of a stream follows, again after each change on any replica. */
export async function* followedBy(session: string | null, call: Call, signal: AbortSignal): AsyncGenerator<Followed, void> {
	if (session === null) return;
	const key = keyOf(session, call);
	let isFirst = true;
	try {
		for await (const record of call.records.watch(key, signal)) {
			if (isFirst && record) await renew(record, call);
			isFirst = false;
			yield new Map(Object.entries(followedIn(record)).map(([uri, version]) => [uri, String(version)]));
		}
	} catch (error) {
		// The stream tells of lists all the same.
		call.log.warn({ error: String(error) }, 'a session is not told of its resources');
	}
}

function neededSession({ headers }: Exchange): string {
	const session = sessionOf(headers);
	if (session !== null) return session;
	throw new ProtocolError(CODES.invalidRequest, 'A subscription belongs to a session: send the Mcp-Session-Id that initialize answered.');
}

/** Nobody else finds the record, whatever session they name. */
const keyOf = (session: string, { caller }: Call): string => `${TAG}-${hashOf([session, caller?.subject ?? null])}`;

const hashOf = (value: Json): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');

async function servedNow(call: Call): Promise<ServedVersions> {
	for await (const versions of call.served(call.signal)) return versions;
	throw new GatewayError('unavailable', 'The gateway is gone, or the service stops.');
}

const followedIn = (record: StoredRecord | null): JsonObject => (isObject(record?.value.followed) ? record.value.followed : {});

async function change(key: string, call: Call, edit: (followed: JsonObject) => JsonObject): Promise<void> {
	for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
		const record = await call.records.get(key);
		const before = followedIn(record);
		const followed = edit(before);
		if (JSON.stringify(followed) === JSON.stringify(before)) return;
		if (record ? await call.records.update(key, record.revision, { followed }, { ttlMs: KEPT_MS }) : await begin(key, call, followed))
			return;
	}
	throw new GatewayError('conflict', 'The session changed its subscriptions many times at once.');
}

/** Makes the record; where the caller has too many, the one that was quiet for longest gives way. */
async function begin(key: string, call: Call, followed: JsonObject): Promise<boolean> {
	const tag = `${TAG}-${hashOf(call.caller?.subject ?? null)}`;
	if ((await call.records.count(tag, MOST_SESSIONS)) >= MOST_SESSIONS) {
		const { records } = await call.records.find(tag, { sort: 'updatedAt', limit: 1 });
		for (const oldest of records) await call.records.remove(oldest.key);
	}
	return call.records.add(key, { followed }, { ttlMs: KEPT_MS, watched: true, tags: [tag] });
}

/** Keeps the record of a session that goes on. */
async function renew({ key, revision, value, expiresAt, readAt }: StoredRecord, call: Call): Promise<void> {
	const leftMs = expiresAt ? expiresAt.getTime() - readAt.getTime() : KEPT_MS;
	if (leftMs < KEPT_MS / 2) await call.records.update(key, revision, value, { ttlMs: KEPT_MS });
}
