// The authorization endpoint (OAuth 2.1 §4.1): a member of the gateway's organization allows a client, on pages of ours.

import type { Call, Incoming, Reply, Scope, Visitor } from '../../../core/index.ts';
import { type AuthorizationRequest, redirectTo } from './authorization-request.ts';
import { issueCode } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { agree, ask, isAgreed, isAnswerTo, withdraw } from './consents.ts';
import { OAuthFault } from './faults.ts';
import { gatewayUrl } from './metadata.ts';
import { consentPage, loginPage, strangerPage } from './pages/pages.ts';
import { answeringForm, NOT_AGREED, orWait, type PageContext, pageOf, visiting } from './pages/visit.ts';
import type { Parameters } from './parameters.ts';

/** A valid request of a client, and the logged-in user who decides about it. */
interface Decision {
	asked: AuthorizationRequest;
	visitor: Visitor;
	/** The requested scopes that the visitor holds. */
	scopes: Scope[];
}

const AGAIN = 'This page was answered before, or was open for too long. Please decide again.';

export const authorize = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	visiting({ request, config, call }, async (asked) => {
		const visitor = await call.identity.visitor(request);
		if (!visitor) return loginPage(pageOf(request, asked, call));
		return decide(asked, visitor, { request, config, call });
	});

/** Handles the forms of the pages, which are posted here with the query of the original request. */
export const answerForm = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answeringForm({ request, config, call }, async (asked, form) => {
		const context = { request, config, call };
		if (form.get('action') === 'login') return logIn(form, asked, context);
		const page = pageOf(request, asked, call);
		if (form.get('action') === 'switch') return loginPage(page);
		const visitor = await call.identity.visitor(request);
		if (!visitor) return loginPage(page, { alert: 'Your login has ended, and nothing was decided. Log in again.' });
		return settle(form, { asked, visitor }, context);
	});

/** Shows the consent page, or redirects at once if the user has agreed before. @param alert why the user is asked again */
async function decide(
	asked: AuthorizationRequest,
	visitor: Visitor,
	{ request, call, alert }: PageContext & { alert?: string },
): Promise<Reply> {
	const page = pageOf(request, asked, call);
	if (!visitor.caller) return strangerPage(page, visitor.email);
	const decision = { asked, visitor, scopes: holdable(asked, visitor) };
	if (await isAgreed(asked.client, agreementOf(decision), call)) return letIn(decision, call);
	const slip = await ask({ sessionId: visitor.sessionId, request: request.query.toString() }, call);
	return consentPage(page, { email: visitor.email, scopes: decision.scopes, slip, alert });
}

/** Returns the requested scopes that the visitor holds. @throws access_denied when there is none */
function holdable({ scopes }: AuthorizationRequest, { caller }: Visitor): Scope[] {
	const held = scopes.filter((scope) => caller?.scopes.includes(scope));
	if (held.length === 0) throw new OAuthFault('access_denied', 'the user does not have any of the requested scopes');
	return held;
}

async function logIn(form: Parameters, asked: AuthorizationRequest, { request, call }: PageContext): Promise<Reply> {
	const page = pageOf(request, asked, call);
	const email = form.get('email') ?? '';
	try {
		const entered = await call.identity.logIn(request, email, form.get('password') ?? '');
		if (!entered) return loginPage(page, { email, alert: 'E-mail address or password is wrong.', isWrong: true });
		// A redirect to the consent page, so that reloading it does not send the password again.
		return { status: 303, headers: { location: page.action, 'set-cookie': entered.cookie, 'cache-control': 'no-store' } };
	} catch (thrown) {
		return orWait(thrown, request, (alert) => loginPage(page, { email, alert }));
	}
}

async function settle(form: Parameters, { asked, visitor }: Omit<Decision, 'scopes'>, context: PageContext): Promise<Reply> {
	const { request, call } = context;
	const { sessionId } = visitor;
	const isAnswer = await isAnswerTo(form.get('slip') ?? '', { sessionId, request: request.query.toString() }, call);
	// The form was sent twice or has expired, so the page asks again.
	if (!isAnswer || !visitor.caller) return decide(asked, visitor, { ...context, alert: AGAIN });
	const scopes = holdable(asked, visitor);
	if (form.get('action') !== 'allow') {
		await withdraw(asked.client, visitor.userId, call);
		throw new OAuthFault('access_denied', NOT_AGREED);
	}
	await agree(asked.client, agreementOf({ asked, visitor, scopes }), call);
	return letIn({ asked, visitor, scopes }, call);
}

const agreementOf = ({ visitor: { userId, email, caller }, scopes }: Decision) => ({
	userId,
	email,
	scopes,
	since: caller?.memberSince ?? null,
});

async function letIn({ asked, visitor, scopes }: Decision, call: Call): Promise<Reply> {
	const { client, redirectUri, isRedirectNamed, challenge } = asked;
	const approval = { clientId: client.id, userId: visitor.userId, email: visitor.email, redirectUri, isRedirectNamed, challenge, scopes };
	return redirectTo(asked, { code: await issueCode(approval, call) }, gatewayUrl(call));
}
