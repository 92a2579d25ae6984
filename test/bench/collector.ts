// A collector of the benchmarks: takes whatever is sent, and keeps none of it.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announce } from './subject.ts';

const server = createServer((request, response) => {
	const { 'content-type': type = 'application/json' } = request.headers;
	// The answer has no fields, in the encoding of what was sent.
	request.resume().on('end', () => response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : ''));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
// A TCP server has such an address.
const { port } = server.address() as AddressInfo;
announce(`http://127.0.0.1:${port}`, async () => server.close());
