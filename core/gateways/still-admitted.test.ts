// Tests how the callers of open streams are checked again: when something has changed, together, and until their rights end.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { until } from '../../test/helpers/clock.ts';
import { sampleCaller, sampleGateway } from '../../testing/samples.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Caller } from '../contract/nouns.ts';
import type { Topic } from '../store/store.ts';
import { StillAdmitted, type StreamCaller } from './still-admitted.ts';

const GATEWAY = sampleGateway();
const CALLER = sampleCaller({ keyId: 'key' });
const WHO: StreamCaller = { plugin: 'transport:mcp', organizationId: GATEWAY.organizationId, gateway: GATEWAY, caller: CALLER };
const ORG: Topic = `org:${GATEWAY.organizationId}`;

/** Streams, and the answers of the checks. */
function scene(answer: () => Promise<Caller> = async () => CALLER) {
	let listener: ((topics: Topic[]) => void) | null = null;
	const state = { answer, checks: 0, warned: 0 };
	const admitted = new StillAdmitted({
		changes: {
			subscribe: (one) => {
				listener = one;
				return () => {
					listener = null;
				};
			},
		},
		log: { warn: () => void state.warned++ },
		check: () => {
			state.checks += 1;
			return state.answer();
		},
	});
	return { state, admitted, tell: (...topics: Topic[]) => listener?.(topics), isListening: () => listener !== null };
}

const refusing = (code: ConstructorParameters<typeof GatewayError>[0]) => async () => {
	throw new GatewayError(code, 'No longer.');
};

test('a caller is checked once as the stream opens, and again after a change that concerns them, for all of their streams together', async () => {
	const { state, admitted, tell } = scene();
	const [one, two] = [admitted.follow(WHO), admitted.follow(WHO)];
	await until(() => state.checks === 1, 'the first check');
	assert.equal(admitted.size, 1);
	tell('org:00000000-0000-4000-8000-00000000ffff');
	tell(ORG, ORG);
	tell(ORG);
	await until(() => state.checks === 2, 'the check after the change');
	state.answer = refusing('forbidden');
	tell(`user:${CALLER.userId}`);
	await until(() => one.signal.aborted && two.signal.aborted, 'both streams end');
	assert.equal(one.signal.reason.code, 'forbidden');
	assert.equal(admitted.size, 0);
	one.leave();
	two.leave();
});

for (const code of ['forbidden', 'not_found', 'unauthorized'] as const)
	test(`a check that says ${code} ends the stream`, async () => {
		const { admitted } = scene(refusing(code));
		const { signal } = admitted.follow(WHO);
		await until(() => signal.aborted, 'it ends');
		assert.equal(signal.reason.code, code);
	});

test('a caller who has lost a scope is out, one who got another is not', async () => {
	const { admitted } = scene(async () => ({ ...CALLER, scopes: ['tools:read'] }));
	const { signal } = admitted.follow(WHO);
	await until(() => signal.aborted, 'it ends');
	assert.match(signal.reason.message, /lost a scope/);
	const more = scene();
	const reader = more.admitted.follow({ ...WHO, caller: { ...CALLER, scopes: ['tools:read'] } });
	await until(() => more.state.checks === 1, 'the check');
	assert.equal(reader.signal.aborted, false);
	more.admitted.close();
});

test('an outage ends nothing, and the check comes again; a fault of a plugin ends the stream and is logged', async () => {
	const { state, admitted } = scene(refusing('unavailable'));
	const { signal } = admitted.follow(WHO);
	await until(() => state.checks === 2, 'it is checked again');
	assert.equal(signal.aborted, false);
	state.answer = async () => {
		throw new TypeError('A bug.');
	};
	await until(() => signal.aborted, 'it ends');
	assert.deepEqual([signal.reason.code, state.warned], ['unavailable', 1]);
});

test('a credential with an end is checked at its end', async () => {
	mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
	try {
		const { state, admitted } = scene();
		admitted.follow({ ...WHO, caller: { ...CALLER, expiresAt: new Date(1_000_000 + 3_600_000) } });
		const turn = async (ms: number): Promise<void> => {
			mock.timers.tick(ms);
			for (let at = 0; at < 10; at++) await Promise.resolve();
		};
		await turn(1);
		assert.equal(state.checks, 1);
		await turn(600);
		await turn(3_000_000);
		assert.equal(state.checks, 1, 'not before');
		await turn(600_000);
		assert.equal(state.checks, 2);
		admitted.close();
	} finally {
		mock.timers.reset();
	}
});

test('records concern those whose credentials are in them, and not holders of Gatehouse’s own', async () => {
	const { state, admitted, tell } = scene();
	admitted.follow(WHO);
	admitted.follow({ ...WHO, caller: sampleCaller({ method: 'oauth2', subject: 'client:1' }) });
	await until(() => state.checks === 2, 'the first checks');
	tell('record:5');
	await until(() => state.checks === 3, 'the one with a record is checked');
	tell('*');
	await until(() => state.checks === 5, 'both are checked');
	admitted.close();
});

test('who leaves is forgotten, leaving twice counts once, and closing ends the subscription', async () => {
	const { admitted, isListening } = scene();
	const [one, two] = [admitted.follow(WHO), admitted.follow(WHO)];
	one.leave();
	one.leave();
	assert.equal(admitted.size, 1);
	two.leave();
	assert.equal(admitted.size, 0);
	admitted.follow(WHO);
	admitted.close();
	assert.deepEqual([admitted.size, isListening()], [0, false]);
});
