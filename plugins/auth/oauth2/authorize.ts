// The authorization endpoint (OAuth 2.1 §4.1): a member of the gateway's organization lets a client in, on pages of ours.

import type { Call, Incoming, Reply, Scope, Visitor } from '../../../core/index.ts';
import { type AuthorizationRequest, redirectTo } from './authorization-request.ts';
import { issueCode } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { agree, ask, isAgreed, isAnswerTo, withdraw } from './consents.ts';
import { OAuthFault } from './faults.ts';
import { gatewayUrl } from './metadata.ts';
import { consentPage, loginPage, strangerPage } from './pages/pages.ts';
import { answeringForm, NOT_AGREED, orWait, pageOf, type Surroundings, visiting } from './pages/visit.ts';
import type { Parameters } from './parameters.ts';

/** A request of a client that may ask, and the login of who is to decide. */
interface Decision {
	asked: AuthorizationRequest;
	visitor: Visitor;
	/** What was asked for and the visitor has to give. */
	scopes: Scope[];
}

const AGAIN = 'This page had been answered before, or was open for too long. Decide once more.';

export const authorize = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	visiting({ request, config, call }, async (asked) => {
		const visitor = await call.identity.visitor(request);
		if (!visitor) return loginPage(pageOf(request, asked, call));
		return decide(asked, visitor, { request, config, call });
	});

/** The forms of the pages come back here, with the query of the request that they are about. */
export const answerForm = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answeringForm({ request, config, call }, async (asked, form) => {
		const surroundings = { request, config, call };
		if (form.get('action') === 'login') return logIn(form, asked, surroundings);
		const page = pageOf(request, asked, call);
		if (form.get('action') === 'switch') return loginPage(page);
		const visitor = await call.identity.visitor(request);
		if (!visitor) return loginPage(page, { alert: 'Your login has ended, and nothing was decided. Log in once more.' });
		return settle(form, { asked, visitor }, surroundings);
	});

/** @param alert why it is asked once more, if it is */
async function decide(
	asked: AuthorizationRequest,
	visitor: Visitor,
	{ request, call, alert }: Surroundings & { alert?: string },
): Promise<Reply> {
	const page = pageOf(request, asked, call);
	if (!visitor.caller) return strangerPage(page, visitor.email);
	const decision = { asked, visitor, scopes: holdable(asked, visitor) };
	if (await isAgreed(asked.client, agreementOf(decision), call)) return letIn(decision, call);
	const slip = await ask({ sessionId: visitor.sessionId, request: request.query.toString() }, call);
	return consentPage(page, { email: visitor.email, scopes: decision.scopes, slip, alert });
}

/** @throws access_denied when nothing is left of what was asked for */
function holdable({ scopes }: AuthorizationRequest, { caller }: Visitor): Scope[] {
	const held = scopes.filter((scope) => caller?.scopes.includes(scope));
	if (held.length === 0) throw new OAuthFault('access_denied', 'the user may not do any of this');
	return held;
}

async function logIn(form: Parameters, asked: AuthorizationRequest, { request, call }: Surroundings): Promise<Reply> {
	const page = pageOf(request, asked, call);
	const email = form.get('email') ?? '';
	try {
		const entered = await call.identity.logIn(request, email, form.get('password') ?? '');
		if (!entered) return loginPage(page, { email, alert: 'E-mail address or password is wrong.', isWrong: true });
		// To the page that asks, so that reloading it sends no password.
		return { status: 303, headers: { location: page.action, 'set-cookie': entered.cookie, 'cache-control': 'no-store' } };
	} catch (thrown) {
		return orWait(thrown, request, (alert) => loginPage(page, { email, alert }));
	}
}

async function settle(form: Parameters, { asked, visitor }: Omit<Decision, 'scopes'>, surroundings: Surroundings): Promise<Reply> {
	const { request, call } = surroundings;
	const { sessionId } = visitor;
	const isAnswer = await isAnswerTo(form.get('slip') ?? '', { sessionId, request: request.query.toString() }, call);
	// Sent twice, or long after: the page asks anew.
	if (!isAnswer || !visitor.caller) return decide(asked, visitor, { ...surroundings, alert: AGAIN });
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
