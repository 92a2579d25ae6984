// The routes of accounts (specification 4.1).

import type { Server } from '@hapi/hapi';
import Joi from 'joi';
import type { Feature } from '../../../core/features.ts';
import { logIn, logOut, refreshToken, registerUser } from './login.ts';
import { checkOrganizationName } from './organization-name.ts';
import { changePassword } from './password.ts';
import { getProfile, updateProfile } from './profile.ts';
import { forgotPassword, resetPassword } from './reset.ts';

export default {
	kind: 'feature',
	api: 1,
	name: 'accounts',
	summary: 'Accounts with a default organization: registration, login, passwords and profile.',
	config: Joi.object({}),
	segments: ['auth'],
	register(server: Server, _config, core) {
		server.route([
			registerUser(core),
			logIn(core),
			logOut(core),
			refreshToken(core),
			getProfile(core),
			updateProfile(core),
			changePassword(core),
			forgotPassword(core),
			resetPassword(core),
			checkOrganizationName(core),
		]);
	},
} satisfies Feature;
