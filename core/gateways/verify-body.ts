// The second half of an authentication by signature: the method that admitted the caller by the headers checks the body that came with them.

import type { GateContext, Received } from '../contract/admission.ts';
import type { Caller, Gateway, Incoming } from '../contract/nouns.ts';
import { answerOf, assertNothing } from '../process/hooks.ts';
import { type MountedMethod, refusal, withChallengeOf } from './authenticate.ts';

/** A request that a method admitted by its headers. */
export interface Admitted {
	incoming: Incoming;
	caller: Caller;
	gateway: Gateway;
	methods: readonly MountedMethod[];
	/** The one of the methods that admitted the caller: no other one is asked. */
	by: MountedMethod;
}

interface Hooks {
	contextOf(method: MountedMethod): GateContext;
	/** Called before the refusal of a bad body. @throws rate_limited, instead of the refusal */
	onBadCredential(): Promise<void>;
}

const EMPTY = Buffer.alloc(0);

/** @param rawBody as it was sent; null if there is none. @throws unauthorized, with a challenge; forbidden; PluginFault */
export async function verifyBody(rawBody: Buffer | null, admitted: Admitted, { contextOf, onBadCredential }: Hooks): Promise<void> {
	const { incoming, caller, gateway, methods, by } = admitted;
	const { plugin, config } = by;
	const hook = { plugin: `auth:${plugin.name}`, hook: 'verifyBody' };
	const received: Received = { ...incoming, body: null, rawBody: rawBody ?? EMPTY };
	try {
		assertNothing(hook, await answerOf(hook, () => plugin.verifyBody?.(received, caller, config, contextOf(by))));
	} catch (thrown) {
		const error = refusal(thrown);
		if (error.code === 'unauthorized') await onBadCredential();
		throw withChallengeOf(error, gateway, methods, by);
	}
}
