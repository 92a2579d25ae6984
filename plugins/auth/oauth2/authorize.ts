// The authorization endpoint (OAuth 2.1 §4.1): a member of the gateway's organization allows a client, on pages of ours.

import type { Call, Incoming, Reply, Scope, Visitor } from '../../../core/index.ts';
import { type AuthorizationRequest, redirectTo } from './authorization-request.ts';
import { type Choice, choicesOf } from './choices.ts';
import { isProgram } from './clients/redirect-uris.ts';
import { issueCode } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { agree, answerBy, ask, isAgreed, withdraw } from './consents.ts';
import { OAuthFault } from './faults.ts';
import { consentPage, loginPage, strangerPage } from './pages/pages.ts';
import { answeringForm, NOT_AGREED, orWait, type PageContext, pageOf, visiting } from './pages/visit.ts';
import type { Parameters } from './parameters.ts';
import { named } from './places.ts';

/** A valid request of a client, and the logged-in user who decides about it. */
interface Decision {
	asked: AuthorizationRequest;
	visitor: Visitor;
	/** The place that the decision is for. */
	choice: Choice;
	/** The requested scopes that the visitor holds there. */
	scopes: Scope[];
}

const AGAIN = 'This page was answered before, or was open for too long. Please decide again.';
const CHOOSE = 'Choose the organization that the program may work in.';

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

/**
 * Shows the consent page, or redirects at once if the user has agreed before, the client is proven, and there is nothing to choose.
 * @param alert why the user is asked again
 * @param isHeard whether the user agrees now, and may just have been heard
 */
async function decide(
	asked: AuthorizationRequest,
	visitor: Visitor,
	{ request, call, alert, isHeard = false }: PageContext & { alert?: string; isHeard?: boolean },
): Promise<Reply> {
	const page = pageOf(request, asked, call);
	const choices = await choicesOf(visitor, call);
	const [first, second] = choices;
	if (!first) return strangerPage(page, visitor.email);
	const scopes = [...new Set(choices.flatMap((choice) => held(asked, choice)))];
	if (scopes.length === 0) throw nothingHeld();
	if (!second && (isHeard || isProven(asked))) {
		const decision = { asked, visitor, choice: first, scopes };
		if (await isAgreed(asked.client, agreementOf(decision), first.context)) return letIn(decision, request);
	}
	// The slip is kept in the first of the places, whichever is chosen later.
	const slip = await ask({ sessionId: visitor.sessionId, request: request.query.toString() }, first.context);
	return consentPage(page, { email: visitor.email, scopes, slip, alert, choices: call.organizations ? choices : [] });
}

/**
 * Tells whether nobody but the client can use the answer. Any program on the user's machine may ask in the name of a public client that is there,
 * too, so its user is asked each time (RFC 8252 §8.6, "the request SHOULD be processed as if no previous request had been approved").
 */
const isProven = ({ client, redirectUri }: AuthorizationRequest): boolean => client.method !== 'none' || !isProgram(redirectUri);

/** Returns the requested scopes that the visitor holds at a place. */
const held = ({ scopes }: AuthorizationRequest, { caller }: Choice): Scope[] => scopes.filter((scope) => caller.scopes.includes(scope));

const nothingHeld = (): OAuthFault => new OAuthFault('access_denied', 'the user does not have any of the requested scopes');

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

async function settle(form: Parameters, { asked, visitor }: Pick<Decision, 'asked' | 'visitor'>, context: PageContext): Promise<Reply> {
	const { request, call } = context;
	const { sessionId } = visitor;
	const choices = await choicesOf(visitor, call);
	const [first, second] = choices;
	const answer = first && (await answerBy(form.get('slip') ?? '', { sessionId, request: request.query.toString() }, first.context));
	// The form was sent twice or has expired, so the page asks again, unless the other one has been heard.
	const isHeard = answer === 'repeated' && form.get('action') === 'allow';
	if (answer !== 'first') return decide(asked, visitor, { ...context, alert: AGAIN, isHeard });
	const choice = second ? choices.find(({ organization }) => organization?.id === form.get('organization')) : first;
	if (form.get('action') !== 'allow') {
		if (choice) await withdraw(asked.client, visitor.userId, choice.context);
		throw new OAuthFault('access_denied', NOT_AGREED);
	}
	if (!choice) return decide(asked, visitor, { ...context, alert: CHOOSE });
	const scopes = held(asked, choice);
	if (scopes.length === 0) throw nothingHeld();
	await agree(asked.client, agreementOf({ asked, visitor, choice, scopes }), choice.context);
	return letIn({ asked, visitor, choice, scopes }, request);
}

const agreementOf = ({ asked: { redirectUri }, visitor: { userId, email }, choice: { caller }, scopes }: Decision) => ({
	userId,
	email,
	redirectUri,
	scopes,
	since: caller.memberSince ?? null,
});

async function letIn({ asked, visitor, choice, scopes }: Decision, { base }: Incoming): Promise<Reply> {
	const { client, redirectUri, challenge } = asked;
	const approval = { clientId: client.id, userId: visitor.userId, email: visitor.email, redirectUri, challenge, scopes };
	const code = named(await issueCode(approval, choice.context), choice.organization?.id ?? null);
	return redirectTo(asked, { code }, base);
}
