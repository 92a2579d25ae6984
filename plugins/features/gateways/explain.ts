// POST /gateways/:id/explain: why a caller can call a tool of the gateway, or cannot.

import { isIP } from 'node:net';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	clientOf,
	clientSignal,
	count,
	type JsonObject,
	type KeyRow,
	notFound,
	OUTCOMES,
	operation,
	organizationOf,
	requirePermission,
	STEPS,
	shape,
	text,
	uuid,
} from '../../../core/features.ts';
import { findGateway } from './find.ts';

const MAX_CREDENTIAL_CHARS = 8192;
const MAX_HEADERS = 50;

const address = (value: string, helpers: Joi.CustomHelpers): unknown => (isIP(value) ? value : helpers.error('string.address'));
const secret = Joi.string()
	.min(1)
	.max(MAX_CREDENTIAL_CHARS)
	.pattern(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'a value of a header');

const EXPLAIN = body({
	credential: secret.description('A key or a token, tried where the methods of the gateway look for one. It is neither stored nor logged.'),
	keyId: uuid.description('Instead: the id of an API key of the gateway.'),
	headers: Joi.object()
		.pattern(
			Joi.string()
				.pattern(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/)
				.max(100),
			Joi.string().allow('').max(MAX_CREDENTIAL_CHARS),
		)
		.max(MAX_HEADERS)
		.description('Headers of the call, where the credential or a rule needs more than `credential`.'),
	address: Joi.string()
		.max(64)
		.custom(address)
		.messages({ 'string.address': '{{#label}} must be an IP address' })
		.description('The address from which the call comes. Default: the one of this request.'),
	tool: Joi.string()
		.min(1)
		.max(128)
		.description('The name of the tool in the gateway, or its id. Absent: only the way to the gateway is explained.'),
	arguments: Joi.object().unknown().description('Arguments, which are checked.'),
})
	.oxor('credential', 'keyId')
	.example({ keyId: '9b2c7d0e-6f1a-4c7e-9d53-2f8f0c1a7b11', tool: 'get_pet', arguments: { id: '7' } });

const standing = shape({ max: count, remaining: count, resetAt: text });
const METHOD = shape({
	method: text,
	isRequired: Joi.boolean(),
	outcome: Joi.string().valid('admitted', 'refused', 'no_credential', 'not_asked'),
	message: text,
});
const STEP = shape({
	step: Joi.string().valid(...STEPS),
	outcome: Joi.string()
		.valid(...OUTCOMES)
		.description(
			'`warning`: the call goes on, and may fail at the API. `unknown`: not looked at, since a step before it refused or nothing was given.',
		),
	message: text,
	code: text.optional().description('The error that the call would get.'),
	details: Joi.array()
		.items(shape({ path: text, message: text }))
		.optional(),
	methods: Joi.array().items(METHOD).optional().description('Each authentication method, in the order in which it is asked.'),
	limit: standing.optional().description('The window as it stands; the explanation counts nothing in it.'),
});
const EXPLANATION = shape({
	verdict: Joi.string().valid('admitted', 'refused'),
	code: text.allow(null).description('The error that the call would get.'),
	status: count.allow(null).description('The status of this error in plain HTTP; MCP and A2A have their own forms.'),
	message: text,
	caller: shape({ subject: text, method: text, scopes: Joi.array().items(text) }).allow(null),
	steps: Joi.array().items(STEP).description('In the order in which a call meets them.'),
}).meta({ schema: 'Explanation' });

interface Question {
	credential?: string;
	keyId?: string;
	headers?: Record<string, string>;
	address?: string;
	tool?: string;
	arguments?: JsonObject;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const explainCall = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways/{id}/explain',
		id: 'explainCall',
		summary: 'Says step by step why a caller can call a tool of the gateway, or cannot.',
		description:
			'Each step asks what the call itself would ask; nothing runs, nothing is counted in the caller’s windows, and nothing is sent to the API. ' +
			'A bad credential counts against the address of this request, as one at login does.',
		need: 'gateway:read',
		addressLimit: { max: 10, seconds: 60 },
		body: EXPLAIN,
		answer: EXPLANATION,
		handler: (request) => explain(request, core),
	});

async function explain(request: Request, core: Core) {
	// The body has passed EXPLAIN.
	const { credential = null, keyId, headers = {}, address, tool, arguments: args = null } = request.payload as Question;
	const gateway = await findGateway(request, core);
	if (tool !== undefined) requirePermission(request, 'tools:read');
	const key = keyId === undefined ? null : await findKey(gateway.organizationId, gateway.id, keyId, core);
	const found = await core.explain({
		...{ organizationSlug: organizationOf(request).slug, gateway, credential, key, args, signal: clientSignal(request) },
		headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
		address: address ?? clientOf(request, core).address ?? '',
		tool: tool === undefined ? null : UUID.test(tool) ? { id: tool.toLowerCase() } : { name: tool },
		requestId: request.info.id,
		onBadCredential: () => core.limits.ofFailure(request),
	});
	return {
		...found,
		code: found.code?.toUpperCase() ?? null,
		steps: found.steps.map(({ code, ...step }) => ({ ...step, ...(code && { code: code.toUpperCase() }) })),
	};
}

async function findKey(organizationId: string, gatewayId: string, keyId: string, { store }: Core): Promise<KeyRow> {
	const row = await store.gateways.key(organizationId, gatewayId, keyId);
	if (!row) throw notFound('API key');
	return row;
}
