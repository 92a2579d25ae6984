import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './config.ts';
import { describeVariables } from './variables.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'));
after(() => rmSync(folder, { recursive: true }));

const COMPLETE = {
	SVC_DATA_DIR: folder,
	DATABASE_HOST: 'db.internal',
	DATABASE_PORT: '5432',
	DATABASE_USERNAME: 'svc',
	DATABASE_PASSWORD: 'p',
	DATABASE_NAME: 'svc',
	DB_SSL: 'true',
	REDIS_HOST: 'redis.internal',
	REDIS_PORT: '6379',
	JWT_SECRET: 'j'.repeat(64),
	ENCRYPTION_KEY: 'ab'.repeat(32),
};

const faultsOf = (env: Record<string, string | undefined>): string[] => {
	try {
		loadConfig(env);
		return [];
	} catch (error) {
		return (error as Error).message.split('\n').slice(1);
	}
};

test('a complete environment becomes one typed object with the defaults of specification 8.4', () => {
	const config = loadConfig(COMPLETE);
	assert.equal(config.port, 3000);
	assert.equal(config.host, '0.0.0.0');
	assert.equal(config.frontendUrl, 'http://localhost:3002');
	assert.equal(config.metricsRetentionDays, 90);
	assert.equal(config.monitoringWindowSeconds, 300);
	assert.equal(config.migrationsRun, true);
	assert.equal(config.shutdownDelaySeconds, 0);
	assert.deepEqual(config.bullRedis, config.redis);
	assert.equal(loadConfig({ ...COMPLETE, BULL_REDIS_HOST: 'runs.internal' }).bullRedis?.host, 'runs.internal');
	assert.equal(config.localModelAllowPrivateUrls, false);
	assert.deepEqual(config.rateLimit, { max: 100, windowSeconds: 60 });
	assert.deepEqual(config.publicUrls, ['http://localhost:3000']);
	assert.equal(config.database?.ssl, true);
});

test('with DATABASE_HOST every required variable is required, and all that are missing are named at once', () => {
	const required = Object.keys(COMPLETE).filter((name) => !['SVC_DATA_DIR', 'DATABASE_HOST'].includes(name));
	const faults = faultsOf({ DATABASE_HOST: 'db.internal' });
	assert.equal(faults.length, required.length);
	for (const name of required)
		assert.ok(
			faults.some((fault) => fault.includes(`${name} is required`)),
			`${name} is named`,
		);
});

