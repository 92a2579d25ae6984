// A webhook starts an agent. The id in the path is no secret: the HMAC over the raw body is the credential.

import { createHash } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentWebhookRow,
	type Core,
	GatewayError,
	isObject,
	type JsonObject,
	mediaTypeOf,
	notFound,
	operation,
	parseJson,
	readBody,
	shape,
	uuid,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { verify } from './signatures.ts';
import { webhookLocation } from './webhooks.ts';

const STARTED = shape({ executionId: uuid, status: Joi.string().valid('running') });
const MAX_KEY = 255;

export const incomingRoute = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/webhooks/{webhookId}',
		id: 'receiveWebhook',
		summary: 'Starts the agent of a webhook, with the body as its input.',
		description:
			'The signature over the raw body is the credential. A message that is sent again, under the same id or the same `Idempotency-Key`, gets the ' +
			'execution that it started. Calls are counted by webhook, like invocations.',
		need: 'public',
		countsItself: true,
		body: Joi.object().unknown().description('A JSON object: the input of the agent.').example({ name: 'Ada' }),
		bodyIs: 'unread',
		answer: STARTED,
		status: 202,
		errors: ['unauthorized', 'not_found', 'conflict', 'rate_limited'],
		handler: (request) => receive(request, core),
	});

async function receive(request: Request, core: Core) {
	core.limits.assertMayTry(request);
	const type = mediaTypeOf(request.raw.req.headers['content-type']);
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	const content = (await readBody(request.raw.req, BOUNDS.webhookBytes)) ?? Buffer.alloc(0);
	const { webhook, identity } = await identify(request, core, content);
	await core.limits.ofWebhook(request, webhook.id);
	if (webhook.status !== 'active') throw new GatewayError('conflict', 'The webhook is inactive.');
	const agent = await core.store.agents.get(webhook.organizationId, webhook.agentId);
	if (!agent) throw notFound('Webhook');
	const { organizationId } = webhook;
	const dedupe = await messageOf(request, core, webhook, identity);
	const input = inputOf(content);
	const { run } = await core.agents.start({ organizationId, agent, input, trigger: 'webhook', startedBy: webhook.name, dedupe });
	return { executionId: run.id, status: 'running' };
}

/** Finds the webhook and verifies its signature; what is wrong with either is counted as a bad credential. @throws not_found, unauthorized */
async function identify(request: Request, core: Core, content: Buffer): Promise<{ webhook: AgentWebhookRow; identity: string }> {
	const webhook = await core.store.agents.webhookOf(String(request.params['webhookId']));
	try {
		if (!webhook) throw notFound('Webhook');
		const secret = core.secrets.open(webhook.secret, webhookLocation(webhook), `The secret of the webhook "${webhook.name}"`);
		return { webhook, identity: verify(webhook, secret, { headers: request.raw.req.headers, content }) };
	} catch (error) {
		await core.limits.ofFailure(request);
		throw error;
	}
}

/** @throws validation_failed */
function inputOf(content: Buffer): JsonObject {
	const input = parseJson(content);
	if (!isObject(input)) throw new GatewayError('validation_failed', 'The body must be a JSON object.');
	return input as JsonObject;
}

/**
 * Returns the text under which the message starts one execution. Its identity is signed, and remains what it started; an `Idempotency-Key`,
 * which is not, makes another message the one that came first under it.
 */
async function messageOf(request: Request, core: Core, { id, organizationId }: AgentWebhookRow, identity: string): Promise<string> {
	const own = `webhook:${id}:${identity}`;
	const key = request.raw.req.headers['idempotency-key']?.toString();
	if (key === undefined) return own;
	if (key === '' || key.length > MAX_KEY) {
		const message = `Idempotency-Key must have 1 to ${MAX_KEY} characters.`;
		throw new GatewayError('validation_failed', message, { details: [{ path: 'header/idempotency-key', message }] });
	}
	const records = core.recordsOf({ organizationId });
	const place = `key:${createHash('sha256').update(`${id}\n${key}`).digest('base64url')}`;
	if (await records.add(place, { dedupe: own }, { ttlMs: BOUNDS.keyMs })) return own;
	const first = (await records.get(place))?.value['dedupe'];
	return typeof first === 'string' ? first : own;
}
