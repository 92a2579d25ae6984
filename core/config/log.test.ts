import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { createLog, type LogFormat } from './log.ts';

const CANARY = 'canary7e5aX0123456789';
const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI${CANARY}.c2lnbmF0dXJl${CANARY}`;

/** Writes lines, and returns their texts. */
function written(write: (log: ReturnType<typeof createLog>) => void, format: LogFormat = 'json'): string[] {
	const lines: string[] = [];
	write(createLog('trace', { write: (line: string) => void lines.push(line) }, format));
	return lines;
}

function failing(): Error {
	const inner = new Error(`the upstream at https://user:${CANARY}@api.example refused Bearer ${CANARY}`);
	const middle = new Error(`it answered ${JWT}`, { cause: inner });
	return new Error(`GET /items?limit=1&api_key=${CANARY}&page=2 failed`, { cause: middle });
}

const PLACES: Record<string, object> = {
	'a field with the name of a secret': { password: CANARY, token: CANARY, apiKey: CANARY, cookie: CANARY },
	headers: { headers: { authorization: CANARY, cookie: CANARY } },
	'a member of a field': { credential: { secret: CANARY, key: CANARY } },
	'a path with one of our keys': { path: `/acme/main/svc_gw_${CANARY}AbCdEfGh`, other: `ak_live_${CANARY}AbCdEf` },
	'a key of a provider': { model: `sk-ant-${CANARY}AbCdEf` },
	'a signed token in a name': { caller: JWT },
	'a credential of a header, in a text': { said: `Authorization: Bearer ${CANARY}`, basic: `Basic ${CANARY}==` },
	'a query': { target: `/x?q=1&access_token=${CANARY}&b=2` },
	'a query with the code of a device': { target: `/device?user_code=${CANARY.slice(0, 9)}` },
	'an address': { url: `postgres://gate:${CANARY}@db.internal:5432/x` },
	'an error with its causes': { err: failing() },
	'the text of a stack': { error: failing().stack },
	'a user agent': { userAgent: `curl/8 (Bearer ${CANARY})` },
};

for (const [place, fields] of Object.entries(PLACES))
	for (const format of ['json', 'pretty'] as const)
		test(`the log hides a secret in ${place}, as ${format}`, () => {
			const [line = ''] = written((log) => log.error(fields, 'it failed'), format);
			assert.ok(line.includes('it failed') && line.includes('[secret]'), line);
			assert.ok(!line.includes('canary'), line);
		});

test('the text of a line hides one, too, and what is beside it stays', () => {
	const [line = ''] = written((log) => log.warn({ host: 'api.example' }, `asked https://u:${CANARY}@api.example/a?token=${CANARY}&page=2`));
	assert.equal(JSON.parse(line).msg, 'asked https://[secret]@api.example/a?token=[secret]&page=2');
	assert.equal(JSON.parse(line).host, 'api.example');
});

test('the log hides a name and a password that are short, and no word after the name of the scheme', () => {
	for (const pair of ['a:', 'ab:cd', 'ada:secret', 'ada:secret7']) {
		const [line = ''] = written((log) => log.info({}, `sent Basic ${Buffer.from(pair).toString('base64')} to it`));
		assert.equal(JSON.parse(line).msg, 'sent Basic [secret] to it');
	}
	const text = 'Basic auth, basic usage and Basic YWRh: basic_auth';
	assert.equal(JSON.parse(written((log) => log.info({}, text))[0] ?? '').msg, text);
});

test('what looks like no credential is left as it is', () => {
	const text = 'basic authentication at https://api.example/tokens?limit=5&cursor=abc of task-force-seventeen-members; key=1';
	const [line = ''] = written((log) => log.info({ text }, 'said'));
	assert.equal(JSON.parse(line).text, text);
});

test('levels are words, and times have milliseconds', () => {
	const lines = written((log) => {
		log.debug({}, 'a');
		log.info({}, 'b');
		log.warn({}, 'c');
		log.error({}, 'd');
	}).map((line) => JSON.parse(line));
	assert.deepEqual(
		lines.map(({ level, msg }) => `${level} ${msg}`),
		['debug a', 'info b', 'warn c', 'error d'],
	);
	assert.match(lines[0].time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('lines for people have the time, the level, the text, the fields and the stack of an error', () => {
	const [line = '', failed = ''] = written((log) => {
		log.info({ path: '/acme/main', status: 200, note: 'two words' }, 'request');
		log.error({ err: new Error('broken') }, 'failed');
	}, 'pretty').map(stripVTControlCharacters);
	assert.match(line, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}request path=\/acme\/main status=200 note="two words"\n$/);
	assert.match(failed, /ERROR failed\n {2}Error: broken\n {6}at /);
});

test('a line is given to somebody else as it is written, until that ends', () => {
	const lines: string[] = [];
	const told: string[] = [];
	const log = createLog('info', { write: (line: string) => void lines.push(line) });
	log.tee((line) => void told.push(line));
	log.info({ path: `/svc_gw_${CANARY}AbCdEfGh` }, 'one');
	log.tee(null);
	log.info({}, 'two');
	assert.deepEqual(told, lines.slice(0, 1));
	assert.equal(lines.length, 2);
	assert.ok(!told[0]?.includes('canary'));
});
