// Sessions: conversations of one user with one connection, kept as records. Their messages are sealed.

import type { Request } from '@hapi/hapi';
import {
	type Core,
	GatewayError,
	type JsonObject,
	organizationOf,
	type Records,
	type StoredRecord,
	userIdOf,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';

export interface Message {
	role: 'user' | 'assistant';
	content: string;
}

export interface Session {
	sessionId: string;
	turns: number;
	messages: Message[];
}

const TRIES = 20;

/** The sessions of a request's user at one connection. */
export class Sessions {
	readonly #records: Records;
	readonly #tag: string;

	constructor(request: Request, core: Core, providerId: string) {
		this.#records = core.recordsOf({ organizationId: organizationOf(request).id });
		this.#tag = `${providerId}:${userIdOf(request)}`;
	}

	async list(page: { limit?: number; cursor?: string }): Promise<{ items: StoredRecord[]; nextCursor: string | null }> {
		const { records, nextCursor } = await this.#records.find(this.#tag, { ...page, sort: '-updatedAt' });
		return { items: records, nextCursor };
	}

	find(sessionId: string): Promise<StoredRecord | null> {
		return this.#records.get(this.#key(sessionId));
	}

	/** Returns the messages so far. @throws conflict when there is no room for another session */
	async messages(sessionId: string): Promise<Message[]> {
		const record = await this.find(sessionId);
		if (record) return sessionOf(record).messages;
		if ((await this.#records.count(this.#tag, BOUNDS.sessions)) >= BOUNDS.sessions)
			throw new GatewayError('conflict', `A user may have ${BOUNDS.sessions} sessions with an LLM provider: delete some.`);
		return [];
	}

	/** Adds a turn after whatever was added meanwhile, on any replica. @throws conflict when too many come at once */
	async add(sessionId: string, turn: Message[]): Promise<void> {
		const key = this.#key(sessionId);
		for (let count = 0; count < TRIES; count++) {
			const record = await this.#records.get(key);
			const before = record ? sessionOf(record) : { turns: 0, messages: [] };
			const messages = bounded([...before.messages, ...turn]);
			const value = { sessionId, turns: before.turns + 1, messages } as unknown as JsonObject;
			const done = record
				? await this.#records.update(key, record.revision, value, { ttlMs: BOUNDS.sessionMs })
				: await this.#records.add(key, value, { tags: [this.#tag, tagOf(this.#tag)], sealed: ['/messages'], ttlMs: BOUNDS.sessionMs });
			if (done) return;
		}
		throw new GatewayError('conflict', 'The session has too many turns at once.');
	}

	remove(sessionId: string): Promise<boolean> {
		return this.#records.remove(this.#key(sessionId));
	}

	#key(sessionId: string): string {
		return `${this.#tag}:${sessionId}`;
	}
}

const tagOf = (tag: string): string => `provider:${tag.split(':')[0]}`;

/** Removes the sessions of all users at a connection that is removed. */
export const removeSessions = (core: Core, organizationId: string, providerId: string): Promise<number> =>
	core.recordsOf({ organizationId }).drop(`provider:${providerId}`);

/** The value was written by `add`. */
export const sessionOf = ({ value }: StoredRecord): Session => value as unknown as Session;

/** Leaves the oldest turns out until the rest fits, so that the first message is a user's. */
function bounded(messages: Message[]): Message[] {
	let kept = messages.slice(-BOUNDS.messages);
	const size = (): number => kept.reduce((sum, { content }) => sum + content.length, 0);
	while (kept.length > 2 && size() > BOUNDS.chars) kept = kept.slice(2);
	return kept;
}
