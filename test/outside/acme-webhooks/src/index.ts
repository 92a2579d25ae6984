// Sends events of an organization to the receivers that it names, signed as Standard Webhooks (https://www.standardwebhooks.com) say.

import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import {
	body,
	type Core,
	expectedVersion,
	type Feature,
	GatewayError,
	httpUrl,
	isObject,
	type JobHandler,
	type Json,
	type JsonObject,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	type Records,
	type StoredRecord,
	shape,
	showVersion,
	storeOf,
	timestamp,
	uuid,
} from 'gatehouse/features';
import Joi from 'joi';

export interface Config {
	maxReceivers: number;
	attempts: number;
}

/** A receiver as it is stored; its secret is sealed. */
interface Receiver {
	url: string;
	events: string[];
	secret: string;
}

const PLUGIN = 'feature:acme_webhooks';
const TYPE = 'acme_webhook';
const TAG = 'receiver';

const eventName = Joi.string()
	.pattern(/^[a-z][a-z0-9_.]{0,63}$/)
	.example('order.paid')
	.description('The name of an event.');
const FIELDS = {
	url: httpUrl.max(2000).required().example('https://shop.example/hooks').description('The address that gets the events.'),
	events: Joi.array().items(eventName).min(1).max(50).unique().required().description('The events that it gets.'),
	secret: Joi.string()
		.min(24)
		.max(200)
		.required()
		.meta({ secret: true })
		.description('The key of the signatures: whsec_ and base64, or any text.'),
};
const SHOWN = shape({ id: uuid, url: FIELDS.url, events: FIELDS.events, createdAt: timestamp, updatedAt: timestamp }).meta({
	schema: 'AcmeWebhook',
});
const SENT = shape({ id: uuid.description('The job that sends the event.') });
const DELIVERY = shape({
	...{ id: uuid, status: Joi.valid('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled') },
	attempts: Joi.number().integer().description('The number of times that it was sent.'),
	lastStatus: Joi.number().integer().allow(null).description('The status of the last answer.'),
});
const STATE = shape({
	status: Joi.valid('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled').description('The state of the sending.'),
	deliveries: Joi.array().items(DELIVERY).description('One for each receiver.'),
});

/** Sends an event to all receivers of its name. It may run twice, so each delivery has a key. */
const send: JobHandler<unknown, Config> = {
	async run(data, { id, call }) {
		// It was given by `sendAcmeEvent`.
		const { event, payload, attempts } = data as { event: string; payload: JsonObject; attempts: number };
		const { records } = await call.records.find(TAG);
		const deliveries: Json[] = [];
		for (const { key, value } of records) {
			const { url, events, secret } = receiverOf(value);
			if (!events.includes(event)) continue;
			const sent = { type: event, timestamp: new Date().toISOString(), data: payload };
			const delivery = await call.deliver({ url, event, body: sent, sign: { secret }, key: `${id}:${key}`, attempts });
			deliveries.push(delivery.id);
		}
		return { deliveries };
	},
};

export default {
	kind: 'feature',
	api: 1,
	name: 'acme_webhooks',
	summary: 'Sends events of an organization to the receivers that it names.',
	spec: 'Standard Webhooks 1.0',
	config: Joi.object<Config>({
		maxReceivers: Joi.number().integer().min(1).max(100).default(20).description('The most receivers of an organization.'),
		attempts: Joi.number().integer().min(1).max(12).default(8).description('How often a delivery is tried.'),
	}),
	segments: ['acme-webhooks'],
	permissions: { 'acme-webhooks:write': 'admin', 'acme-webhooks:read': 'viewer' },
	limits: { 'acme-events': { max: 60, seconds: 60 } },
	audits: [TYPE, 'acme_event'],
	jobs: { send },
	register(server, config, core) {
		server.route([...changing(config, core), ...reading(core), ...sending(config, core)]);
	},
} satisfies Feature<Config>;

function changing({ maxReceivers }: Config, core: Core) {
	return [
		operation({
			...{ method: 'POST', path: '/acme-webhooks', id: 'createAcmeWebhook', summary: 'Adds a receiver.', need: 'acme-webhooks:write' },
			...{ body: body(FIELDS), answer: SHOWN, status: 201, errors: ['conflict', 'egress_refused'], idempotent: true },
			async handler(request) {
				const records = written(request, core);
				if ((await records.count(TAG, maxReceivers)) >= maxReceivers)
					throw new GatewayError('conflict', `The organization has ${maxReceivers} receivers already.`);
				const given = await checked(request, core);
				const id = randomUUID();
				await records.put(id, { ...given }, { tags: [TAG], sealed: ['/secret'], audited: { type: TYPE, name: hostOf(given) } });
				return shown(await found(records, id));
			},
		}),
		operation({
			...{
				method: 'PUT',
				path: '/acme-webhooks/{id}',
				id: 'replaceAcmeWebhook',
				summary: 'Replaces a receiver.',
				need: 'acme-webhooks:write',
			},
			...{ body: body(FIELDS), answer: SHOWN, versioned: true, errors: ['egress_refused'] },
			async handler(request) {
				const records = written(request, core);
				const record = await found(records, request.params['id']);
				const revision = expectedVersion(request) ?? record.revision;
				const given = await checked(request, core);
				const isFirst = await records.update(record.key, revision, { ...given }, { audited: true });
				if (!isFirst) throw new GatewayError('precondition_failed', 'The receiver was changed by somebody else.');
				return versioned(request, await found(records, record.key));
			},
		}),
		operation({
			...{
				method: 'DELETE',
				path: '/acme-webhooks/{id}',
				id: 'deleteAcmeWebhook',
				summary: 'Removes a receiver.',
				need: 'acme-webhooks:write',
			},
			answer: shape({ id: uuid }),
			async handler(request) {
				const { key } = await found(written(request, core), request.params['id']);
				await written(request, core).remove(key);
				return { id: key };
			},
		}),
	];
}

