// Tests of the resolver with name servers over UDP: those that answer, those that know nothing, and those that keep silent.

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../test/helpers/ports.ts';
import { createLookup, type Lookup } from './names.ts';

const [A, AAAA] = [1, 28];
const NXDOMAIN = 3;

interface Said {
	/** Bytes of the address; null: there is no such name; absent: nothing is answered. */
	[name: string]: { [type: number]: readonly number[] } | null;
}

/** Starts a name server. @returns its address and port, and the names that it was asked for */
async function nameServer(t: TestContext, said: Said): Promise<{ servers: string[]; asked: string[] }> {
	const socket = createSocket('udp4');
	const asked: string[] = [];
	socket.on('message', (query, { port, address }) => {
		const { name, type, end } = questionOf(query);
		asked.push(name);
		if (!Object.hasOwn(said, name)) return;
		const bytes = said[name]?.[type];
		const head = Buffer.alloc(12);
		head.writeUInt16BE(query.readUInt16BE(0), 0);
		head.writeUInt16BE(0x8180 | (said[name] === null ? NXDOMAIN : 0), 2);
		head.writeUInt16BE(1, 4);
		head.writeUInt16BE(bytes ? 1 : 0, 6);
		const record = bytes ? Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]) : Buffer.alloc(0);
		socket.send(Buffer.concat([head, query.subarray(12, end), record]), port, address);
	});
	socket.bind(0, '127.0.0.1');
	await once(socket, 'listening');
	t.after(() => socket.close());
	return { servers: [`127.0.0.1:${socket.address().port}`], asked };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
	const labels: string[] = [];
	let at = 12;
	for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
		labels.push(query.toString('latin1', at + 1, at + 1 + length));
		at += 1 + length;
	}
	return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** A resolver of the system that notes what it is asked for. */
function system(answer: Lookup = async () => [{ address: '10.0.0.1', family: 4 }]) {
	const asked: string[] = [];
	const lookup: Lookup = (name) => {
		asked.push(name);
		return answer(name);
	};
	return { asked, lookup };
}

test('a name has the addresses of both families, without the system', async (t) => {
	const { servers } = await nameServer(t, {
		'both.test': { [A]: [192, 0, 2, 1], [AAAA]: [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1] },
		'four.test': { [A]: [192, 0, 2, 2] },
	});
	const own = system();
	const lookup = createLookup({ servers, system: own.lookup });
	assert.deepEqual(await lookup('both.test.'), [
		{ address: '192.0.2.1', family: 4 },
		{ address: '2001:db8::1', family: 6 },
	]);
	assert.deepEqual(await lookup('Four.Test'), [{ address: '192.0.2.2', family: 4 }]);
	assert.deepEqual(own.asked, []);
});

test('names without a dot and of the hosts file are the system’s, and so are those that nobody knows', async (t) => {
	const { servers, asked } = await nameServer(t, { 'orders.default': null });
	const own = system();
	const lookup = createLookup({ servers, system: own.lookup });
	for (const name of ['localhost', 'orders', 'orders.default']) assert.equal((await lookup(name)).length, 1, name);
	assert.deepEqual(own.asked, ['localhost', 'orders', 'orders.default']);
	assert.deepEqual(new Set(asked), new Set(['orders.default']));
});

test('without a name server, names are the system’s', async () => {
	const own = system();
	const lookup = createLookup({ servers: [`127.0.0.1:${await freePort()}`], system: own.lookup });
	assert.equal((await lookup('printer.office')).length, 1);
	assert.deepEqual(own.asked, ['printer.office']);
});

test('name servers that keep silent hold up no other name, and the system is not asked for it', async (t) => {
	const { servers } = await nameServer(t, { 'fast.test': { [A]: [192, 0, 2, 1] } });
	const own = system();
	const lookup = createLookup({ servers, system: own.lookup });
	const silent = Array.from({ length: 50 }, (_, at) => lookup(`n${at}.silent.test`));
	const ended = Promise.allSettled(silent);
	let isOver = false;
	void ended.then(() => (isOver = true));
	assert.equal((await lookup('fast.test')).length, 1);
	assert.equal(isOver, false, 'the silent ones are waited for');
	for (const one of await ended) assert.equal(one.status === 'rejected' && one.reason.code, 'ETIMEOUT');
	assert.deepEqual(own.asked, []);
});

test('names that nobody knows are asked of the system one at a time, each until it has answered', async (t) => {
	const names = Array.from({ length: 30 }, (_, at) => `n${at}.gone.test`);
	const { servers } = await nameServer(t, Object.fromEntries(names.map((name) => [name, null])));
	const answers: (() => void)[] = [];
	const own = system(() => new Promise((resolve) => answers.push(() => resolve([]))));
	const lookup = createLookup({ servers, system: own.lookup });
	const all = names.map((name) =>
		lookup(name).then(
			() => 'found',
			(error) => error.code,
		),
	);
	const refused = await Promise.any(all);
	assert.equal(refused, 'EAI_AGAIN');
	assert.equal(own.asked.length, 1);
	for (let at = 0; at < 20; at++) {
		answers[at]?.();
		await new Promise(setImmediate);
	}
	const outcomes = await Promise.all(all);
	assert.deepEqual([outcomes.filter((one) => one === 'found').length, own.asked.length], [20, 20]);
});
