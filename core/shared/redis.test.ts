// Scripts beside other commands on a real Redis, and a Redis that hangs.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { elapsing, isBeforeTimer, until } from '../../test/helpers/clock.ts';
import { startRedis, type TestRedis, testRedis } from '../../test/helpers/redis.ts';
import { silent } from '../../test/helpers/silent.ts';
import { LOOPBACK_CERTIFICATE, tlsFront, tlsListener, trust } from '../../test/helpers/upstream.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../contract/nouns.ts';
import { connectCarrier, connectLanes, createShared, defineScript, type Shared } from './redis.ts';

const TWICE = defineScript('return ARGV[1] * 2');

async function open<Server extends TestRedis>(t: TestContext, redis: Server): Promise<{ redis: Server; shared: Shared }> {
	const { host, port } = redis;
	const shared = await createShared({ host, port, keyPrefix: `gatehouse-test-${randomBytes(6).toString('hex')}:` }, silent);
	t.after(async () => {
		await shared.close();
		await redis.stop();
	});
	return { redis, shared };
}

test('a script that Redis has never seen gets its own answer, and so do the commands sent beside it', async (t) => {
	const { shared } = await open(t, await testRedis());
	const kv = shared.keyValue('kv:');
	await Promise.all(['a', 'b'].map((key) => kv.put(key, key, 5000)));
	const unseen = defineScript(`return tonumber(ARGV[1]) + #KEYS -- ${randomBytes(6).toString('hex')}`);
	const answers = await Promise.all([kv.get('a'), shared.run(unseen, ['x', 'y'], [40]), kv.get('b'), shared.run(unseen, [], [1])]);
	assert.deepEqual(answers, ['a', [42], 'b', [1]]);
});

test('commands in progress when the connection is closed get their own answer or fail; later ones fail', async (t) => {
	const { shared } = await open(t, await testRedis());
	const commands = [shared.run(TWICE, [], [1]), shared.keyValue('kv:').putIfAbsent('a', 'b', 100), shared.run(TWICE, [], [2])];
	await shared.close();
	const [first, second, third, late] = await Promise.allSettled([...commands, shared.run(TWICE, [], [3])]);
	for (const [settled, value] of [[first, [2]] as const, [second, true] as const, [third, [4]] as const]) {
		if (settled?.status === 'fulfilled') assert.deepEqual(settled.value, value);
		else assert.equal(settled?.reason.code, 'unavailable');
	}
	assert.equal(late?.status === 'rejected' && late.reason.code, 'unavailable');
});

test('every connection is made as the user and by TLS, as configured; one with another password or certificate is refused, and the password is not logged', async (t) => {
	const redis = await startRedis(undefined, [
		'--requirepass',
		'of-the-default-user',
		...'--user gate on >open-sesame ~* &* +@all'.split(' '),
	]);
	t.after(() => redis.stop());
	const front = await tlsFront(t, redis.port);
	const target = { host: '127.0.0.1', port: front.port, keyPrefix: 'p:', username: 'gate', password: 'open-sesame', ssl: true };
	const lines: string[] = [];
	const told: Log = { ...silent, warn: (...line: unknown[]) => void lines.push(JSON.stringify(line)) };
	const answerOf = async (changed: Partial<NonNullable<Config['redis']>>): Promise<number[] | string> => {
		const shared = await createShared({ ...target, ...changed }, told);
		t.after(() => shared.close());
		return shared.run(TWICE, [], [21]).catch(({ code }) => code);
	};
	assert.equal(await answerOf({}), 'unavailable', 'nobody trusts the certificate yet');
	trust(t, LOOPBACK_CERTIFICATE);
	assert.deepEqual(await answerOf({}), [42]);
	assert.deepEqual(await answerOf({ username: null, password: 'of-the-default-user' }), [42]);
	assert.deepEqual(await answerOf({ ssl: false, port: redis.port }), [42]);
	assert.equal(await answerOf({ host: 'localhost' }), 'unavailable', 'the certificate is for the address');
	assert.equal(await answerOf({ password: 'open-sesam' }), 'unavailable');
	assert.equal(await answerOf({ username: null }), 'unavailable');
	const names: string[] = [];
	const listener = await tlsListener(t, (name) => names.push(name));
	assert.equal(await answerOf({ host: 'localhost', port: listener.port }), 'unavailable');
	assert.deepEqual([...new Set(names)], ['localhost'], 'servers of several names are told which one is meant');
	for (const said of [/self-signed certificate/, /altnames/, /WRONGPASS/]) assert.match(lines.join('\n'), said);
	assert.doesNotMatch(lines.join('\n'), /sesam|default-user/);

	const lanes = connectLanes(target);
	const follower = lanes.duplicate();
	const { publisher, subscriber } = connectCarrier(target);
	t.after(() => [lanes, follower, publisher, subscriber].map((client) => client.disconnect()));
	const heard = new Promise((resolve) => subscriber.on('message', (_channel, message) => resolve(message)));
	await Promise.all([publisher.connect(), subscriber.connect()]);
	await until(() => lanes.status === 'ready' && follower.status === 'ready', 'both connections of the lanes are made');
	await Promise.all([subscriber.subscribe('news'), follower.subscribe('lanes')]);
	await publisher.publish('news', 'arrived');
	assert.equal(await heard, 'arrived');
	assert.match(String(await lanes.call('ACL', 'WHOAMI')), /^gate$/);
});

test('calls wait 100 ms for a Redis that hangs, and succeed again when it continues', async (t) => {
	const { redis, shared } = await open(t, await startRedis());
	redis.signal('SIGSTOP');
	const refused = assert.rejects(shared.run(TWICE, [], [1]), { code: 'unavailable' });
	assert.ok(await isBeforeTimer(300, refused), 'nothing but a timer of 100 ms ends it');
	await refused;
	redis.signal('SIGCONT');
	assert.deepEqual(await shared.run(TWICE, [], [21]), [42]);
});

test('an answer that came while this process was busy is read before it counts as late', async (t) => {
	const { shared } = await open(t, await testRedis());
	await shared.run(TWICE, [], [1]);
	const answer = shared.run(TWICE, [], [21]);
	const isOver = elapsing(200);
	while (!isOver());
	assert.deepEqual(await answer, [42]);
});

test('a Redis that is down does not prevent the start, and its calls fail at once', async (t) => {
	const ended = await startRedis();
	await ended.stop();
	const { shared } = await open(t, ended);
	const refused = assert.rejects(shared.ping(), { code: 'unavailable' });
	assert.ok(await isBeforeTimer(900, refused), 'a Redis that hangs is waited for a second');
	await refused;
});

test('a Redis that has become a replica is connected to anew, since its name may lead to another one', async (t) => {
	const { redis, shared } = await open(t, await startRedis());
	const kv = shared.keyValue('kv:');
	await kv.put('a', 'a', 60_000);
	const admin = new Redis({ host: redis.host, port: redis.port });
	t.after(() => admin.disconnect());
	const ours = async (): Promise<string> =>
		String(await admin.client('LIST'))
			.split('\n')
			.filter((line) => !line.includes('cmd=client'))
			.map((line) => line.split(' ')[0])
			.join();
	const before = await ours();
	await admin.call('REPLICAOF', '127.0.0.1', '1');
	await assert.rejects(kv.put('b', 'b', 60_000), { code: 'unavailable' });
	await until(async () => !['', before].includes(await ours()), 'there is another connection');
	await admin.call('REPLICAOF', 'NO', 'ONE');
	await until(
		() =>
			kv.put('b', 'b', 60_000).then(
				() => true,
				() => false,
			),
		'it writes again',
	);
});
