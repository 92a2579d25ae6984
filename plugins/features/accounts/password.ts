// A new password by who knows the present one.

import type { Request } from '@hapi/hapi';
import { anyPassword, body, type Core, GatewayError, invalid, notFound, passwordRule, storeOf } from '../../../core/index.ts';
import { loginOf } from './login.ts';

export const CHANGE_PASSWORD = body({ currentPassword: anyPassword.required(), newPassword: passwordRule.required() });

/** Ends every other login; the one that asks lives on. A 401 would say that its token is bad, so a wrong password is a 400. */
export async function changePassword(request: Request, core: Core): Promise<{ changed: true }> {
	// The route's schema is CHANGE_PASSWORD.
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
