// The things that the parts of a session share.

import type { Catalog } from '../gateway/catalog.ts';
import type { GatewayClient } from '../gateway/client.ts';
import type { Settings } from '../settings.ts';
import type { Send } from '../wire/output.ts';

export interface Limits {
	/** For lists, from the gateway. */
	discoveryMs: number;
	/** For a call of a tool, and whatever else the gateway works on. Time in which the user is asked does not count. */
	executionMs: number;
	/** The time for which `initialize` waits for the gateway, whose instructions are a part of the answer. */
	handshakeMs: number;
	/** The first and the longest pause before another attempt to reach the gateway. */
	retryMs: { first: number; longest: number };
	/** The time in which running calls are cancelled when the client leaves. */
	partingMs: number;
}

export const LIMITS: Limits = {
	discoveryMs: 15_000,
	executionMs: 120_000,
	handshakeMs: 2000,
	retryMs: { first: 1000, longest: 30_000 },
	partingMs: 60,
};

export interface Context {
	settings: Settings;
	client: GatewayClient;
	limits: Limits;
	send: Send;
	tell(sentence: string): void;
	/** Aborts when the session ends. */
	ending: AbortSignal;
	/** Returns what the gateway has; reads it again after a change that was told, or when it must be fresh. @throws Refusal */
	catalog(isFresh?: boolean): Promise<Catalog>;
}
