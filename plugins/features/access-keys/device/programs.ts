// The part of the program that logs in (RFC 8628 §3.1 to §3.5): it gets a code for its user, asks until the user has decided, and ends its key
// (RFC 7009). Answers have OAuth's form.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	asGatewayError,
	body,
	type Core,
	cleanText,
	clientOf,
	GatewayError,
	hashKey,
	mediaTypeOf,
	operation,
	readBody,
	shape,
	uuid,
} from '../../../../core/features.ts';
import { mint, reachOf } from '../minting.ts';
import { type DeviceFlow, type Grant, INTERVAL_SECONDS } from './flow.ts';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const MAX_BYTES = 8192;
const MAX_NAME = 60;
const FORMS = ['application/x-www-form-urlencoded', 'application/json'];
const FORM =
	'The body is a form (`application/x-www-form-urlencoded`) or JSON. Failures have OAuth’s form: `error` and `error_description`.';

const faultFields = {
	error: Joi.string().optional().description('Present in failures only.'),
	error_description: Joi.string().optional(),
};

const AUTHORIZE = body({
	client_id: Joi.string()
		.max(200)
		.required()
		.description('The name of the program, which is shown to the user as one that was not checked.'),
	device_name: Joi.string().max(200).description('The name of the machine, for the same purpose.'),
	scope: Joi.string().allow('').max(1000).description('Ignored: the user chooses.'),
}).example({ client_id: 'gatehouse-proxy', device_name: 'laptop' });

const AUTHORIZED = Joi.object({
	device_code: Joi.string().description('The program’s secret, for `POST /device/token`.').example('device_...'),
	user_code: Joi.string().description('The code that the user compares or types.').example('BCDF-GHJK'),
	verification_uri: Joi.string().description('The page for the user.'),
	verification_uri_complete: Joi.string().description('The page with the code filled in.'),
	expires_in: Joi.number().integer().description('In seconds.'),
	interval: Joi.number().integer().description('Seconds between two requests of `POST /device/token`.'),
	...faultFields,
}).unknown();

const TOKEN = body({
	grant_type: Joi.string().valid(GRANT_TYPE).required(),
	device_code: Joi.string().max(200).required(),
	client_id: Joi.string().max(200),
});

const TOKEN_ANSWER = Joi.object({
	access_token: Joi.string().description('An access key, shown in this answer only.').example('ak_live_...'),
	token_type: Joi.string().valid('Bearer'),
	scope: Joi.string().allow('').description('Its permissions, separated by blanks; absent when it has all of its owner.'),
	key_id: uuid.description('The id of the key, as `GET /access-keys` shows it.'),
	email: Joi.string().description('Address of the user.'),
	organization: shape({ id: uuid, slug: Joi.string(), name: Joi.string() })
		.allow(null)
		.optional()
		.description('The organization that the user chose.'),
	...faultFields,
}).unknown();

const REVOKE = body({ token: Joi.string().max(200).required(), token_type_hint: Joi.string().max(200) }).example({ token: 'ak_live_...' });

/** A refusal in OAuth's form (RFC 6749 §5.2). */
class Fault extends Error {
	readonly code: string;
	constructor(code: string, description: string) {
		super(description);
		this.code = code;
	}
}

export const programRoutes = (core: Core, flow: DeviceFlow): ServerRoute[] => [
	operation({
		method: 'POST',
		path: '/device/authorize',
		id: 'beginDeviceLogin',
		summary: 'Begins the login of a program without a browser of its own (RFC 8628).',
		description: FORM,
		need: 'public',
		addressLimit: { max: 30, seconds: 300 },
		body: AUTHORIZE,
		bodyIs: 'unread',
		bare: true,
		answer: AUTHORIZED,
		alsoAnswers: { 400: '`invalid_request`: a field is missing or wrong.' },
		handler: (request) => answering(request, () => begin(request, core, flow)),
	}),
	operation({
		method: 'POST',
		path: '/device/token',
		id: 'finishDeviceLogin',
		summary: 'Answers with an access key once the user has allowed it.',
		description: `${FORM} The key is given once.`,
		need: 'public',
		limit: POLLS,
		body: TOKEN,
		bodyIs: 'unread',
		bare: true,
		answer: TOKEN_ANSWER,
		alsoAnswers: {
			400:
				'`authorization_pending`: the user has not decided yet. `slow_down`: wait 5 seconds longer between requests. `access_denied`: the user ' +
				'did not allow it. `expired_token`: the code is over, unknown or used. `invalid_request`, `unsupported_grant_type`: the request is wrong.',
		},
		handler: (request) => answering(request, () => finish(request, core, flow)),
	}),
	operation({
		method: 'POST',
		path: '/device/revoke',
		id: 'revokeOwnAccessKey',
		summary: 'Revokes the access key that it is sent (RFC 7009).',
		description: `${FORM} A key that is unknown or revoked is no failure.`,
		need: 'public',
		addressLimit: { max: 30, seconds: 300 },
		body: REVOKE,
		bodyIs: 'unread',
		bare: true,
		answer: Joi.object(faultFields).unknown(),
		alsoAnswers: { 400: '`invalid_request`: the token is missing.' },
		handler: (request) => answering(request, () => revoke(request, core)),
	}),
];

/** The limit class of programs that wait: several at one address ask every five seconds. */
export const POLLS = 'device-polls';

