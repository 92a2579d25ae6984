// Whom the accounts of Gatehouse know, as auth methods ask at a gateway (specification 5.2; decisions 22–25). What is remembered of
// them lies in the parts that this puts together: keys of gateways, members, signed tokens and passwords.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Identity, Visitor } from '../contract/context.ts';
import { asGatewayError } from '../contract/errors.ts';
import type { Caller, Incoming } from '../contract/nouns.ts';
import { clientOf } from '../http/client.ts';
import type { Limits } from '../limits/limits.ts';
import { type Claims, GATEWAY_KEY_PREFIX, type Tokens } from '../secrets/tokens.ts';
import type { PersonRow } from '../store/store.ts';
import { readTokenCookie, tokenCookie } from './cookies.ts';
import { gatewayKey, type KeyedGateway } from './gateway-keys.ts';
import { beginLogin, checkPassword, type LoginParts } from './logins.ts';
import { assertMember, type Members } from './members.ts';
import { KnownPasswords } from './password-cache.ts';
import type { Resets } from './password-resets.ts';
import { SignedTokens } from './signed-tokens.ts';

export interface Identities {
	/** What plugins ask while they serve this request of the gateway. */
	at(mounted: KeyedGateway, request: Request): Identity;
	close(): void;
}

export interface IdentityParts extends LoginParts {
	config: Config;
	members: Members;
	limits: Limits;
	resets: Resets;
}

interface Known {
	signed: SignedTokens;
	passwords: KnownPasswords;
}

export function createIdentities(parts: IdentityParts): Identities {
	const known: Known = { signed: new SignedTokens(parts.tokens, parts.members), passwords: new KnownPasswords(parts) };
	const shared: Shared = { parts, known };
	return {
		at: (mounted, request) => new GatewayIdentity(shared, mounted, request),
		close: () => known.passwords.close(),
	};
}

interface Shared {
	parts: IdentityParts;
	known: Known;
}

/** A class, since one is made for every request: it costs one object where functions would be six. */
class GatewayIdentity implements Identity {
	readonly #shared: Shared;
	readonly #mounted: KeyedGateway;
	readonly #request: Request;

	constructor(shared: Shared, mounted: KeyedGateway, request: Request) {
		this.#shared = shared;
		this.#mounted = mounted;
		this.#request = request;
	}

	credential(secret: string): Promise<Caller | null> {
		const { parts } = this.#shared;
		if (secret.startsWith(GATEWAY_KEY_PREFIX)) return gatewayKey(secret, this.#mounted, parts.store);
		return parts.members.byCredential(secret, this.#mounted.gateway);
	}

	token(token: string): Promise<Caller> {
		return this.#shared.known.signed.caller(token, this.#mounted.gateway);
	}

	async password(email: string, password: string): Promise<Caller | null> {
		const owner = await this.#shared.known.passwords.owner(email, password);
		return owner && assertMember(await this.member(owner.userId));
	}

	member(userId: string): Promise<Caller | null> {
		return this.#shared.parts.members.byId(userId, this.#mounted.gateway);
	}

	async visitor({ headers }: Incoming): Promise<Visitor | null> {
		const { config, store, tokens } = this.#shared.parts;
		const token = readTokenCookie(config, headers);
		const claims = token === null ? null : claimsOf(token, tokens);
		const access = claims && (await store.accounts.session(claims.sid, claims.sub));
		return access && this.#describe(access.user, claims.sid);
	}

	async logIn({ headers }: Incoming, email: string, password: string): Promise<{ visitor: Visitor; cookie: string } | null> {
		const { parts } = this.#shared;
		await parts.limits.ofRoute(this.#request, 'POST /auth/login');
		const user = await checkPassword({ email, password }, parts);
		const begun = user && (await beginLogin(user, clientOf(this.#request, parts), parts));
		if (!begun) return null;
		const visitor = await this.#describe(user, begun.login.sessionId);
		return { visitor, cookie: tokenCookie(parts.config, headers['host'], begun.token) };
	}

	async forgotPassword(email: string): Promise<void> {
		const { limits, resets } = this.#shared.parts;
		await limits.ofRoute(this.#request, 'POST /auth/forgot-password');
		await resets.ask(email);
	}

	async #describe({ id, email, firstName, lastName }: PersonRow, sessionId: string): Promise<Visitor> {
		return { userId: id, email, name: `${firstName} ${lastName}`.trim(), sessionId, caller: await this.member(id) };
	}
}

/** Null for a token that is no good: whoever has an old cookie is simply not logged in. */
function claimsOf(token: string, tokens: Tokens): Claims | null {
	try {
		return tokens.verify(token);
	} catch (thrown) {
		if (asGatewayError(thrown)?.code === 'unauthorized') return null;
		throw thrown;
	}
}
