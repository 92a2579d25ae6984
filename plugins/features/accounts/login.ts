// Registration, login, logout and refresh. Each login has a session, which all its tokens name; when the session ends, so do they.

import { randomUUID } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	anyPassword,
	beginLogin,
	body,
	type Core,
	checkPassword,
	clientOf,
	displayName,
	emailAddress,
	GatewayError,
	LOGIN_LIFETIME_MS,
	type Login,
	notFound,
	operation,
	passwordRule,
	setCookie,
	shape,
	slugs,
	storeOf,
	tokenCookie,
	type UserRow,
	userIdOf,
	uuid,
} from '../../../core/features.ts';
import { presentUser, USER } from './profile.ts';

const REGISTER = body({
	email: emailAddress.required(),
	password: passwordRule.required(),
	firstName: displayName.max(100).required(),
	lastName: displayName.max(100).required(),
	organizationName: displayName.required().description('Name of the organization that is created for the user.'),
}).example({
	email: 'ada@example.com',
	password: 'Correct1Horse',
	firstName: 'Ada',
	lastName: 'Lovelace',
	organizationName: 'Acme',
});
/** The body of a login. The rules for new passwords do not apply: a wrong one must be a 401, not a 400. */
const LOG_IN = body({ email: emailAddress.required(), password: anyPassword.required() }).example({
	email: 'ada@example.com',
	password: 'Correct1Horse',
});
/** The body of a refresh is empty: the token of the request is enough. */
const REFRESH = body({}).allow(null).optional().example({});

const token = Joi.string().description('A token for `Authorization: Bearer`, valid for 24 hours. Browsers also receive it as a cookie.');
const TOKEN = shape({ token, user: USER });
const REGISTERED = shape({
	token,
	user: USER,
	organization: shape({
		id: uuid,
		name: Joi.string(),
		slug: Joi.string().description('The organization’s segment in the URLs of its gateways.'),
	}),
});

const CHALLENGE = { 'www-authenticate': 'Bearer realm="gatehouse"' };

interface Registration {
	email: string;
	password: string;
	firstName: string;
	lastName: string;
	organizationName: string;
}

export const registerUser = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/register',
		id: 'register',
		summary: 'Creates an account with an organization of its own, and logs it in.',
		need: 'public',
		addressLimit: { max: 10, seconds: 3600 },
		body: REGISTER,
		answer: REGISTERED,
		status: 201,
		errors: ['conflict'],
		handler: (request) => register(request, core),
	});

export const logIn = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/login',
		id: 'logIn',
		summary: 'Logs a user in.',
		need: 'public',
		addressLimit: { max: 10, seconds: 300 },
		body: LOG_IN,
		answer: TOKEN,
		errors: ['unauthorized'],
		handler: (request) => enter(request, core),
	});

export const logOut = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/logout',
		id: 'logOut',
		summary: 'Ends the login with all its tokens.',
		need: 'login',
		answer: shape({ loggedOut: Joi.boolean().valid(true) }),
		handler: async (request) => {
			await storeOf(request, core).accounts.endSession(loginOf(request).sessionId);
			giveCookie(request, null, core);
			return { loggedOut: true };
		},
	});

export const refreshToken = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/refresh',
		id: 'refreshToken',
		summary: 'Issues another token of the same login; the current one stays valid.',
		need: 'login',
		addressLimit: { max: 20, seconds: 300 },
		body: REFRESH,
		answer: TOKEN,
		handler: (request) => refresh(request, core),
	});

async function register(request: Request, core: Core) {
	// The body has passed REGISTER.
	const { password, organizationName, ...person } = request.payload as Registration;
	// This check avoids the costly part; of concurrent registrations the database accepts one.
	if (await core.store.accounts.byEmail(person.email)) throw taken();
	const passwordHash = await core.passwords.hash(password);
	// The registering user creates the organization, so the id is needed before the user is stored.
	const id = randomUUID();
	const { accounts } = core.store.as({ userId: id, email: person.email.normalize('NFC'), accessKeyId: null, ...clientOf(request, core) });
	const made = await accounts.register(
		{ id, ...person, passwordHash },
		{ name: organizationName, slugs: slugs(organizationName, core.reserved) },
	);
	const { organization } = made;
	return {
		token: await begin(request, made.user, core),
		user: presentUser(made.user),
		organization: { id: organization.id, name: organization.name, slug: organization.slug },
	};
}

async function enter(request: Request, core: Core) {
	// The body has passed LOG_IN.
	const { email, password } = request.payload as { email: string; password: string };
	const user = await checkPassword({ email, password }, core);
	if (!user) throw wrong();
	return { token: await begin(request, user, core), user: presentUser(user) };
}

async function refresh(request: Request, core: Core) {
	const login = loginOf(request);
	if (Date.now() - login.at.getTime() > LOGIN_LIFETIME_MS) {
		throw new GatewayError('unauthorized', 'This login is too old to be refreshed: log in again.', { headers: CHALLENGE });
	}
	const user = await core.store.accounts.byId(login.userId);
	if (!user) throw notFound('User');
	const issued = core.tokens.issue(login);
	giveCookie(request, issued, core);
	return { token: issued, user: presentUser(user) };
}

const TAKEN = { path: '/email', message: 'email is taken: an account with this address exists.' };
const taken = (): GatewayError => new GatewayError('conflict', TAKEN.message, { details: [TAKEN] });

const wrong = (): GatewayError => new GatewayError('unauthorized', 'E-mail address or password is wrong.', { headers: CHALLENGE });

/** Issues the first token of a new login, and sets the browser's cookie. @throws unauthorized when the password was changed meanwhile */
async function begin(request: Request, user: UserRow, core: Core): Promise<string> {
	const begun = await beginLogin(user, clientOf(request, core), core);
	if (!begun) throw wrong();
	giveCookie(request, begun.token, core);
	return begun.token;
}

/** Returns the login of a request whose route requires one. */
export function loginOf(request: Request): Login {
	const { login } = request.auth.credentials;
	if (!login) throw new Error(`${request.method} ${request.path}: the route asks for a login that it did not declare.`);
	return { ...login, userId: userIdOf(request) };
}

/** Sets the browser's cookie; null clears it. */
const giveCookie = (request: Request, value: string | null, { config }: Core): void =>
	setCookie(request, tokenCookie(config, request.raw.req.headers.host, value));