const WRONG: [name: string, value: string, expected: RegExp][] = [
	['PORT', '70000', /PORT must be a port, 1 to 65535/],
	['PORT', '0', /PORT must be a port, 1 to 65535/],
	['PORT', 'http', /PORT must be a port/],
	['HOST', 'a b', /HOST must be an address or host name/],
	['PUBLIC_URL', 'https://a.example/path', /PUBLIC_URL must be an origin/],
	['PUBLIC_URL', 'https://ok.example,ftp://b', /PUBLIC_URL must be an origin/],
	['FRONTEND_URL', 'localhost', /FRONTEND_URL must be an origin/],
	['DB_SSL', 'yes', /DB_SSL must be true or false/],
	['REDIS_SSL', 'rediss', /REDIS_SSL must be true or false/],
	['JWT_SECRET', 'x'.repeat(63), /JWT_SECRET must be a random string of 64 or more characters/],
	['ENCRYPTION_KEY', 'g'.repeat(64), /ENCRYPTION_KEY must be 64 hexadecimal characters/],
	['ENCRYPTION_KEY', 'ab'.repeat(16), /ENCRYPTION_KEY must be 64 hexadecimal characters/],
	['GATEWAY_PLUGINS', '../evil', /GATEWAY_PLUGINS must be npm package names/],
	['EGRESS_ALLOW', '10.0.0.0/40', /EGRESS_ALLOW must be origins/],
	['EGRESS_ALLOW', 'http://a.example/path', /EGRESS_ALLOW must be origins/],
	['TRUST_PROXY', 'true', /TRUST_PROXY must be addresses or CIDRs/],
	['TRUST_PROXY', '10/8', /TRUST_PROXY must be addresses or CIDRs/],
	['WEB_CONCURRENCY', '0', /WEB_CONCURRENCY must be a number of processes/],
	['SHUTDOWN_DELAY_SECONDS', '-1', /SHUTDOWN_DELAY_SECONDS must be seconds, 0 to 300/],
	['SHUTDOWN_DELAY_SECONDS', '301', /SHUTDOWN_DELAY_SECONDS must be seconds, 0 to 300/],
	['RATE_LIMIT_MAX', '-1', /RATE_LIMIT_MAX must be/],
	['METRICS_RETENTION_DAYS', '-1', /METRICS_RETENTION_DAYS must be days/],
	['MAIL_FROM', 'Gatehouse <gate@example.com>', /MAIL_FROM must be the sender address of mails/],
	['MAIL_FROM', 'gate@example.com, evil@example.com', /MAIL_FROM must be/],
	['MAIL_FROM', 'gate', /MAIL_FROM must be/],
	['LOG_FORMAT', 'xml', /LOG_FORMAT must be json or pretty/],
	['METRICS_PORT', '0', /METRICS_PORT must be a port/],
	['METRICS_TOKEN', 'short', /METRICS_TOKEN must be 16 or more characters/],
	['METRICS_TOKEN', 'a token with its spaces', /METRICS_TOKEN must be 16 or more characters/],
	['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', /OTEL_EXPORTER_OTLP_ENDPOINT must be the URL of an OTLP collector/],
	['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://collector', /OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be the URL/],
	['OTEL_EXPORTER_OTLP_HEADERS', 'a-secret-without-its-name', /OTEL_EXPORTER_OTLP_HEADERS must be headers as name=value/],
	['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=%zz-of-a-secret', /OTEL_EXPORTER_OTLP_HEADERS must be headers as name=value/],
	['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or http\/json/],
	['OTEL_RESOURCE_ATTRIBUTES', 'x', /OTEL_RESOURCE_ATTRIBUTES must be attributes/],
	['OTEL_TRACES_SAMPLER', 'jaeger_remote', /OTEL_TRACES_SAMPLER must be one of always_on/],
	['OTEL_TRACES_SAMPLER_ARG', '10', /OTEL_TRACES_SAMPLER_ARG must be a share, 0 to 1/],
	['OTEL_METRIC_EXPORT_INTERVAL', '5', /OTEL_METRIC_EXPORT_INTERVAL must be milliseconds/],
	['OTEL_LOGS_EXPORTER', 'console', /OTEL_LOGS_EXPORTER must be otlp or none/],
	['ERROR_TRACKER_DSN', 'nowhere', /ERROR_TRACKER_DSN must be the DSN/],
	['ERROR_TRACKER_DSN', 'https://tracker.example.com/1', /ERROR_TRACKER_DSN must be the DSN/],
	['ERROR_TRACKER_DSN', 'https://abc123@tracker.example.com', /ERROR_TRACKER_DSN must be the DSN[^\n]*1$/],
];

for (const [name, value, expected] of WRONG) {
	test(`${name}=${value.slice(0, 30)} stops the start, naming the variable and what is expected`, () => {
		const faults = faultsOf({ ...COMPLETE, [name]: value });
		assert.equal(faults.length, 1);
		assert.match(faults[0] ?? '', expected);
		if (value.length > 16) assert.ok(!(faults[0] ?? '').includes(value), 'the value itself is not repeated');
	});
}

test('faults of several variables are reported together', () => {
	assert.equal(faultsOf({ ...COMPLETE, PORT: 'x', DB_SSL: 'x', JWT_SECRET: 'short' }).length, 3);
});

test('Redis is reached without a password and TLS, or as REDIS_USERNAME, REDIS_PASSWORD and REDIS_SSL say, for both uses', () => {
	const usual = { host: COMPLETE.REDIS_HOST, port: Number(COMPLETE.REDIS_PORT), keyPrefix: 'gatehouse:' };
	assert.deepEqual(loadConfig(COMPLETE).redis, { ...usual, ssl: false, username: null, password: null });
	const given = { ...COMPLETE, BULL_REDIS_HOST: 'bull.example' };
	const { redis, bullRedis } = loadConfig({ ...given, REDIS_USERNAME: 'gate', REDIS_PASSWORD: 'open sesame', REDIS_SSL: 'true' });
	assert.deepEqual(redis, { ...usual, ssl: true, username: 'gate', password: 'open sesame' });
	assert.deepEqual(bullRedis, { ...redis, host: 'bull.example' });
	assert.match(
		faultsOf({ ...COMPLETE, REDIS_USERNAME: 'gate' }).join(),
		/^ {2}- REDIS_PASSWORD is required with REDIS_USERNAME: that user’s password$/,
	);
});

test('WEB_CONCURRENCY over 1 needs Redis (decisions, 34)', () => {
	assert.match(faultsOf({ SVC_DATA_DIR: folder, WEB_CONCURRENCY: '2' })[0] ?? '', /needs REDIS_HOST/);
});

test('without DATABASE_HOST the secrets are generated once, kept at mode 0600, and the service listens on loopback', () => {
	const first = loadConfig({ SVC_DATA_DIR: folder });
	const file = join(folder, 'secrets.json');
	assert.equal(statSync(file).mode & 0o777, 0o600);
	assert.equal(first.host, '127.0.0.1');
	assert.equal(first.database, null);
	assert.ok(first.jwtSecret.length >= 64);
	assert.match(first.encryptionKey, /^[0-9a-f]{64}$/);
	const before = readFileSync(file, 'utf8');
	const second = loadConfig({ SVC_DATA_DIR: folder });
	assert.equal(second.jwtSecret, first.jwtSecret);
	assert.equal(readFileSync(file, 'utf8'), before);
});

const SENDERS: [env: Record<string, string>, from: string][] = [
	[{}, 'gatehouse@localhost'],
	[{ PUBLIC_URL: 'https://gate.example:8443,https://other.example' }, 'gatehouse@gate.example'],
	[{ PUBLIC_URL: 'http://10.0.0.1' }, 'gatehouse@localhost'],
	[{ PUBLIC_URL: 'http://[::1]:3000' }, 'gatehouse@localhost'],
	[{ MAIL_USER: 'apikey' }, 'gatehouse@localhost'],
	[{ MAIL_USER: 'gate@mail.example' }, 'gate@mail.example'],
	[{ MAIL_USER: 'gate@mail.example', MAIL_FROM: 'door@mail.example' }, 'door@mail.example'],
];
for (const [env, from] of SENDERS) {
	test(`mails come from ${from} with ${JSON.stringify(env)}`, () => assert.equal(loadConfig({ ...COMPLETE, ...env }).mailFrom, from));
}

test('without MAIL_HOST there is no mail server, whatever the other MAIL_ variables are', () => {
	assert.equal(loadConfig({ ...COMPLETE, MAIL_USER: 'u', MAIL_PASS: 'p' }).mail, null);
	assert.deepEqual(loadConfig({ ...COMPLETE, MAIL_HOST: 'mail.example' }).mail, {
		host: 'mail.example',
		port: 587,
		username: null,
		password: null,
	});
});

test('telemetry is off until it is configured, and each signal has its address', () => {
	const { metrics, otlp, logFormat } = loadConfig(COMPLETE);
	assert.deepEqual([metrics, otlp, logFormat], [null, null, 'json']);
	assert.deepEqual(loadConfig({ ...COMPLETE, METRICS_PORT: '9464' }).metrics, { port: 9464, token: null });
	const given = {
		OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.internal/base/',
		OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs.internal/in',
		OTEL_METRICS_EXPORTER: 'none',
		OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a,x-tenant=one',
	};
	const { traces, metrics: sent, logs, headers } = loadConfig({ ...COMPLETE, ...given }).otlp ?? assert.fail('it is on');
	assert.deepEqual([traces, sent, logs], ['https://collector.internal/base/v1/traces', null, 'http://logs.internal/in']);
	assert.deepEqual(headers, { authorization: 'Bearer a', 'x-tenant': 'one' });
	assert.equal(loadConfig({ ...COMPLETE, OTEL_TRACES_EXPORTER: 'otlp' }).otlp, null);
});

test('every variable of the specification is read under its name', () => {
	const specified =
		'DATABASE_HOST DATABASE_PORT DATABASE_USERNAME DATABASE_PASSWORD DATABASE_NAME DB_SSL REDIS_HOST REDIS_PORT JWT_SECRET ENCRYPTION_KEY ' +
		'RATE_LIMIT_MAX RATE_LIMIT_TTL METRICS_RETENTION_DAYS MONITORING_STATS_WINDOW_SECONDS PORT FRONTEND_URL DB_MIGRATIONS_RUN ' +
		'MAIL_HOST MAIL_PORT MAIL_USER MAIL_PASS BULL_REDIS_HOST LOCALMODEL_ALLOW_PRIVATE_URLS';
	const names = describeVariables().map(({ name }) => name);
	for (const name of specified.split(' ')) assert.ok(names.includes(name), name);
});
