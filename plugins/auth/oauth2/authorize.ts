// The authorization endpoint (OAuth 2.1 §4.1): a member of the gateway's organization lets a client in, on pages of ours.

import { type Call, GatewayError, type Incoming, type Reply, type Scope, type Visitor } from '../../../core/index.ts';
import { type AuthorizationRequest, type Destination, readDestination, readRequest, redirectTo } from './authorization-request.ts';
import { issueCode } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { agree, ask, isAgreed, isAnswerTo, withdraw } from './consents.ts';
import { answering, OAuthFault } from './faults.ts';
import { gatewayUrl } from './metadata.ts';
import { consentPage, faultPage, leavingPage, loginPage, strangerPage } from './pages.ts';
import { Parameters } from './parameters.ts';

interface Surroundings {
	request: Incoming;
	config: OAuthConfig;
	call: Call;
}

/** A request of a client that may ask, and the login of who is to decide. */
interface Decision {
	asked: AuthorizationRequest;
	visitor: Visitor;
	/** What was asked for and the visitor has to give. */
	scopes: Scope[];
}

export const authorize = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	atDestination({ request, config, call }, async (asked) => {
		const visitor = await call.identity.visitor(request);
		if (!visitor) return loginPage(pageOf(request, asked, call));
		return decide(asked, visitor, { request, config, call });
	});

/** The forms of the pages come back here, with the query of the request that they are about. */
export async function answerForm(request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> {
	const reply = await atDestination({ request, config, call }, async (asked) => {
		assertOwnPage(request);
		const form = new Parameters(request.body instanceof URLSearchParams ? request.body : new URLSearchParams());
		const surroundings = { request, config, call };
		if (form.get('action') === 'login') return logIn(form, asked, surroundings);
		const visitor = await call.identity.visitor(request);
		if (!visitor || form.get('action') === 'switch') return loginPage(pageOf(request, asked, call));
		return settle(form, { asked, visitor }, surroundings);
	});
	// Redirects after a form are held to `form-action` in Chromium, the client's own as well, and nobody knows where those lead.
	return reply.status === 303 ? leavingPage(reply) : reply;
}

/** What is wrong with the request goes to the client, unless it is wrong who or where the client is. */
async function atDestination(
	{ request, config, call }: Surroundings,
	answer: (asked: AuthorizationRequest) => Promise<Reply>,
): Promise<Reply> {
	const parameters = new Parameters(request.query);
	let destination: Destination;
	try {
		destination = await readDestination(parameters, config, call);
	} catch (thrown) {
		if (!(thrown instanceof OAuthFault)) throw thrown;
		return wantsPage(request) ? faultPage(thrown.description) : answering(() => Promise.reject(thrown));
	}
	try {
		return await answer(readRequest(parameters, destination, call));
	} catch (thrown) {
		if (thrown instanceof OAuthFault) return sendFault(thrown, destination, call);
		throw thrown;
	}
}

/** A program may ask whether its registration still stands before it sends its user here: of a page it would learn nothing. */
const wantsPage = ({ headers: { accept = '' } }: Incoming): boolean => accept.includes('text/html') || !accept.includes('json');

const sendFault = ({ error, description }: OAuthFault, destination: Destination, call: Call): Reply =>
	redirectTo(destination, { error, error_description: description }, gatewayUrl(call));

async function decide(asked: AuthorizationRequest, visitor: Visitor, { request, call }: Surroundings): Promise<Reply> {
	const page = pageOf(request, asked, call);
	if (!visitor.caller) return strangerPage(page, visitor.email);
	const decision = { asked, visitor, scopes: holdable(asked, visitor) };
	if (await isAgreed(asked.client, agreementOf(decision), call)) return letIn(decision, call);
	const slip = await ask({ sessionId: visitor.sessionId, request: request.query.toString() }, call);
	return consentPage(page, { email: visitor.email, scopes: decision.scopes, slip });
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
		if (!entered) return loginPage(page, { email, fault: 'E-mail address or password is wrong.' });
		// To the page that asks, so that reloading it sends no password.
		return { status: 303, headers: { location: page.action, 'set-cookie': entered.cookie, 'cache-control': 'no-store' } };
	} catch (thrown) {
		// Programs get what specification 7 says of every 429.
		const isLimited = thrown instanceof GatewayError && thrown.code === 'rate_limited';
		if (!isLimited || !wantsPage(request)) throw thrown;
		const limited = loginPage(page, { email, fault: 'Too many attempts. Wait a few minutes, then try again.' });
		return { ...limited, status: thrown.status, headers: { ...limited.headers, ...thrown.headers } };
	}
}

async function settle(form: Parameters, { asked, visitor }: Omit<Decision, 'scopes'>, surroundings: Surroundings): Promise<Reply> {
	const { request, call } = surroundings;
	const { sessionId } = visitor;
	const isAnswer = await isAnswerTo(form.get('slip') ?? '', { sessionId, request: request.query.toString() }, call);
	// Sent twice, or long after: the page asks anew.
	if (!isAnswer || !visitor.caller) return decide(asked, visitor, surroundings);
	const scopes = holdable(asked, visitor);
	if (form.get('action') !== 'allow') {
		await withdraw(asked.client, visitor.userId, call);
		throw new OAuthFault('access_denied', 'the user did not agree');
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

/** A page elsewhere can make a browser send a form, but not under our name. */
function assertOwnPage({ origin, publicUrl }: Incoming): void {
	if (origin.value !== publicUrl) throw new GatewayError('forbidden', `This form is taken only from pages of ${publicUrl}.`);
}

function pageOf(request: Incoming, { client, redirectUri }: AuthorizationRequest, call: Call) {
	const { pathname } = new URL(gatewayUrl(call));
	return { action: `${pathname}/authorize?${request.query}`, client, redirectUri, gatewayName: call.gateway?.name ?? '' };
}
