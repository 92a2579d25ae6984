// Logins: each has a session, of which every token says that it is. When the session ends, so do they all.

import { randomUUID } from 'node:crypto';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import {
	anyPassword,
	body,
	type Core,
	clientOf,
	displayName,
	GatewayError,
	LOGIN_LIFETIME_MS,
	type Login,
	notFound,
	passwordRule,
	slugs,
	storeOf,
	success,
	tokenCookie,
	type UserRow,
	userIdOf,
} from '../../../core/index.ts';
import { emailAddress, presentUser } from './profile.ts';

export const REGISTER = body({
	email: emailAddress.required(),
	password: passwordRule.required(),
	firstName: displayName.max(100).required(),
	lastName: displayName.max(100).required(),
	organizationName: displayName.required(),
});
/** A wrong address or password is no bad request, so their rules do not apply here. */
export const LOG_IN = body({ email: emailAddress.required(), password: anyPassword.required() });
/** There is nothing to say: the token that comes with it says it all. */
export const REFRESH = body({}).allow(null);

const CHALLENGE = { 'www-authenticate': 'Bearer realm="gatehouse"' };

interface Registration {
	email: string;
	password: string;
	firstName: string;
	lastName: string;
	organizationName: string;
}

export async function registerUser(request: Request, h: ResponseToolkit, core: Core): Promise<ResponseObject> {
	// The route's schema is REGISTER.
	const { password, organizationName, ...person } = request.payload as Registration;
	const passwordHash = await core.passwords.hash(password);
	// Who registers is who makes the organization: the id has to be known before there is a user.
	const id = randomUUID();
	const { accounts } = core.store.as({ userId: id, email: person.email, accessKeyId: null, ...clientOf(request, core) });
	const made = await accounts.register({ id, ...person, passwordHash }, { name: organizationName, slugs: slugs(organizationName) });
	const { organization } = made;
	const token = await begin(request, made.user, core);
	const data = {
		token,
		user: presentUser(made.user),
		organization: { id: organization.id, name: organization.name, slug: organization.slug },
	};
	return withCookie(request, h.response(success(data)).code(201), { core, token });
}

export async function logIn(request: Request, h: ResponseToolkit, core: Core): Promise<ResponseObject> {
	// The route's schema is LOG_IN.
	const { email, password } = request.payload as { email: string; password: string };
	const user = await core.store.accounts.byEmail(email);
	const matches = await core.passwords.verify(password, user?.passwordHash ?? null);
	if (!user || !matches) throw wrong();
	const token = await begin(request, user, core);
	return withCookie(request, h.response(success({ token, user: presentUser(user) })), { core, token });
}

export async function logOut(request: Request, h: ResponseToolkit, core: Core): Promise<ResponseObject> {
	await storeOf(request, core).accounts.endSession(loginOf(request).sessionId);
	return withCookie(request, h.response(success({ loggedOut: true })), { core, token: null });
}

/** Another token of the same login; the one that asks lives on. */
export async function refresh(request: Request, h: ResponseToolkit, core: Core): Promise<ResponseObject> {
	const login = loginOf(request);
	if (Date.now() - login.at.getTime() > LOGIN_LIFETIME_MS) {
		throw new GatewayError('unauthorized', 'This login is too old to be refreshed: log in again.', { headers: CHALLENGE });
	}
	const user = await core.store.accounts.byId(login.userId);
	if (!user) throw notFound('User');
	const token = core.tokens.issue(login);
	return withCookie(request, h.response(success({ token, user: presentUser(user) })), { core, token });
}

const wrong = (): GatewayError => new GatewayError('unauthorized', 'E-mail address or password is wrong.', { headers: CHALLENGE });

/** A new login, and its first token. @throws unauthorized when the password was changed while it was checked */
async function begin(request: Request, { id: userId, passwordHash }: UserRow, core: Core): Promise<string> {
	const login: Login = { sessionId: randomUUID(), userId, at: new Date() };
	const { address, userAgent } = clientOf(request, core);
	const begun = await core.store.accounts.startSession({ id: login.sessionId, userId, address, userAgent, passwordHash });
	if (!begun) throw wrong();
	return core.tokens.issue(login);
}

/** Of a route that needs a login. */
export function loginOf(request: Request): Login {
	const { login } = request.auth.credentials;
	if (!login) throw new Error(`${request.method} ${request.path}: the route asks for a login that it did not declare.`);
	return { ...login, userId: userIdOf(request) };
}

/** For the browser; with null, the cookie is taken back. */
function withCookie(request: Request, response: ResponseObject, { core, token }: { core: Core; token: string | null }): ResponseObject {
	const cookie = tokenCookie(core.config, request.raw.req.headers.host, token);
	return response.header('set-cookie', cookie).header('cache-control', 'no-store');
}
