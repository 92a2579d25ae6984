// Clients that take their time (row 36): each is cut off, and nobody else notices that they are there.

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
	for (const { row, id, begins, adds, withinMs } of SLOW_CASES) {
		test(`${row}: that sends ${id}, within ${withinMs} ms`, async () => {
			const given = { waitMs: withinMs + 3_000, ...(adds && { adds }) };
			const { answers, closed, tookMs } = await exchange(
				service.url,
				begins.replaceAll(TOKEN, account.token).replaceAll(GATEWAY_PATH, path),
				given,
			);
			assert.ok(closed && tookMs <= withinMs, `cut after ${Math.round(tookMs)} ms`);
			assert.ok(answers.length <= 1);
			for (const { status, body } of answers) {
				assert.ok(status >= 400 && status < 500, `${status}`);
				assert.equal(JSON.parse(body).success, false);
			}
		});
	}
});

const SLOW = 300;
const ASKED = 200;

test('36: with 300 slow connections health answers as quickly as ever: 99 of 100 within 200 ms', async () => {
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
		const tookMs: number[] = [];
		for (let asked = 0; asked < ASKED; asked++) {
			const started = performance.now();
			assert.equal((await send(`${service.url}/health/${asked % 2 ? 'live' : 'ready'}`, 'GET')).status, 200);
			tookMs.push(performance.now() - started);
		}
		const slowest = tookMs.sort((a, b) => a - b)[Math.floor(ASKED * 0.99) - 1] ?? Number.POSITIVE_INFINITY;
		assert.ok(slowest < 200, `${Math.round(slowest)} ms`);
		assert.ok(sockets.filter(({ destroyed }) => !destroyed).length > SLOW / 2, 'they were there meanwhile');
	} finally {
		clearInterval(dripping);
		for (const socket of sockets) socket.destroy();
	}
});