function reading(core: Core) {
	return [
		operation({
			...{ method: 'GET', path: '/acme-webhooks', id: 'listAcmeWebhooks', summary: 'Lists the receivers.', need: 'acme-webhooks:read' },
			...{ query: listQuery(), answer: page('webhooks', SHOWN) },
			async handler(request) {
				const { sort = 'createdAt', ...rest } = pageOf(request);
				const { records, nextCursor } = await written(request, core).find(TAG, { ...rest, sort });
				return { webhooks: records.map(shown), nextCursor };
			},
		}),
		operation({
			...{ method: 'GET', path: '/acme-webhooks/{id}', id: 'getAcmeWebhook', summary: 'Shows a receiver.', need: 'acme-webhooks:read' },
			...{ answer: SHOWN, versioned: true },
			handler: async (request) => versioned(request, await found(written(request, core), request.params['id'])),
		}),
	];
}

function sending({ attempts }: Config, core: Core) {
	const place = (request: Request) => ({ plugin: PLUGIN, organizationId: organizationOf(request).id, gateway: null });
	return [
		operation({
			...{ method: 'POST', path: '/acme-webhooks/events', id: 'sendAcmeEvent', summary: 'Sends an event.', need: 'acme-webhooks:write' },
			...{
				body: body({ event: eventName.required(), payload: Joi.object().unknown().default({}) }),
				answer: SENT,
				status: 201,
				limit: 'acme-events',
			},
			async handler(request) {
				// The schema has checked it.
				const { event, payload } = request.payload as { event: string; payload: JsonObject };
				const jobs = core.jobs.jobs({ ...place(request), caller: await core.callerOf(request) });
				const { id } = await jobs.add('send', { event, payload, attempts });
				await core.recordAudit(request, { action: 'create', resourceType: 'acme_event', resourceId: id, resourceName: event });
				return { id };
			},
		}),
		operation({
			...{
				method: 'GET',
				path: '/acme-webhooks/events/{id}',
				id: 'getAcmeEvent',
				summary: 'Shows what became of an event.',
				need: 'acme-webhooks:read',
			},
			answer: STATE,
			async handler(request) {
				const scope = { ...place(request), caller: null };
				const job = await core.jobs.jobs(scope).get(String(request.params['id']));
				if (!job) throw notFound('Event');
				const ids = isObject(job.output) && Array.isArray(job.output['deliveries']) ? job.output['deliveries'] : [];
				const found = await Promise.all(ids.map((id) => core.jobs.deliveries(scope).get(String(id))));
				const deliveries = found.flatMap((one) =>
					one ? [{ id: one.id, status: one.status, attempts: one.attempts, lastStatus: one.lastStatus }] : [],
				);
				return { status: job.status, deliveries };
			},
		}),
	];
}

/** The records of the organization, written in the caller's name. */
const written = (request: Request, core: Core): Records =>
	core.recordsOf({ organizationId: organizationOf(request).id, store: storeOf(request, core), hidesSealed: true });

/** Returns the receiver that the body describes. @throws egress_refused */
async function checked(request: Request, core: Core): Promise<Receiver> {
	// The schema has checked it.
	const given = request.payload as Receiver;
	await core.egress.check(given.url, '/url');
	return given;
}

/** @throws not_found */
async function found(records: Records, id: unknown): Promise<StoredRecord> {
	const record = await records.get(String(id));
	if (!record?.tags.includes(TAG)) throw notFound('Webhook');
	return record;
}

/** The record was put by `createAcmeWebhook`. */
const receiverOf = (value: JsonObject): Receiver => value as unknown as Receiver;
const hostOf = ({ url }: Receiver): string => new URL(url).host;

function shown({ key, value, createdAt, updatedAt }: StoredRecord) {
	const { url, events } = receiverOf(value);
	return { id: key, url, events, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

function versioned(request: Request, record: StoredRecord) {
	showVersion(request, record.revision);
	return shown(record);
}
