import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { silent } from '../../test/helpers/silent.ts';
import { startTracker } from '../../test/helpers/tracker.ts';
import { until } from '../../testing/waiting.ts';
import { VERSION } from '../config/version.ts';
import { GatewayError } from '../contract/errors.ts';
import { createEgress, type Egress } from '../egress/egress.ts';
import { createClient, MAX_WAITING } from './client.ts';
import { MAX_ALIKE_IN_A_MINUTE, MAX_IN_A_MINUTE, Pace } from './pace.ts';
import { createTracker } from './tracker.ts';

const CANARY = 'canary-5f1b';

test('an event has class, code, places and names, and no message', async (t) => {
	const receiver = await startTracker(t);
	const tracker = await createTracker(receiver.dsn, silent);
	const cause = Object.assign(new TypeError(`${CANARY}\n    at ${CANARY} (${import.meta.filename}:7:7)`), { code: 'ECONNREFUSED' });
	const thrown = new RangeError(`the password is ${CANARY}`, { cause });
	const names = { plugin: 'transport:mcp', gateway: 'acme/main', organizationId: 'o-1', requestId: 'r-1' };
	tracker.report({ what: 'a request was answered with 500', thrown, code: 'internal', status: 500, ...names });
	await receiver.arrived(1);
	await tracker.close();
	const [{ path, auth, event, text } = assert.fail()] = receiver.received;
	assert.equal(path, '/api/42/envelope/');
	assert.match(auth, /sentry_key=public/);
	assert.equal(event.release, `gatehouse@${VERSION}`);
	assert.equal(event.level, 'error');
	assert.deepEqual(event.tags, {
		...{ code: 'internal', status: '500', plugin: 'transport:mcp', gateway: 'acme/main' },
		...{ organization: 'o-1', request_id: 'r-1' },
	});
	const [inner, outer] = event.exception.values;
	assert.deepEqual([inner.type, inner.value], ['TypeError', 'its cause (ECONNREFUSED)']);
	assert.deepEqual([outer.type, outer.value], ['RangeError', 'a request was answered with 500']);
	const last = outer.stacktrace.frames.at(-1);
	assert.deepEqual([last.filename, last.in_app], ['app:///core/tracker/tracker.test.ts', true]);
	assert.ok(!text.includes(CANARY), text);
	for (const member of ['request', 'user', 'breadcrumbs', 'server_name', 'message', 'modules'])
		assert.equal(event[member], undefined, member);
});

test('errors of clients are never told, and lines of errors only when they name something thrown', async (t) => {
	const receiver = await startTracker(t);
	const tracker = await createTracker(receiver.dsn, silent);
	const log = tracker.hearing(silent);
	tracker.report({ what: 'a', thrown: new GatewayError('not_found', CANARY) });
	tracker.report({ what: 'a', thrown: new Error(CANARY), code: 'conflict', status: 409 });
	log.error({ err: new GatewayError('validation_failed', CANARY) }, 'a');
	log.error({ lost: 3 }, 'lines were dropped');
	log.warn({ err: new Error(CANARY) }, 'a');
	log.error({ error: new Error(CANARY).stack, plugin: 'transport:mcp', requestId: 'r-2', headers: CANARY }, `said ${CANARY}`);
	await receiver.arrived(1);
	await tracker.close();
	assert.equal(receiver.received.length, 1);
	const { event, text } = receiver.received[0] ?? assert.fail();
	assert.deepEqual(event.tags, { plugin: 'transport:mcp', request_id: 'r-2' });
	assert.equal(event.exception.values[0].value, 'an error that nothing foresaw');
	assert.ok(!text.includes(CANARY), text);
});

test('things that cannot be looked at are told as an error without a class', async (t) => {
	const receiver = await startTracker(t);
	const tracker = await createTracker(receiver.dsn, silent);
	const odd = new Error(CANARY);
	const bad = (): never => {
		throw new Error(CANARY);
	};
	Object.defineProperties(odd, { name: { get: bad }, cause: { get: bad }, stack: { get: bad } });
	for (const [at, thrown] of [odd, CANARY, null, 7, { [CANARY]: CANARY }, new Error(CANARY, { cause: CANARY })].entries())
		tracker.report({ what: `fault ${at}`, thrown });
	tracker.report({ what: 'the last one', thrown: Object.assign(new Error(CANARY), { name: CANARY, code: CANARY }) });
	await tracker.close();
	assert.ok(receiver.received.length >= 6, `${receiver.received.length}`);
	for (const { event, text } of receiver.received) {
		assert.equal(event.exception.values.at(-1).type, 'Error');
		assert.ok(!text.includes(CANARY), text);
	}
});

