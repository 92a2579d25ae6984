// The baseline of the full path: one hapi route that forwards the request to the upstream through the guarded dialer.

import Hapi from '@hapi/hapi';
import { createEgress } from '../../core/egress/egress.ts';
import { announce } from './subject.ts';

const upstream = process.env['UPSTREAM'] ?? '';
/** The upstream may be named with a path, which precedes that of every request. */
const egress = createEgress({ allow: [new URL(upstream).origin] });
const server = Hapi.server({ host: '127.0.0.1', port: 0 });
server.route({
	method: 'GET',
	path: '/items/{id}',
	handler: async (request, h) => {
		const { status, headers, body } = await egress.request({ method: 'GET', url: upstream + request.path });
		return h
			.response(body)
			.code(status)
			.type(headers['content-type'] ?? 'application/octet-stream');
	},
});
/** The second route reads a JSON body, since calls of the gateway have one. */
server.route({
	method: 'POST',
	path: '/items',
	handler: async (request, h) => {
		const { params } = request.payload as { params: { arguments: { id: string } } };
		const { status, headers, body } = await egress.request({ method: 'GET', url: `${upstream}/items/${params.arguments.id}` });
		return h
			.response(body)
			.code(status)
			.type(headers['content-type'] ?? 'application/octet-stream');
	},
});
/** The same without its request to the upstream. */
server.route({
	method: 'POST',
	path: '/ready',
	handler: (request, h) => {
		const { params } = request.payload as { params: { arguments: { id: string } } };
		return h.response(`{"id":"${params.arguments.id}","title":"Pride and Prejudice"}`).type('application/json');
	},
});
await server.start();
announce(server.info.uri, async () => {
	await server.stop();
	await egress.close();
});
