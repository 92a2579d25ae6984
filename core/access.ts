// Who uses the management API, and for which organization (specification 5.1).

import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { GatewayError, notFound } from './errors.ts';
import { readInput } from './input.ts';
import type { Accounts, Changes, MembershipRow, OrganizationRow } from './store.ts';
import type { Tokens } from './tokens.ts';

declare module '@hapi/hapi' {
	interface UserCredentials {
		id: string;
	}
	interface AuthCredentials {
		/** Null on routes that need no organization. */
		organization: OrganizationRow | null;
		role: string | null;
	}
	interface PluginSpecificConfiguration {
		gatehouse?: {
			/** Where the organization comes from; `context` (the header, or the only membership) unless said otherwise. */
			organization?: 'context' | 'path' | 'none';
			/** `unread`: the handler reads it itself, with a limit of its own. */
			body?: 'unread';
		};
	}
}

const ORGANIZATION_HEADER = 'x-organization-id';

/**
 * The default strategy: `Authorization: Bearer <token>`, and the organization.
 * @param server of the plugin whose routes they are
 */
export function registerAccess(server: Server, parts: { tokens: Tokens; accounts: Accounts; changes: Changes }): void {
	server.auth.scheme('management', () => ({
		async authenticate(request, h) {
			const claims = parts.tokens.verify(bearer(request));
			const memberships = await parts.accounts.memberships(claims.sub);
			if (memberships.length === 0 && !(await parts.accounts.byId(claims.sub))) {
				throw new GatewayError('unauthorized', 'The account of this token is gone.', { headers: CHALLENGE });
			}
			const membership = choose(request, memberships);
			// A refused caller is gone before its body is read.
			await readInput(request);
			return h.authenticated({
				credentials: { user: { id: claims.sub }, organization: membership?.organization ?? null, role: membership?.role ?? null },
			});
		},
	}));
	server.auth.strategy('management', 'management');
	server.auth.default('management');
	server.ext('onPreAuth', (request, h) => readOpenInput(request, h), SANDBOX);
	// Whoever changed something finds it changed, at once on this replica. What was committed stays so if this look fails.
	server.ext(
		'onPostHandler',
		async (request, h) => {
			if (request.auth.isAuthenticated && request.method !== 'get') await parts.changes.fresh(0)?.catch(() => null);
			return h.continue;
		},
		SANDBOX,
	);
}

/** Of the management API's routes alone: what a gateway's route does not need, it does not pay for. */
const SANDBOX = { sandbox: 'plugin' } as const;

/** Where nobody has to be let in, at once; elsewhere authentication reads it when it has let the caller in. */
async function readOpenInput(request: Request, h: ResponseToolkit) {
	// hapi's types leave out that `auth: false` stays false.
	if ((request.route.settings.auth as unknown) === false) await readInput(request);
	return h.continue;
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="gatehouse"' };

function bearer(request: Request): string {
	const { authorization } = request.raw.req.headers;
	const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
	if (token === undefined) throw new GatewayError('unauthorized', 'A Bearer token is required.', { headers: CHALLENGE });
	return token;
}

/** The path wins and the header is ignored; an organization that is not the caller's does not exist. */
function choose(request: Request, memberships: MembershipRow[]): MembershipRow | null {
	const source = request.route.settings.plugins?.gatehouse?.organization ?? 'context';
	if (source === 'none') return null;
	const named = source === 'path' ? String(request.params['orgId']) : request.raw.req.headers[ORGANIZATION_HEADER]?.toString();
	if (named === undefined && memberships.length === 1) return memberships[0] ?? null;
	const membership = memberships.find(({ organization }) => organization.id === named);
	if (membership) return membership;
	if (source === 'path') throw notFound('Organization');
	const message =
		named === undefined
			? 'Send X-Organization-Id: the account belongs to several organizations, or to none.'
			: 'X-Organization-Id names no organization of this account.';
	throw new GatewayError('no_organization', message, { details: [{ path: `header/${ORGANIZATION_HEADER}`, message }] });
}

/** The organization of a request whose route needs one. */
export function organizationOf(request: Request): OrganizationRow {
	const { organization } = request.auth.credentials;
	if (!organization) throw new Error(`${request.method} ${request.path}: the route asks for an organization that it did not declare.`);
	return organization;
}

export function userIdOf(request: Request): string {
	const { user } = request.auth.credentials;
	if (!user) throw new Error(`${request.method} ${request.path}: the route asks for a user but is public.`);
	return user.id;
}