async function answering(request: Request, work: () => Promise<object>): Promise<unknown> {
	const answer = (given: object, status = 200) =>
		request.generateResponse(given).code(status).type('application/json').header('cache-control', 'no-store');
	try {
		return answer(await work());
	} catch (thrown) {
		const fault = thrown instanceof Fault ? thrown : faultOf(thrown);
		return answer({ error: fault.code, error_description: fault.message }, 400);
	}
}

/** @throws whatever is no fault of the request's fields */
function faultOf(thrown: unknown): Fault {
	const error = asGatewayError(thrown);
	if (error?.code !== 'validation_failed') throw thrown;
	return new Fault('invalid_request', error.message);
}

async function begin(request: Request, core: Core, flow: DeviceFlow) {
	const { client_id: client, device_name: device } = await fieldsOf<{ client_id: string; device_name?: string }>(request, AUTHORIZE);
	const names = [client, device ?? '']
		.map((name) => cleanText(name, MAX_NAME).replaceAll(/\s+/g, ' ').trim())
		.filter((name) => name !== '');
	const { deviceCode, userCode, expiresInSeconds } = await flow.begin(names.join(' on ') || 'A program');
	const { host } = request.raw.req.headers;
	const { publicUrls } = core.config;
	const page = `${publicUrls.find((url) => new URL(url).host === host?.toLowerCase()) ?? publicUrls[0]}/device`;
	return {
		device_code: deviceCode,
		user_code: userCode,
		verification_uri: page,
		verification_uri_complete: `${page}?user_code=${userCode}`,
		expires_in: expiresInSeconds,
		interval: INTERVAL_SECONDS,
	};
}

async function finish(request: Request, core: Core, flow: DeviceFlow): Promise<object> {
	const { device_code: deviceCode } = await fieldsOf<{ device_code: string }>(request, TOKEN);
	const poll = await flow.poll(deviceCode);
	if (poll.state === 'early') throw new Fault('slow_down', 'Requests come too soon one after the other.');
	if (poll.state === 'waiting') throw new Fault('authorization_pending', 'The user has not decided yet.');
	if (poll.state === 'denied') throw new Fault('access_denied', 'The user did not allow it.');
	if (poll.state !== 'granted') throw new Fault('expired_token', 'The code is over, unknown, or was used.');
	try {
		return await keyFor(poll.grant, request, core);
	} catch (thrown) {
		if (thrown instanceof Fault) throw thrown;
		await poll.again();
		throw thrown;
	}
}

/** Makes the key in the name of the user, who may have lost by now what they chose. */
async function keyFor({ userId, email, name, reach, permissions, organization }: Grant, request: Request, core: Core): Promise<object> {
	const store = core.store.as({ userId, email, accessKeyId: null, ...clientOf(request, core) });
	const gone = (): Fault => new Fault('access_denied', 'The user can no longer access what they allowed.');
	const wanted = reach.type === 'account' ? reach : { type: reach.type, id: reach.id };
	if (!(await core.store.accounts.byId(userId))) throw gone();
	const made = await reachOf(wanted, userId, core)
		.then((now) => mint(store, userId, { name, reach: now, permissions }))
		.catch((thrown: unknown) => {
			throw asGatewayError(thrown)?.code === 'not_found' ? gone() : thrown;
		});
	const { row, key } = made;
	return {
		access_token: key,
		token_type: 'Bearer',
		...(row.permissions && { scope: row.permissions.join(' ') }),
		key_id: row.id,
		email,
		organization,
	};
}

async function revoke(request: Request, core: Core): Promise<object> {
	const { token } = await fieldsOf<{ token: string }>(request, REVOKE);
	const found = await core.store.accessKeys.byHash(hashKey(token));
	if (!found) return {};
	const { userId, id } = found.key;
	const user = await core.store.accounts.byId(userId);
	const store = core.store.as({ userId, email: user?.email ?? '', accessKeyId: id, ...clientOf(request, core) });
	await store.accessKeys.revoke(userId, id);
	return {};
}

/** Reads a form or JSON. @throws Fault, and what reading a body throws */
async function fieldsOf<T>(request: Request, schema: Joi.ObjectSchema): Promise<T> {
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	if (type === null || !FORMS.includes(type))
		throw new GatewayError('unsupported_media_type', `Content-Type must be ${FORMS.join(' or ')}.`);
	const text = (await readBody(request.raw.req, MAX_BYTES))?.toString('utf8') ?? '';
	const { value, error } = schema.validate(type === FORMS[0] ? fieldsOfForm(text) : fieldsOfJson(text), { stripUnknown: true });
	if (!error) return value as T;
	const field = String(error.details[0]?.path[0] ?? '');
	if (field === 'grant_type') throw new Fault('unsupported_grant_type', `grant_type must be ${GRANT_TYPE}.`);
	throw new Fault('invalid_request', error.message);
}

/** RFC 6749 §3.2: "Request and response parameters MUST NOT be included more than once"; empty ones count as absent. */
function fieldsOfForm(text: string): object {
	const form = new URLSearchParams(text);
	const names = [...form.keys()];
	const twice = names.find((name, at) => names.indexOf(name) !== at);
	if (twice !== undefined) throw new Fault('invalid_request', `"${cleanText(twice, MAX_NAME)}" is given more than once.`);
	return Object.fromEntries([...form].filter(([, value]) => value !== ''));
}

function fieldsOfJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Fault('invalid_request', 'The body is not JSON.');
	}
}
