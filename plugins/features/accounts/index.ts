// Accounts (specification 4.1): the table of their routes.

import type { RouteOptions, Server } from '@hapi/hapi';
import Joi from 'joi';
import { type Feature, needs, success } from '../../../core/index.ts';
import { LOG_IN, logIn, logOut, REFRESH, REGISTER, refresh, registerUser } from './login.ts';
import { checkOrganizationName, ORGANIZATION_NAME } from './organization-name.ts';
import { CHANGE_PASSWORD, changePassword } from './password.ts';
import { CHANGE_PROFILE, changeProfile, profile } from './profile.ts';
import { createForgotten, FORGOT_PASSWORD, RESET_PASSWORD, resetPassword } from './reset.ts';

const open = (validate: RouteOptions['validate']): RouteOptions => ({ auth: false, ...(validate && { validate }) });

export default {
	kind: 'feature',
	name: 'accounts',
	summary: 'Accounts with a default organization: registration, login, passwords and profile.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		const forgotten = createForgotten(core);
		server.ext('onPostStop', () => forgotten.settled());
		server.route([
			{
				method: 'POST',
				path: '/auth/register',
				options: open({ payload: REGISTER }),
				handler: (request, h) => registerUser(request, h, core),
			},
			{ method: 'POST', path: '/auth/login', options: open({ payload: LOG_IN }), handler: (request, h) => logIn(request, h, core) },
			{ method: 'POST', path: '/auth/logout', options: needs('login'), handler: (request, h) => logOut(request, h, core) },
			{
				method: 'POST',
				path: '/auth/refresh',
				options: { ...needs('login'), validate: { payload: REFRESH } },
				handler: (request, h) => refresh(request, h, core),
			},
			{
				method: 'GET',
				path: '/auth/profile',
				options: needs('self'),
				handler: async (request) => success(await profile(request, core)),
			},
			{
				method: 'PATCH',
				path: '/auth/profile',
				options: { ...needs('account'), validate: { payload: CHANGE_PROFILE } },
				handler: async (request) => success(await changeProfile(request, core)),
			},
			{
				method: 'PATCH',
				path: '/auth/change-password',
				options: { ...needs('login'), validate: { payload: CHANGE_PASSWORD } },
				handler: async (request) => success(await changePassword(request, core)),
			},
			{
				method: 'POST',
				path: '/auth/forgot-password',
				options: open({ payload: FORGOT_PASSWORD }),
				handler: async (request) => success(await forgotten.ask(request)),
			},
			{
				method: 'POST',
				path: '/auth/reset-password',
				options: open({ payload: RESET_PASSWORD }),
				handler: async (request) => success(await resetPassword(request, core)),
			},
			{
				method: 'GET',
				path: '/auth/check-organization-name',
				options: open({ query: ORGANIZATION_NAME }),
				handler: async (request) => success(await checkOrganizationName(request, core)),
			},
		]);
	},
} satisfies Feature;
