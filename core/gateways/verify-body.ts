// The second half of an authentication by signature: the method that admitted the caller by the headers checks the body that came with them.

import type { GateContext, Received } from '../contract/admission.ts';
import { PluginFault } from '../contract/errors.ts';
import type { Caller, Gateway, Incoming } from '../contract/nouns.ts';
import { inTime } from '../kit/race.ts';
import { DEADLINE_MS, type MountedMethod, refusal, withChallengeOf } from './authenticate.ts';

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
	const fault = (what: string): PluginFault => new PluginFault(`auth:${plugin.name}`, `verifyBody ${what}.`);
	const late = (): PluginFault => fault(`gave no answer within ${DEADLINE_MS / 1000} s`);
	const received: Received = { ...incoming, body: null, rawBody: rawBody ?? EMPTY };
	try {
		const answer: unknown = await inTime(Promise.resolve(plugin.verifyBody?.(received, caller, config, contextOf(by))), DEADLINE_MS, late);
		// A method that answers false may mean a refusal: it has to throw one.
		if (answer !== undefined) throw fault('must return nothing: it refuses by throwing');
	} catch (thrown) {
		const error = refusal(thrown);
		if (error.code === 'unauthorized') await onBadCredential();
		throw withChallengeOf(error, gateway, methods, by);
	}
}
