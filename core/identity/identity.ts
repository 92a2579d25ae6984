// The users of Gatehouse, as auth methods look them up at a gateway (specification 5.2; decisions 22–25). It combines the caches of
// gateways' keys, members, signed tokens and passwords.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Identity, Visitor } from '../contract/context.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Caller, Incoming } from '../contract/nouns.ts';
import { clientOf } from '../http/client.ts';
import { deepFreeze } from '../kit/json.ts';
import type { Limits } from '../limits/limits.ts';
import { GATEWAY_KEY_PREFIX, JWT } from '../secrets/tokens.ts';
import { callerAgain } from './again.ts';
import { readTokenCookie, tokenCookie } from './cookies.ts';
import { gatewayKey, type KeyedGateway } from './gateway-keys.ts';
import { beginLogin, checkPassword, type LoginParts } from './logins.ts';
import { callerAt, fullName, type Holder, type Members } from './members.ts';
import { KnownPasswords } from './password-cache.ts';
import type { Resets } from './password-resets.ts';
import { SignedTokens } from './signed-tokens.ts';

export interface Identities {
	/** The interface for plugins that serve this request of the gateway. */
	/** @param request null for work that outlives its request: nobody can log in there */
	at(mounted: KeyedGateway, request: Request | null): RequestIdentity;
	close(): void;
}

/** The identity that plugins receive with one request, which knows what it gave them. */
export interface RequestIdentity extends Identity {
	/** Returns the caller that it gave under this subject. */
	given(subject: string): Caller | undefined;
	/** Whether it gave this value of Set-Cookie. */
	gaveCookie(cookie: string): boolean;
}

export interface IdentityParts extends LoginParts {
	config: Config;
	members: Members;
	limits: Limits;
	resets: Resets;
}

interface IdentityCaches {
	signed: SignedTokens;
	passwords: KnownPasswords;
}

export function createIdentities(parts: IdentityParts): Identities {
	const known: IdentityCaches = { signed: new SignedTokens(parts.tokens, parts.members), passwords: new KnownPasswords(parts) };
	const shared: Shared = { parts, known };
	return {
		at: (mounted, request) => new GatewayIdentity(shared, mounted, request),
		close: () => known.passwords.close(),
	};
}

interface Shared {
	parts: IdentityParts;
	known: IdentityCaches;
}

/** A class, since one is made for every request: it costs one object instead of six functions. */
class GatewayIdentity implements RequestIdentity {
	readonly #shared: Shared;
	readonly #mounted: KeyedGateway;
	readonly #request: Request | null;
	/** A request rarely gets more than one. */
	#given: Caller[] | null = null;
	#cookie: string | null = null;

	constructor(shared: Shared, mounted: KeyedGateway, request: Request | null) {
		this.#shared = shared;
		this.#mounted = mounted;
		this.#request = request;
	}

	credential(secret: string): Promise<Caller | null> {
		const { parts } = this.#shared;
		const found = secret.startsWith(GATEWAY_KEY_PREFIX)
			? gatewayKey(secret, this.#mounted, parts.store)
			: parts.members.byCredential(secret, this.#mounted.gateway);
		return found.then((caller) => this.#give(caller));
	}

	async token(token: string): Promise<Caller> {
		return this.#give(await this.#shared.known.signed.caller(token, this.#mounted.gateway));
	}

	async password(email: string, password: string): Promise<Caller | null> {
		const { gateway } = this.#mounted;
		const { members, limits } = this.#shared.parts;
		if (this.#request) limits.assertMayGuess(this.#request);
		const isMember = async (userId: string): Promise<boolean> => (await members.byId(userId, gateway)) !== null;
		const owner = await this.#shared.known.passwords.owner(email, password, { place: gateway.organizationId, isMember });
		const member = owner && (await members.byId(owner.userId, gateway));
		if (!member && this.#request) await limits.ofWrongPassword(this.#request);
		return member && this.#give({ ...member, credential: `password:${owner.version}` });
	}

	async member(userId: string): Promise<Caller | null> {
		return this.#give(await this.#shared.parts.members.byId(userId, this.#mounted.gateway));
	}

	async again(caller: Caller): Promise<Caller | null> {
		return this.#give(await callerAgain(caller, this.#mounted, this.#shared.parts));
	}

	given(subject: string): Caller | undefined {
		return this.#given?.find((caller) => caller.subject === subject);
	}

	gaveCookie(cookie: string): boolean {
		return this.#cookie === cookie;
	}

	async visitor({ headers }: Incoming): Promise<Visitor | null> {
		const { config, members } = this.#shared.parts;
		const token = readTokenCookie(config, headers);
		const holder = token === null ? null : await holderOf(token, members);
		if (!holder?.login) return null;
		const { userId, email, name, login } = holder;
		return { userId, email, name, sessionId: login.sessionId, caller: this.#give(callerAt(holder, this.#mounted.gateway)) };
	}

	async logIn({ headers }: Incoming, email: string, password: string): Promise<{ visitor: Visitor; cookie: string } | null> {
		const { parts } = this.#shared;
		const request = asked(this.#request);
		await parts.limits.ofRoute(request, 'POST /auth/login');
		const user = await checkPassword({ email, password }, parts);
		const begun = user && (await beginLogin(user, clientOf(request, parts), parts));
		if (!begun) return null;
		const { sessionId } = begun.login;
		const member = await parts.members.byId(user.id, this.#mounted.gateway);
		const caller = this.#give(member && { ...member, credential: `login:${sessionId}` });
		const visitor = { userId: user.id, email: user.email, name: fullName(user), sessionId, caller };
		this.#cookie = tokenCookie(parts.config, headers['host'], begun.token);
		return { visitor, cookie: this.#cookie };
	}

	async forgotPassword(email: string): Promise<void> {
		const { limits, resets } = this.#shared.parts;
		await limits.ofRoute(asked(this.#request), 'POST /auth/forgot-password');
		await resets.ask(email);
	}

	/** Freezes what it gives: callers of keys are cached, and belong to all requests. */
	#give<T extends Caller | null>(found: T): T {
		if (found === null) return found;
		const { id, organizationId } = this.#mounted.gateway;
		// Without a gateway, a caller is one of the organization.
		const caller = id === '' ? { ...found, organizationId } : found;
		this.#given ??= [];
		this.#given.push(deepFreeze(caller));
		return caller;
	}
}

/** A page's action needs a request, by which it is limited. @throws forbidden */
function asked(request: Request | null): Request {
	if (!request) throw new GatewayError('forbidden', 'This needs a request of a browser.');
	return request;
}

/** Returns the holder of a login's token; null for any other or invalid one, since a visitor with an old cookie is simply not logged in. */
async function holderOf(token: string, members: Members): Promise<Holder | null> {
	if (!JWT.test(token)) return null;
	try {
		return await members.holder(token);
	} catch (thrown) {
		if (asGatewayError(thrown)?.code === 'unauthorized') return null;
		throw thrown;
	}
}
