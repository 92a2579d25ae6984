// The callers of open event streams of the management API, who are looked up again whenever something of them or of their organization has changed.

import type { Request } from '@hapi/hapi';
import { asGatewayError } from '../contract/errors.ts';
import type { Changes } from '../store/store.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** Looks the caller up as they are now, and decides anew. Set where there is one. @throws the refusal */
		admitAgain?: () => Promise<void>;
	}
}

/** The least time between two looks at one caller. */
const AGAIN_MS = 500;
/** Refusals that last; after any other error the caller is looked up again. */
const LASTING: readonly string[] = ['unauthorized', 'forbidden', 'insufficient_scope', 'no_organization', 'not_found'];

export interface FollowedRequest {
	/** Aborts when the request would be refused. */
	readonly signal: AbortSignal;
	leave(): void;
}

/** Follows the caller of a request until it is left. */
export function followCaller(request: Request, changes: Pick<Changes, 'subscribe'>): FollowedRequest {
	const { user, organization } = request.auth.credentials;
	const topics = new Set<string>(['*', `user:${user?.id}`, `org:${organization?.id}`]);
	const ending = new AbortController();
	let [isDue, isLooking, hasLeft, timer]: [boolean, boolean, boolean, NodeJS.Timeout | null] = [false, false, false, null];
	const look = async (): Promise<void> => {
		isDue = false;
		isLooking = true;
		try {
			await request.plugins.admitAgain?.();
		} catch (thrown) {
			if (LASTING.includes(asGatewayError(thrown)?.code ?? '')) return ending.abort(thrown);
			isDue = true;
		}
		if (hasLeft) return;
		timer = setTimeout(() => {
			isLooking = false;
			if (isDue) void look();
		}, AGAIN_MS).unref();
	};
	const becomeDue = (): void => {
		isDue = true;
		if (!isLooking) void look();
	};
	const unsubscribe = changes.subscribe((heard) => {
		if (heard.some((topic) => topics.has(topic))) becomeDue();
	});
	// A change in the time in which the stream was opened may have been announced before.
	becomeDue();
	return {
		signal: ending.signal,
		leave: () => {
			unsubscribe();
			hasLeft = true;
			if (timer) clearTimeout(timer);
		},
	};
}
