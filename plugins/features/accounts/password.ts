// Changes the password of a user who knows the current one.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	anyPassword,
	body,
	type Core,
	GatewayError,
	invalid,
	notFound,
	operation,
	passwordRule,
	shape,
	storeOf,
} from '../../../core/features.ts';
import { loginOf } from './login.ts';

const CHANGE_PASSWORD = body({ currentPassword: anyPassword.required(), newPassword: passwordRule.required() }).example({
	currentPassword: 'Correct1Horse',
	newPassword: 'Battery2Staple',
});

export const changePassword = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/auth/change-password',
		id: 'changePassword',
		summary: 'Changes the password, and ends every other login of the account.',
		need: 'login',
		body: CHANGE_PASSWORD,
		answer: shape({ changed: Joi.boolean().valid(true) }),
		errors: ['conflict'],
		handler: (request) => change(request, core),
	});

/** Changes the password and keeps the login of this request. A wrong password is a 400, since a 401 would mean that the token is bad. */
async function change(request: Request, core: Core): Promise<{ changed: true }> {
	// The body has passed CHANGE_PASSWORD.
	const { currentPassword, newPassword } = request.payload as { currentPassword: string; newPassword: string };
	if (newPassword === currentPassword) throw invalid('/newPassword', '"newPassword" must differ from the current one');
	const { userId, sessionId } = loginOf(request);
	const user = await core.store.accounts.byId(userId);
	if (!user) throw notFound('User');
	if (!(await core.passwords.verify(currentPassword, user.passwordHash))) {
		throw invalid('/currentPassword', '"currentPassword" is not the current password');
	}
	const to = await core.passwords.hash(newPassword);
	const changed = await storeOf(request, core).accounts.changePassword(userId, { from: user.passwordHash, to, keep: sessionId });
	if (!changed) throw new GatewayError('conflict', 'The password was changed by another request meanwhile.');
	return { changed };
}
