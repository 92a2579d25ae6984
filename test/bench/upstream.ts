// The upstream of the benchmark: one small JSON answer, as fast as node:http gives it.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announce } from './subject.ts';

const server = createServer((request, response) => {
	const item = {
		path: request.url,
		title: 'Pride and Prejudice',
		authors: ['Jane Austen'],
		price: { amount: 1295, currency: 'EUR' },
		copies: 11,
	};
	const text = JSON.stringify(item);
	response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
// A server that listens on TCP has an AddressInfo.
announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => server.closeAllConnections());
