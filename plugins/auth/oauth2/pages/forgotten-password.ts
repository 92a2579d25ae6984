// The page on which a member requests the mail of `POST /auth/forgot-password`, and keeps the client's request while they wait for it.

import { asGatewayError, type Call, type Incoming, type Reply } from '../../../../core/index.ts';
import type { OAuthConfig } from '../config.ts';
import { forgottenPage, type Page, sentPage } from './pages.ts';
import { answeringForm, orWait, pageOf, visiting } from './visit.ts';

export const forgottenPassword = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	visiting({ request, config, call }, async (asked) => forgottenPage(pageOf(request, asked, call)));

export const askForMail = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answeringForm({ request, config, call }, async (asked, form) => {
		const page = pageOf(request, asked, call);
		const email = form.get('email') ?? '';
		try {
			await call.identity.forgotPassword(email);
			return sentPage(page, email);
		} catch (thrown) {
			return notAsked(thrown, { page, request, email });
		}
	});

/** Shows the page again, when the address or a limit is the reason. @throws every other error */
function notAsked(thrown: unknown, { page, request, email }: { page: Page; request: Incoming; email: string }): Reply {
	const again = (alert: string): Reply => forgottenPage(page, { email, alert });
	const isNoAddress = asGatewayError(thrown)?.code === 'validation_failed';
	return isNoAddress ? again('This is not an e-mail address. One looks like ada@example.com.') : orWait(thrown, request, again);
}
