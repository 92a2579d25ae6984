// The steps that every page shares: the client's request, the origin of its form, and the handling of errors.

import { asGatewayError, type Call, GatewayError, type Incoming, type Reply } from '../../../../core/index.ts';
import {
	type AuthorizationRequest,
	answerUrl,
	type Destination,
	readDestination,
	readRequest,
	redirectTo,
} from '../authorization-request.ts';
import type { OAuthConfig } from '../config.ts';
import { answering, OAuthFault } from '../faults.ts';
import { Parameters } from '../parameters.ts';
import { faultPage, leavingPage, type Page, troublePage } from './pages.ts';

export interface PageContext {
	request: Incoming;
	config: OAuthConfig;
	call: Call;
}

type Answer = (asked: AuthorizationRequest) => Promise<Reply>;

/** The `error_description` that the client receives. */
export const NOT_AGREED = 'the user did not agree';
/** The headers that core sends with a 429 that no window caused. */
const USUAL = { 'retry-after': '1', 'x-ratelimit-remaining': '0' };

/** Answers a request. Its faults go to the client, unless the client or its redirect URI is what is wrong. */
export async function visiting(context: PageContext, answer: Answer): Promise<Reply> {
	const { request, config, call } = context;
	const parameters = new Parameters(request.query);
	let destination: Destination;
	try {
		destination = await readDestination(parameters, config, call);
	} catch (thrown) {
		if (!(thrown instanceof OAuthFault)) throw thrown;
		return wantsPage(request) ? faultPage(call.gateway, thrown.description) : answering(() => Promise.reject(thrown));
	}
	try {
		return await answer(readRequest(parameters, destination, request));
	} catch (thrown) {
		if (thrown instanceof OAuthFault) return sendFault(thrown, destination, request);
		return troubled(thrown, request, pageOf(request, destination, call));
	}
}

/** Answers a form, which is accepted only from our own pages. */
export async function answeringForm(
	context: PageContext,
	answer: (asked: AuthorizationRequest, form: Parameters) => Promise<Reply>,
): Promise<Reply> {
	const { request } = context;
	const reply = await visiting(context, async (asked) => {
		assertOwnPage(request);
		return answer(asked, new Parameters(request.body instanceof URLSearchParams ? request.body : new URLSearchParams()));
	});
	// Chromium applies `form-action` to every redirect that follows a form, including the client's own, whose targets are unknown.
	return reply.status === 303 ? leavingPage(reply) : reply;
}

/**
 * Tells whether the requester wants HTML. A program may check that its registration still exists before it sends its user here, and cannot
 * read a page.
 */
const wantsPage = ({ headers: { accept = '' } }: Incoming): boolean => accept.includes('text/html') || !accept.includes('json');

const sendFault = ({ error, description }: OAuthFault, destination: Destination, { base }: Incoming): Reply =>
	redirectTo(destination, { error, error_description: description }, base);

/** Checks the form's origin: a page of another site can make a browser send a form, but not with our origin. */
function assertOwnPage({ origin, publicUrl }: Incoming): void {
	if (origin.value !== publicUrl) throw new GatewayError('forbidden', `This form is taken only from pages of ${publicUrl}.`);
}

/** Shows people as a page what core would answer as JSON. @throws every error that is no fault of the request, and all errors for programs */
function troubled(thrown: unknown, request: Incoming, page: Page): Reply {
	const error = asGatewayError(thrown);
	if (!error || error.code === 'internal' || !wantsPage(request)) throw thrown;
	const reply = troublePage(page, error);
	return { ...reply, headers: { ...reply.headers, ...error.headers } };
}

/** Shows the page again with the time to wait. @throws every error other than too many requests, and all errors for programs */
export function orWait(thrown: unknown, request: Incoming, page: (alert: string) => Reply): Reply {
	const error = asGatewayError(thrown);
	if (error?.code !== 'rate_limited' || !wantsPage(request)) throw thrown;
	const headers = { ...USUAL, ...error.headers };
	const minutes = Math.ceil(Number(headers['retry-after']) / 60);
	const reply = page(`Too many attempts. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`);
	return { ...reply, status: error.status, headers: { ...reply.headers, ...headers } };
}

export function pageOf(request: Incoming, asked: Destination, call: Call): Page {
	const path = `${new URL(request.base).pathname}/authorize`;
	const { client, redirectUri } = asked;
	return {
		gateway: call.gateway,
		client,
		redirectUri,
		action: `${path}?${request.query}`,
		forgotten: `${path}/forgotten-password?${request.query}`,
		// RFC 6749 §4.1.2.1: "If the resource owner denies the access request […] the authorization server informs the client".
		back: answerUrl(asked, { error: 'access_denied', error_description: NOT_AGREED }, request.base),
	};
}
