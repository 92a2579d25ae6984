// Tokens signed with the service's secret (specification 5.2, decisions 25): those of members' logins, and those made by the operator.

import { GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { hashId, JWT, MAX_TOKEN_LENGTH, type OperatorClaims, type Tokens } from '../secrets/tokens.ts';
import { assertMember, callerAt, type Members } from './members.ts';
import { openedScopes } from './token-scopes.ts';

/** The number of cached operator's tokens of all gateways; those verified longest ago are dropped first. */
const KEPT = 10_000;
const KEPT_MS = 60_000;

export class SignedTokens {
	readonly #tokens: Tokens;
	readonly #members: Members;
	/** Callers of the operator's tokens, by the token's hash. Only verified ones are added. */
	readonly #known = new BoundedMap<string, { caller: Caller; expiresAtMs: number }>(KEPT);

	constructor(tokens: Tokens, members: Members) {
		this.#tokens = tokens;
		this.#members = members;
	}

	/** @throws unauthorized; forbidden for a login of somebody who is no member */
	async caller(token: string, gateway: Gateway): Promise<Caller> {
		// An access key would also be found among the credentials of members.
		if (token.length > MAX_TOKEN_LENGTH || !JWT.test(token)) throw new GatewayError('unauthorized', 'Invalid token.');
		const id = hashId(token);
		const known = this.#known.get(id);
		if (known && known.expiresAtMs > Date.now()) return known.caller;
		const login = this.#members.known(id);
		if (login) return callerOf(await login, gateway);
		const read = this.#tokens.read(token);
		if (read.by === 'operator') return this.#remember(id, read.claims);
		return callerOf(await this.#members.byLogin(id, read.claims), gateway);
	}

	#remember(id: string, claims: OperatorClaims): Caller {
		const caller: Caller = { method: 'token', subject: `jwt:${claims.subject}`, scopes: openedScopes(claims.scopes) };
		const expiresAtMs = Math.min((claims.exp ?? Number.POSITIVE_INFINITY) * 1000, Date.now() + KEPT_MS);
		this.#known.set(id, { caller, expiresAtMs });
		return caller;
	}
}

function callerOf(member: Awaited<ReturnType<Members['byLogin']>>, gateway: Gateway): Caller {
	if (!member) throw new GatewayError('unauthorized', 'The login of this token has ended.');
	return assertMember(callerAt(member, gateway));
}
