// Tests slow clients (row 36): each is cut off, and other clients are not affected.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GATEWAY_PATH, lines, SLOW_CASES, TOKEN } from '../catalog/wire.ts';
import { type Account, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { exchange } from '../helpers/wire.ts';

let service: TestService;
let account: Account;
let path: string;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	path = new URL((await publishGateway(account, { auth: 'none' })).url).pathname;
});
after(() => service.stop());

describe('a client is cut off', { concurrency: true }, () => {
	for (const { row, id, begins, adds } of SLOW_CASES) {
		test(`${row}: that sends ${id}`, async () => {
			const bytes = begins.replaceAll(TOKEN, account.token).replaceAll(GATEWAY_PATH, path);
			const { answers, closed } = await exchange(service.url, bytes, { adds });
			assert.ok(closed, 'it may go on for ever');
			assert.ok(answers.length <= 1);
			for (const { status, body } of answers) {
				assert.ok(status >= 400 && status < 500, `${status}`);
				assert.equal(JSON.parse(body).success, false);
			}
		});
	}
});

const SLOW = 300;
const ASKED = 50;

test('36: with 300 slow connections health answers as ever, and needs none of them to end', async () => {
	const { hostname, port } = new URL(service.url);
	const head = lines(
		'POST /gateways HTTP/1.1',
		'host: x',
		`authorization: Bearer ${account.token}`,
		'content-type: application/json',
		'content-length: 1000',
	);
	const begun = ['', 'GET /health HTTP/1.1\r\nhost: x\r\nx: ', head];
	const sockets: Socket[] = Array.from({ length: SLOW }, (_none, at) => {
		const socket = connect(Number(port), hostname).on('error', () => undefined);
		socket.write(begun[at % begun.length] ?? '');
		return socket;
	});
	const dripping = setInterval(() => {
		for (const socket of sockets) if (socket.writable) socket.write('a');
	}, 200);
	try {
		await sleep(500);
		for (let asked = 0; asked < ASKED; asked++)
			assert.equal((await send(`${service.url}/health/${asked % 2 ? 'live' : 'ready'}`, 'GET')).status, 200);
		assert.ok(sockets.filter(({ destroyed }) => !destroyed).length > SLOW / 2, 'they were there meanwhile');
	} finally {
		clearInterval(dripping);
		for (const socket of sockets) socket.destroy();
	}
});
