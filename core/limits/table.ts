// The limits of the service (specification 8.1): the global window, those of the prefixes, and that of every gateway. Windows of single
// routes are declared by these.

import type { Config } from '../config/config.ts';
import type { Window } from '../contract/limits.ts';

export interface LimitTable {
	/** For requests without a category. */
	global: Window;
	/** By first segment: one window for all paths below it, whether there is such a route or not. Null: no limit. */
	categories: Readonly<Record<string, Window | null>>;
	/** For `POST /agents/:id/invoke` and chat completions, instead of the global window. */
	invoke: Window;
	/** All of `/{org}/{gateway}`, per gateway. Null: no limit. */
	gateways: Window | null;
	/** Replaces all windows that routes declare, by name: `POST /auth/login`, `POST /:org/:gw/register`. Absent: they count as declared. */
	routes?: Readonly<Record<string, Window>>;
}

/** A window with the name under which replicas count it. */
export interface NamedWindow {
	name: string;
	window: Window;
	/** Stricter while Redis is away: for routes where credentials are guessed or issued. */
	isStrict: boolean;
}

export const perMinute = (max: number): Window => ({ max, seconds: 60 });

/** The mails that one person may have sent to addresses of their choice: nobody shall make strangers' mailboxes full through this service. */
export const MAILS: NamedWindow = { name: 'mails', window: { max: 100, seconds: 60 * 60 }, isStrict: true };

/** The prefix below which credentials are guessed and issued. A route there may declare a window in place of it (specification 8.2). */
export const CREDENTIALS_PREFIX = 'auth';
/** Prefixes that clients use like the address of a gateway, so that RFC 8414 §3.1 and RFC 9728 §3.1 insert the well-known part before them. */
export const ENDPOINT_PREFIXES: readonly string[] = ['mcp', 'a2a', 'utcp'];

/** Specification 8.1. */
export function limitTable({ rateLimit }: Pick<Config, 'rateLimit'>): LimitTable {
	return {
		global: { max: rateLimit.max, seconds: rateLimit.windowSeconds },
		categories: {
			[CREDENTIALS_PREFIX]: perMinute(10),
			apis: perMinute(120),
			tools: perMinute(120),
			gateways: perMinute(120),
			...Object.fromEntries(ENDPOINT_PREFIXES.map((prefix) => [prefix, perMinute(300)])),
			analytics: perMinute(30),
			health: null,
		},
		invoke: perMinute(60),
		gateways: perMinute(300),
	};
}