const LIMITED = [
	{ name: '429 with Retry-After: 60', status: 429, headers: { 'retry-after': '60' }, sent: 1 },
	{ name: '429 with Retry-After: 0', status: 429, headers: { 'retry-after': '0' }, sent: 11 },
	{ name: '200 with X-Sentry-Rate-Limits', status: 200, headers: { 'x-sentry-rate-limits': '60:error:organization' }, sent: 1 },
	{ name: '200 with X-Sentry-Rate-Limits of something else', status: 200, headers: { 'x-sentry-rate-limits': '60:span:key' }, sent: 11 },
];

for (const { name, status, headers, sent } of LIMITED) {
	test(`after a ${name}, ${sent === 1 ? 'nothing more is sent' : 'sending goes on'}`, async (t) => {
		const receiver = await startTracker(t);
		receiver.answers((response) => void response.writeHead(status, headers).end('{}'));
		const egress = createEgress({ allow: ['127.0.0.1'] });
		t.after(() => egress.close());
		let answers = 0;
		const request: Egress['request'] = async (options) => {
			const answer = await egress.request(options);
			answers++;
			return answer;
		};
		const client = createClient({ dsn: receiver.dsn, log: silent, request });
		client.capture({ what: 'first', thrown: new Error() }, 0);
		await until(() => answers === 1, 'an answer');
		for (let more = 0; more < 10; more++) client.capture({ what: `more ${more}`, thrown: new Error() }, 0);
		await client.close(1000);
		assert.equal(receiver.received.length, sent);
	});
}

test('a tracker that never answers holds a bounded number of events, and stopping does not wait for it', async (t) => {
	const receiver = await startTracker(t);
	receiver.answers(null);
	const tracker = await createTracker(receiver.dsn, silent);
	for (let at = 0; at < MAX_IN_A_MINUTE; at++) tracker.report({ what: `fault ${at}`, thrown: null });
	await receiver.arrived(MAX_WAITING);
	await tracker.close();
	assert.equal(receiver.received.length, MAX_WAITING);
});

test('a tracker that is not there is told once in the log', async (t) => {
	const receiver = await startTracker(t);
	const warnings: string[] = [];
	const log = { ...silent, warn: (fields: object, message?: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`) };
	const tracker = await createTracker(receiver.dsn.replace(/:\d+\//, ':1/'), log);
	for (let at = 0; at < 4; at++) tracker.report({ what: `fault ${at}`, thrown: null });
	await tracker.close();
	assert.deepEqual(warnings, ['the error tracker cannot be reached {"reason":"upstream_failed"}']);
});

test('a minute has room for so many faults, and for fewer that are alike; the next one tells how many were held back', () => {
	let nowMs = 0;
	const pace = new Pace(() => nowMs);
	const alike = Array.from({ length: MAX_ALIKE_IN_A_MINUTE + 3 }, () => pace.admit('same'));
	assert.deepEqual(alike, [...Array.from({ length: MAX_ALIKE_IN_A_MINUTE }, () => 0), null, null, null]);
	assert.equal(pace.admit('other'), 3);
	const rest = Array.from({ length: MAX_IN_A_MINUTE }, (_, at) => pace.admit(`other ${at}`));
	assert.equal(rest.filter((held) => held === null).length, MAX_ALIKE_IN_A_MINUTE + 1);
	nowMs = 60_000;
	assert.equal(pace.admit('same'), MAX_ALIKE_IN_A_MINUTE + 1);
});

const LOADS = `
import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
const { createTracker } = await import('./core/tracker/tracker.ts');
await import('./core/service.ts');
const sentry = () => urls.filter((url) => url.includes('/@sentry/')).length;
await createTracker(null, console);
const without = sentry();
await (await createTracker('http://key@127.0.0.1:1/1', console)).close();
console.log(JSON.stringify({ without, isLoadedWith: sentry() > 0 }));`;

test('the client is loaded only with a DSN', () => {
	const cwd = new URL('../..', import.meta.url);
	const told = execFileSync(process.execPath, ['--input-type=module', '-e', LOADS], { cwd, encoding: 'utf8' });
	assert.deepEqual(JSON.parse(told), { without: 0, isLoadedWith: true });
});
