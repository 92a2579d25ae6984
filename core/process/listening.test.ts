// The faults of listening, each with a sentence that says what to change.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../test/helpers/ports.ts';
import { assertListenable, originOf, reachableOrigin } from './listening.ts';

test('a free port is still free after the check', async () => {
	const address = { host: '127.0.0.1', port: await freePort() };
	await assertListenable(address);
	await assertListenable(address);
});

test('a port in use is reported by PORT', async () => {
	const port = await freePort();
	const other = createServer().listen(port, '127.0.0.1');
	await once(other, 'listening');
	await assert.rejects(assertListenable({ host: '127.0.0.1', port }), {
		message: `PORT: something else listens at 127.0.0.1:${port} already. Stop it, or set PORT to another port.`,
	});
	other.close();
});

for (const host of ['10.1.2.3', 'no-such-host.invalid']) {
	test(`${host} is reported by HOST`, async () => {
		await assert.rejects(assertListenable({ host, port: await freePort() }), {
			message: `HOST: ${host} is not an address of this machine. Set HOST to one that is, or to 0.0.0.0 for all of them.`,
		});
	});
}

test('addresses become origins, IPv6 in brackets, and wildcard addresses by a name', () => {
	assert.equal(originOf({ host: '::1', port: 3000 }), 'http://[::1]:3000');
	assert.equal(originOf({ host: '0.0.0.0', port: 3000 }), 'http://0.0.0.0:3000');
	for (const host of ['0.0.0.0', '::']) assert.equal(reachableOrigin({ host, port: 80 }, 'localhost'), 'http://localhost:80');
	assert.equal(reachableOrigin({ host: '::1', port: 80 }, 'localhost'), 'http://[::1]:80');
});
