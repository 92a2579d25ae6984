// The caller of a request of the management API, for work that outlives it: named by the credential, which is checked again later.

import type { Request } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import type { Caller } from '../contract/nouns.ts';
import type { Members } from '../identity/members.ts';
import { organizationOf } from './credentials.ts';

/** @throws forbidden for a gateway's key, which is nobody's */
export type CallerOf = (request: Request) => Promise<Caller>;

export const createCallerOf =
	(members: Pick<Members, 'byId'>): CallerOf =>
	async (request) => {
		const { user, login, actor, permissions } = request.auth.credentials;
		const member = user ? await members.byId(user.id, { id: '', organizationId: organizationOf(request).id }) : null;
		if (!member) throw new GatewayError('forbidden', 'This requires a login or an access key of a member.');
		const keyId = actor?.accessKeyId ?? null;
		const credential = keyId === null ? login && `login:${login.sessionId}` : `access:${keyId}`;
		const method = keyId === null ? 'login' : 'key';
		return { ...member, method, scopes: member.scopes.filter((scope) => permissions.has(scope)), ...(credential && { credential }) };
	};
