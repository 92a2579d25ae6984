// The beginning and the end of every page: the client's request that it is about, the origin of its form, and a way out of what goes wrong.

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
import { gatewayOf, gatewayUrl } from '../metadata.ts';
import { Parameters } from '../parameters.ts';
import { faultPage, leavingPage, type Page, troublePage } from './pages.ts';

export interface Surroundings {
	request: Incoming;
	config: OAuthConfig;
	call: Call;
}

type Answer = (asked: AuthorizationRequest) => Promise<Reply>;

/** Told to the client, as `error_description`. */
export const NOT_AGREED = 'the user did not agree';
/** The same as core says of a 429 for which no window is the reason. */
const USUAL = { 'retry-after': '1', 'x-ratelimit-remaining': '0' };

/** A fault of the request goes to the client, unless it is wrong who or where the client is. */
export async function visiting(surroundings: Surroundings, answer: Answer): Promise<Reply> {
	const { request, config, call } = surroundings;
	const parameters = new Parameters(request.query);
	let destination: Destination;
	try {
		destination = await readDestination(parameters, config, call);
	} catch (thrown) {
		if (!(thrown instanceof OAuthFault)) throw thrown;
		return wantsPage(request) ? faultPage(gatewayOf(call), thrown.description) : answering(() => Promise.reject(thrown));
	}
	try {
		return await answer(readRequest(parameters, destination, call));
	} catch (thrown) {
		if (thrown instanceof OAuthFault) return sendFault(thrown, destination, call);
		return troubled(thrown, request, pageOf(request, destination, call));
	}
}

/** The answer to a form, which is taken from pages of ours only. */
export async function answeringForm(
	surroundings: Surroundings,
	answer: (asked: AuthorizationRequest, form: Parameters) => Promise<Reply>,
): Promise<Reply> {
	const { request } = surroundings;
	const reply = await visiting(surroundings, async (asked) => {
		assertOwnPage(request);
		return answer(asked, new Parameters(request.body instanceof URLSearchParams ? request.body : new URLSearchParams()));
	});
	// Redirects after a form are held to `form-action` in Chromium, the client's own as well, and nobody knows where those lead.
	return reply.status === 303 ? leavingPage(reply) : reply;
}

/** A program may ask whether its registration still stands before it sends its user here: of a page it would learn nothing. */
const wantsPage = ({ headers: { accept = '' } }: Incoming): boolean => accept.includes('text/html') || !accept.includes('json');

const sendFault = ({ error, description }: OAuthFault, destination: Destination, call: Call): Reply =>
	redirectTo(destination, { error, error_description: description }, gatewayUrl(call));

/** A page elsewhere can make a browser send a form, but not under our name. */
function assertOwnPage({ origin, publicUrl }: Incoming): void {
	if (origin.value !== publicUrl) throw new GatewayError('forbidden', `This form is taken only from pages of ${publicUrl}.`);
}

/** People get a page of what core would say as JSON. @throws what is no fault of the request, and for programs all of it */
function troubled(thrown: unknown, request: Incoming, page: Page): Reply {
	const error = asGatewayError(thrown);
	if (!error || error.code === 'internal' || !wantsPage(request)) throw thrown;
	const reply = troublePage(page, error);
	return { ...reply, headers: { ...reply.headers, ...error.headers } };
}

/** The page once more, that says how long to wait. @throws what is another fault than too many requests, and for programs that as well */
export function orWait(thrown: unknown, request: Incoming, page: (alert: string) => Reply): Reply {
	const error = asGatewayError(thrown);
	if (error?.code !== 'rate_limited' || !wantsPage(request)) throw thrown;
	const headers = { ...USUAL, ...error.headers };
	const minutes = Math.ceil(Number(headers['retry-after']) / 60);
	const reply = page(`Too many attempts. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`);
	return { ...reply, status: error.status, headers: { ...reply.headers, ...headers } };
}

export function pageOf(request: Incoming, asked: Destination, call: Call): Page {
	const path = `${new URL(gatewayUrl(call)).pathname}/authorize`;
	const { client, redirectUri } = asked;
	return {
		gateway: gatewayOf(call),
		client,
		redirectUri,
		action: `${path}?${request.query}`,
		forgotten: `${path}/forgotten-password?${request.query}`,
		// RFC 6749 §4.1.2.1: "If the resource owner denies the access request […] the authorization server informs the client".
		back: answerUrl(asked, { error: 'access_denied', error_description: NOT_AGREED }, gatewayUrl(call)),
	};
}
