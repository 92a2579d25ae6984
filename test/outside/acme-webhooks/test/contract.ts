import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import plugin from 'acme-webhooks';
import { CANARY, type FeatureSample, fakeCall, featureContract, httpUpstream } from 'gatehouse/testing';

const SECRET = 'a key of more than twenty-four characters';

const receiver = { url: 'http://127.0.0.1:8080/hook', events: ['order.paid'], secret: CANARY };
const one: FeatureSample['path'] = ({ answers }) => `/acme-webhooks/${answers['a new receiver']?.body.data.id}`;

featureContract(plugin, {
	config: { maxReceivers: 2, attempts: 1 },
	bad: [
		{ config: { maxReceivers: 0 }, says: /"maxReceivers" must be greater/ },
		{ config: { attempts: 13 }, says: /"attempts" must be less/ },
	],
	samples: [
		{ name: 'no receivers', method: 'GET', path: '/acme-webhooks', status: 200, has: '"webhooks":[]' },
		{ name: 'a new receiver', method: 'POST', path: '/acme-webhooks', body: receiver, status: 201, has: '"events":["order.paid"]' },
		{ name: 'the receiver', method: 'GET', path: one, status: 200, has: '"url":"http://127.0.0.1:8080/hook"' },
		{ name: 'a change', method: 'PUT', path: one, body: { ...receiver, events: ['order.sent'] }, status: 200, has: 'order.sent' },
		{
			...{ name: 'a change of what somebody else has changed', method: 'PUT', path: one, body: receiver, status: 412 },
			headers: { 'if-match': '"0"' },
		},
		{
			name: 'a private address',
			method: 'POST',
			path: '/acme-webhooks',
			body: { ...receiver, url: 'http://10.0.0.1/' },
			status: 400,
			has: '"path":"/url"',
		},
		{
			name: 'no event',
			method: 'POST',
			path: '/acme-webhooks',
			body: { ...receiver, events: ['Not this'] },
			status: 400,
			has: '"path":"/events/0"',
		},
		{ name: 'an event', method: 'POST', path: '/acme-webhooks/events', body: { event: 'order.lost' }, status: 201, has: '"id":"' },
		{
			...{ name: 'what became of it', method: 'GET', status: 200, has: '"deliveries":[]' },
			path: ({ answers }) => `/acme-webhooks/events/${answers['an event']?.body.data.id}`,
		},
		{ name: 'the end of the receiver', method: 'DELETE', path: one, status: 200, has: '"id":"' },
	],
	jobs: [{ name: 'send', data: { event: 'order.lost', payload: {}, attempts: 1 }, output: { deliveries: [] } }],
});

test('an event is delivered to those that asked for it, once and signed', async (t) => {
	const seen: { headers: NodeJS.Dict<string | string[]>; text: string }[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		seen.push({ headers: request.headers, text: await textOf(request) });
		response.end();
	});
	await using fake = fakeCall({ plugin, gateway: null, allow: ['127.0.0.1'], jobs: 'by hand' });
	for (const event of ['order.paid', 'order.sent'])
		await fake.call.records.put(event, { url: origin, events: [event], secret: SECRET }, { tags: ['receiver'], sealed: ['/secret'] });
	const { id } = await fake.call.jobs.add('send', { event: 'order.paid', payload: { order: 7 }, attempts: 1 });
	await fake.runJobs();
	const job = (await fake.call.jobs.get(id)) ?? assert.fail('the job is there');
	const { deliveries } = job.output as { deliveries: string[] };
	assert.equal((await fake.call.deliveries.get(deliveries[0] ?? ''))?.status, 'succeeded');
	assert.deepEqual([deliveries.length, seen.length], [1, 1]);
	const [{ headers, text } = assert.fail('it arrived')] = seen;
	const signed = createHmac('sha256', SECRET).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`);
	assert.equal(headers['webhook-signature'], `v1,${signed.digest('base64')}`);
	assert.deepEqual(JSON.parse(text).data, { order: 7 });
});
