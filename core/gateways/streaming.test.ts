// Tests of event streams whose client has left before they begin.

import assert from 'node:assert/strict';
import { request as ask } from 'node:http';
import { test } from 'node:test';
import Hapi from '@hapi/hapi';
import { until } from '../../test/helpers/clock.ts';
import { silent } from '../../test/helpers/silent.ts';
import { sampleCaller, sampleGateway } from '../../testing/samples.ts';
import { clientLeaving } from '../http/client.ts';
import { InFlight } from '../http/in-flight.ts';
import { Streams } from '../http/streams.ts';
import { StillAdmitted } from './still-admitted.ts';
import { respondEvents } from './streaming.ts';

test('nobody follows the rights of a client that has left, and its signal is aborted from the beginning', async (t) => {
	const changes = { subscribe: () => () => undefined };
	const admitted = new StillAdmitted({ changes, log: { warn: () => undefined }, check: async () => sampleCaller() });
	const gateway = sampleGateway();
	const who = { plugin: 'transport:mcp', organizationId: gateway.organizationId, gateway, caller: sampleCaller() };
	const inFlight = new InFlight();
	const server = Hapi.server({ port: 0, host: '127.0.0.1', debug: false });
	server.app.inFlight = inFlight;
	const { promise, resolve } = Promise.withResolvers<AbortController>();
	server.route({
		method: 'GET',
		path: '/',
		async handler(request, h) {
			const leaving = clientLeaving(request);
			await until(() => request.raw.res.closed, 'the client has left', 1);
			async function* source() {
				yield { data: '1' };
			}
			const call = { account: async () => 'account', log: silent };
			// The parts that a stream without a place for one more needs are not among them.
			const around = {
				request,
				call,
				leaving,
				streams: new Streams(new AbortController().signal),
				admitted,
				who,
				from: {},
				mounted: {},
				incoming: {},
			};
			await respondEvents({ status: 200, headers: {}, events: { source: source() } } as never, around as never);
			resolve(clientLeaving(request));
			return h.response().code(204);
		},
	});
	await server.start();
	t.after(() => server.stop());
	const asking = ask(server.info.uri);
	asking.on('error', () => undefined);
	asking.end();
	asking.once('socket', (socket) => socket.once('connect', () => setTimeout(() => asking.destroy(), 20)));
	const leaving = await promise;
	assert.equal(leaving.signal.reason?.message, 'The client left.');
	assert.equal(admitted.size, 0);
});
