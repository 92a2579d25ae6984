// POST /apis/:id/credentials/test: sends one request with each stored credential to see whether the API accepts it.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type ApiRow,
	asGatewayError,
	body,
	type Core,
	CREDENTIALS,
	type CredentialNeed,
	type CredentialRow,
	type CredentialType,
	clientSignal,
	count,
	GatewayError,
	invalid,
	isCredentialType,
	notFound,
	type OutboundRequest,
	type OutboundResponse,
	operation,
	shape,
	statusLine,
	text,
} from '../../../core/features.ts';
import { SCHEME } from './credentials.ts';
import { findApi } from './find.ts';

const TIMEOUT_MS = 10_000;
/** The limit on the body, which is not shown. A larger one counts as success too. */
const MAX_BYTES = 1024 * 1024;

const BODY = body({
	type: Joi.string()
		.valid(...Object.keys(CREDENTIALS))
		.description('Type of the credentials to test. When absent: all that are stored.'),
	scheme: SCHEME.description('Scheme of the credentials to test; when absent: all.'),
	path: Joi.string()
		.max(2048)
		.pattern(/^\/(?!\/)[^#\\\s]*$/, 'a path that begins with one slash')
		.description(
			'A path that requires authentication, with a query if needed; it is appended to the base URL. When absent: the base URL itself.',
		),
}).example({ type: 'api_key', path: '/me' });

const STATUSES = ['ok', 'refused', 'unreachable'] as const;
type Status = (typeof STATUSES)[number];

const status = Joi.string().valid(...STATUSES);

const RESULT = shape({
	type: Joi.string(),
	scheme: text.allow(null),
	status: status.description(
		'`ok`: the API did not refuse the credential. `refused`: it did, or the token server issued no token. `unreachable`: the test was inconclusive.',
	),
	origin: Joi.string().description('The origin that the credential was sent to.'),
	httpStatus: Joi.number().integer().allow(null).description('Status of the API’s answer; null without one.'),
	duration: count.description('Milliseconds.'),
	message: text.description('The result in a sentence.'),
});

interface Result {
	type: string;
	scheme: string | null;
	status: Status;
	origin: string;
	httpStatus: number | null;
	duration: number;
	message: string;
}

export const testCredentials = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/apis/{id}/credentials/test',
		id: 'testApiCredentials',
		summary: 'Tests the stored credentials: one GET with each, after requesting a new token where the type has tokens.',
		description:
			'An API that cannot be called is a result, not an error. Neither secrets nor the API’s body are shown. A status that says ' +
			'nothing about the credential, such as 404, counts as `ok`: give a `path` that only authenticated callers may read.',
		need: 'apis:write',
		body: BODY,
		bodyIs: 'optional',
		answer: shape({ status: status.description('The worst status of the results.'), results: Joi.array().items(RESULT) }),
		errors: ['secret_unreadable'],
		slow: true,
		handler: (request) => test(request, core),
	});

async function test(request: Request, core: Core): Promise<{ status: Status; results: Result[] }> {
	// The body has passed BODY.
	const { type, scheme, path } = request.payload as { type?: string; scheme?: string; path?: string };
	const api = await findApi(request, core);
	const url = urlOf(api, path);
	const stored = await core.store.apis.credentials(api.organizationId, api.id);
	const rows = stored.filter((row) => (type === undefined || row.type === type) && (scheme === undefined || row.scheme === scheme));
	if (rows.length === 0) throw notFound(type === undefined ? 'A credential of the API' : `A credential of type ${type}`);
	const signal = clientSignal(request);
	const results = await Promise.all(rows.map((row) => tryOne({ core, api, row, url, signal })));
	const worst = STATUSES.findLast((one) => results.some((result) => result.status === one)) ?? 'ok';
	return { status: worst, results };
}

/** Joins the path to the base URL. @throws validation_failed when the path leads out of the base URL */
function urlOf({ baseUrl }: ApiRow, path: string | undefined): string {
	if (path === undefined) return baseUrl;
	const base = new URL(baseUrl);
	const prefix = base.pathname.replace(/\/+$/, '');
	const url = URL.parse(base.origin + prefix + path);
	const [pathname = ''] = path.split('?');
	const climbs = pathname.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
	if (url === null || climbs || url.origin !== base.origin || !url.pathname.startsWith(prefix))
		throw invalid('/path', '"path" must stay below the base URL: it may not hold . or .. segments.');
	return url.href;
}

interface Trying {
	core: Core;
	api: ApiRow;
	row: CredentialRow;
	url: string;
	signal: AbortSignal;
}

async function tryOne(trying: Trying): Promise<Result> {
	const { core, api, row, url, signal } = trying;
	const started = performance.now();
	const result = (found: Pick<Result, 'status' | 'httpStatus' | 'message'>): Result => ({
		...{ type: row.type, scheme: row.scheme, origin: new URL(url).origin, duration: Math.round(performance.now() - started) },
		...found,
	});
	let isSigned = false;
	try {
		const request = await sign(trying);
		isSigned = true;
		const answer = await core.egress.of(api.organizationId).request({ ...request, signal }, assertSameOrigin(url));
		return result({ ...judged(answer), httpStatus: answer.status });
	} catch (error) {
		signal.throwIfAborted();
		const known = asGatewayError(error);
		// Failures of the database and of the service itself are not reported as the upstream's.
		if (!known || !TELLABLE.includes(known.code)) throw error;
		const isRefusal = !isSigned && known.code === 'upstream_failed';
		return result({ status: isRefusal ? 'refused' : 'unreachable', httpStatus: null, message: known.message });
	}
}

const TELLABLE: readonly string[] = ['upstream_failed', 'upstream_timeout', 'egress_refused', 'validation_failed'];

/** Signs the request with a token that was fetched for this test. */
async function sign({ core, api, row, url }: Trying): Promise<OutboundRequest> {
	const request: OutboundRequest = { method: 'GET', url, headers: { accept: '*/*' }, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
	const security = isCredentialType(row.type) ? [[needOf(row.type, row.scheme)]] : [];
	const signature = await core.signer.sign({ ...request, security }, api, [row]);
	if (!signature.token || signature.token.isNew) return signature.request;
	await signature.token.renew();
	return (await core.signer.sign({ ...request, security }, api, [row])).request;
}

const needOf = (type: CredentialType, scheme: string | null): CredentialNeed => (scheme === null ? type : { scheme, type });

/** Refuses redirects to another origin: that request would go without the credential, and its answer would prove nothing. */
const assertSameOrigin =
	(url: string) =>
	(next: URL): void => {
		if (next.origin !== new URL(url).origin)
			throw new GatewayError('upstream_failed', `The API redirected to ${next.origin}, to which the credential is not sent.`);
	};

function judged({ status: code }: OutboundResponse): Pick<Result, 'status' | 'message'> {
	const line = statusLine(code);
	if (code === 401 || code === 403)
		return { status: 'refused', message: `The API answered ${line}: it does not accept the credential here.` };
	if (code === 429 || code >= 500)
		return { status: 'unreachable', message: `The API answered ${line}, which says nothing about the credential.` };
	if (code >= 400)
		return { status: 'ok', message: `The API answered ${line}: it did not refuse the credential, but may not have checked it.` };
	return { status: 'ok', message: `The API answered ${line}.` };
}
