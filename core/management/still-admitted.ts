// The callers of open event streams of the management API, who are looked up again whenever something of them or of their organization has changed.

import type { Request } from '@hapi/hapi';
import { asGatewayError, type ErrorCode, type GatewayError } from '../contract/errors.ts';
import { type FollowedCaller, Rechecks } from '../identity/rechecks.ts';
import type { Changes, Topic } from '../store/store.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** Looks the caller up as they are now, and decides anew. Set where there is one. @throws the refusal */
		admitAgain?: () => Promise<void>;
	}
}

/** Refusals that last; after any other error the caller is looked up again. */
const LASTING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
	'unauthorized',
	'forbidden',
	'insufficient_scope',
	'no_organization',
	'not_found',
]);

export class AdmittedRequests {
	readonly #rechecks: Rechecks<Request>;

	/** Must be made after the cache of members. */
	constructor(changes: Pick<Changes, 'subscribe'>) {
		this.#rechecks = new Rechecks({ changes, concerns, check: reasonOf });
	}

	/** Follows the caller of a request until it is left. */
	follow(request: Request): FollowedCaller {
		return this.#rechecks.follow(request.info.id, request);
	}

	close(): void {
		this.#rechecks.close();
	}
}

async function reasonOf(request: Request): Promise<GatewayError | 'unknown' | null> {
	try {
		await request.plugins.admitAgain?.();
		return null;
	} catch (thrown) {
		const error = asGatewayError(thrown);
		return error && LASTING.has(error.code) ? error : 'unknown';
	}
}

const concerns = (heard: ReadonlySet<Topic>, { auth: { credentials } }: Request): boolean =>
	heard.has('*') || heard.has(`user:${credentials.user?.id}`) || heard.has(`org:${credentials.organization?.id}`);
