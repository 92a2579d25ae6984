// Accounts (specification 4.1): registration with a default organization, login, the profile.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	type Feature,
	GatewayError,
	notFound,
	passwordRule,
	success,
	userIdOf,
} from '../../../core/index.ts';
import { slugs } from './slugs.ts';

const email = Joi.string().email({ tlds: false }).max(254);

const REGISTER = body({
	email: email.required(),
	password: passwordRule.required(),
	firstName: displayName.max(100).required(),
	lastName: displayName.max(100).required(),
	organizationName: displayName.required(),
});
/** A wrong password is no bad request, so the rule does not apply here. */
const LOGIN = body({ email: Joi.string().max(254).required(), password: Joi.string().max(1000).required() });

interface Registration {
	email: string;
	password: string;
	firstName: string;
	lastName: string;
	organizationName: string;
}

export default {
	kind: 'feature',
	name: 'accounts',
	summary: 'Accounts with a default organization: registration, login and profile.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		const open = { auth: false as const, plugins: { gatehouse: { organization: 'none' as const } } };
		server.route([
			{
				method: 'POST',
				path: '/auth/register',
				options: { ...open, validate: { payload: REGISTER } },
				handler: async (request, h) => h.response(success(await registerUser(request.payload as Registration, core))).code(201),
			},
			{
				method: 'POST',
				path: '/auth/login',
				options: { ...open, validate: { payload: LOGIN } },
				handler: async (request) => success(await login(request.payload as { email: string; password: string }, core)),
			},
			{
				method: 'GET',
				path: '/auth/profile',
				options: { plugins: { gatehouse: { organization: 'none' } } },
				handler: async (request) => success(await profile(request, core)),
			},
		]);
	},
} satisfies Feature;

async function registerUser({ password, organizationName, ...user }: Registration, core: Core) {
	const passwordHash = await core.passwords.hash(password);
	const organization = { name: organizationName, slugs: slugs(organizationName) };
	const made = await core.store.accounts.register({ ...user, passwordHash }, organization);
	const { id, name, slug } = made.organization;
	return { token: core.tokens.issue(made.user.id), user: presentUser(made.user), organization: { id, name, slug } };
}

async function login({ email: address, password }: { email: string; password: string }, core: Core) {
	const user = await core.store.accounts.byEmail(address);
	const matches = await core.passwords.verify(password, user?.passwordHash ?? null);
	if (!user || !matches) throw new GatewayError('unauthorized', 'E-mail address or password is wrong.');
	return { token: core.tokens.issue(user.id), user: presentUser(user) };
}

async function profile(request: Request, core: Core) {
	const user = await core.store.accounts.byId(userIdOf(request));
	if (!user) throw notFound('User');
	const memberships = await core.store.accounts.memberships(user.id);
	const organizations = memberships.map(({ organization: { id, name, slug }, role }) => ({ id, name, slug, role }));
	return { ...presentUser(user), organizations };
}

const presentUser = ({ id, email: address, firstName, lastName }: { id: string; email: string; firstName: string; lastName: string }) => ({
	id,
	email: address,
	firstName,
	lastName,
});
