// The callers of open event streams of gateways, who are checked again whenever something has changed that may have ended their rights.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway, Log } from '../contract/nouns.ts';
import { isOwnCredential } from '../identity/again.ts';
import { type FollowedCaller, Rechecks } from '../identity/rechecks.ts';
import type { Changes, Topic } from '../store/store.ts';
import type { CallReach } from '../tools/job-desk.ts';
import { ANONYMOUS } from './check-caller.ts';

/** The caller of a stream, and the plugin that answered it. */
export interface StreamCaller {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	/** Null at a fixed address, whose `reach` admitted the caller. */
	gateway: Gateway | null;
	caller: Caller;
	reach?: CallReach | undefined;
}

export interface StillAdmittedParts {
	changes: Pick<Changes, 'subscribe'>;
	log: Pick<Log, 'warn'>;
	/** Returns the caller as they are now. @throws forbidden, not_found when they may come no more, unavailable */
	check(caller: StreamCaller, signal: AbortSignal): Promise<Caller>;
}

export class StillAdmitted {
	readonly #parts: StillAdmittedParts;
	readonly #rechecks: Rechecks<StreamCaller>;

	/** Must be made after the caches of gateways and members. */
	constructor(parts: StillAdmittedParts) {
		this.#parts = parts;
		this.#rechecks = new Rechecks({
			...{ changes: parts.changes, concerns, expiresAt: ({ caller }) => caller.expiresAt },
			check: (who, signal) => this.#reasonOf(who, signal),
		});
	}

	/** The number of callers who have streams. */
	get size(): number {
		return this.#rechecks.size;
	}

	/** Follows a caller, whose signal also aborts when their gateway is gone. */
	follow(who: StreamCaller): FollowedCaller {
		return this.#rechecks.follow(JSON.stringify([who.plugin, who.organizationId, who.gateway?.id, who.reach, who.caller]), who);
	}

	close(): void {
		this.#rechecks.close();
	}

	/** Returns why the caller may come no more; null when they may. */
	async #reasonOf(who: StreamCaller, signal: AbortSignal): Promise<GatewayError | 'unknown' | null> {
		try {
			const now = await this.#parts.check(who, signal);
			const lost = who.caller.scopes.filter((scope) => !now.scopes.includes(scope));
			return lost.length > 0 ? new GatewayError('forbidden', 'The caller has lost a scope.') : null;
		} catch (thrown) {
			const error = asGatewayError(thrown);
			if (error?.code === 'forbidden' || error?.code === 'not_found' || error?.code === 'unauthorized') return error;
			if (error?.code !== 'unavailable') this.#parts.log.warn({ error: String(thrown) }, 'the caller of a stream could not be checked');
			return error?.code === 'unavailable'
				? 'unknown'
				: new GatewayError('unavailable', 'The caller could not be checked.', { cause: thrown });
		}
	}
}

/** A method with credentials of its own keeps them in records, of which the topic does not tell whose they are. */
const concerns = (heard: ReadonlySet<Topic>, { organizationId, caller }: StreamCaller): boolean =>
	heard.has('*') ||
	heard.has(`org:${organizationId}`) ||
	(caller.userId !== undefined && heard.has(`user:${caller.userId}`)) ||
	(caller.subject !== ANONYMOUS && !isOwnCredential(caller) && [...heard].some((topic) => topic.startsWith('record:')));
