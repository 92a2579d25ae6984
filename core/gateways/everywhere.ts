// Calls at an address over all organizations, until a credential or a person names one: of authentication methods that work there.

import type { Request } from '@hapi/hapi';
import type { GateContext } from '../contract/admission.ts';
import type { Call } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway, Incoming, ServedAt } from '../contract/nouns.ts';
import type { OrganizationChoice, UserOrganization } from '../contract/organizations.ts';
import { noKeysYet } from '../identity/gateway-keys.ts';
import type { Identities, RequestIdentity } from '../identity/identity.ts';
import type { Members } from '../identity/members.ts';
import { answerOf } from '../process/hooks.ts';
import { PluginCall } from '../tools/call.ts';
import type { Services } from '../tools/call-parts.ts';
import { ask, challenges, type MountedMethod, refusal, withChallenges } from './authenticate.ts';
import { checkCaller } from './check-caller.ts';

export interface EverywhereParts {
	services: Services;
	identities: Identities;
	members: Pick<Members, 'byId'>;
}

/** The request that a place is opened for; without one, work that outlives its request. */
interface Asking {
	request?: Request;
	incoming?: Incoming;
	signal: AbortSignal;
}

/** In place of an organization's id, where none is known yet. */
const NONE = '';
const KNOWN_MS = 10_000;
/** No gateway's key is good here. */
const NO_KEYS = noKeysYet();
const NO_GATEWAY = { id: '', organizationSlug: '', organizationName: '', name: '', type: '', endpoint: '', status: '', url: '' };

/** One request at such an address, with the organizations that plugins looked into. */
export class Everywhere {
	readonly #parts: EverywhereParts;
	readonly #asking: Asking;
	readonly #identities = new Map<string, RequestIdentity>();

	constructor(parts: EverywhereParts, asking: Asking) {
		this.#parts = parts;
		this.#asking = asking;
	}

	/** Returns the call of a plugin, which belongs to no organization yet. @param plugin `kind:name` */
	call(plugin: string): PluginCall {
		return this.#callIn(NONE, plugin, { at: (id) => this.#at(id, plugin), of: (userId) => this.#of(userId) });
	}

	gaveCookie(cookie: string): boolean {
		return [...this.#identities.values()].some((identity) => identity.gaveCookie(cookie));
	}

	/**
	 * Returns the caller whom the first of the methods admits, and who names an organization; null when the request has no credential of
	 * theirs. @throws unauthorized with the challenges of all, forbidden, PluginFault
	 */
	async authenticate(methods: readonly MountedMethod[], incoming: Incoming, at: ServedAt): Promise<Bound | null> {
		let last: GatewayError | null = null;
		const bad: MountedMethod[] = [];
		for (const method of methods) {
			try {
				// Methods for such addresses know that there is no gateway.
				const context = this.call(`auth:${method.plugin.name}`) as Call as GateContext;
				const bound = this.#checked(method.plugin.name, await ask(method, incoming, context));
				if (bound) return bound;
			} catch (thrown) {
				last = refusal(thrown);
				if (last.code === 'unauthorized') bad.push(method);
			}
		}
		if (last) throw withChallenges(last, challenges(at, methods, bad));
		return null;
	}

	/** Returns a caller whom a method admitted earlier, as they are now; null when their credential has ended. */
	async again({ plugin, config }: MountedMethod, caller: Caller, organizationId: string): Promise<Caller | null> {
		const context = await this.#at(organizationId, `auth:${plugin.name}`);
		if (!context || !plugin.recheck) return null;
		const hook = { plugin: `auth:${plugin.name}`, hook: 'recheck' };
		const answer: unknown = await answerOf(hook, () => plugin.recheck?.(caller, config, context));
		const now = this.#checked(plugin.name, answer)?.caller ?? null;
		return now?.subject === caller.subject ? now : null;
	}

	/** @throws PluginFault */
	#checked(method: string, value: unknown): Bound | null {
		const organizationId = (value as Partial<Caller> | null | undefined)?.organizationId ?? NONE;
		const identity = this.#identities.get(organizationId);
		const caller = checkCaller(method, value, (subject) => identity?.given(subject));
		if (caller === null) return null;
		if (organizationId === NONE || caller.userId === undefined)
			throw new GatewayError('unauthorized', 'The credential names no organization.');
		return { organizationId, caller };
	}

	async #at(organizationId: string, plugin: string): Promise<PluginCall | null> {
		const { memo, store } = this.#parts.services;
		const found = memo.get(organizationId, 'organization', KNOWN_MS, async () => {
			// A failure is not kept, so that made-up ids take no room.
			if (!(await store.organizations.get(organizationId))) throw new Missing();
			return true;
		});
		const exists = await found.catch((thrown: unknown) => {
			if (thrown instanceof Missing) return false;
			throw thrown;
		});
		return exists ? this.#callIn(organizationId, plugin) : null;
	}

	async #of(userId: string): Promise<UserOrganization[]> {
		const { services, members } = this.#parts;
		const found: UserOrganization[] = [];
		for (const { organization } of await services.store.accounts.memberships(userId)) {
			const { id, slug, name } = organization;
			const caller = await members.byId(userId, { organizationId: id, id: '' });
			if (caller) found.push({ id, slug, name, caller });
		}
		return found;
	}

	#callIn(organizationId: string, plugin: string, organizations?: OrganizationChoice): PluginCall {
		const { incoming, signal } = this.#asking;
		const empty = { gateway: null, caller: null, shelf: null, entry: null, listener: null };
		const identity = this.#identityIn(organizationId);
		const around = { plugin, organizationId, signal, identity, ...(incoming && { incoming }), ...(organizations && { organizations }) };
		return new PluginCall(this.#parts.services, { ...empty, ...around });
	}

	#identityIn(organizationId: string): RequestIdentity {
		const known = this.#identities.get(organizationId);
		if (known) return known;
		const gateway: Gateway = { ...NO_GATEWAY, organizationId, description: null };
		const identity = this.#parts.identities.at({ gateway, keys: NO_KEYS }, this.#asking.request ?? null);
		this.#identities.set(organizationId, identity);
		return identity;
	}
}

class Missing extends Error {}

/** A caller, and the organization that their credential is for. */
interface Bound {
	organizationId: string;
	caller: Caller;
}
