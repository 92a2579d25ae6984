// The variables of the environment: what each is for, what is expected of it, and its default.

import Joi from 'joi';
import { parseRange } from '../kit/ip-addresses.ts';
import { isBareAddress } from '../kit/mail-address.ts';
import { TELEMETRY_PURPOSES, TELEMETRY_VARIABLES } from '../telemetry/variables.ts';
import { dsn } from './dsn.ts';

const origin = (value: string, helpers: Joi.CustomHelpers): unknown => {
	if (!URL.canParse(value)) return helpers.error('any.invalid');
	const url = new URL(value);
	const bare = /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
	return bare ? url.origin : helpers.error('any.invalid');
};

const addressOrCidr = (value: string, helpers: Joi.CustomHelpers): unknown => (parseRange(value) ? value : helpers.error('any.invalid'));

const originAddressOrCidr = (value: string, helpers: Joi.CustomHelpers): unknown => (parseRange(value) ? value : origin(value, helpers));

const mailAddress = (value: string, helpers: Joi.CustomHelpers): unknown => (isBareAddress(value) ? value : helpers.error('any.invalid'));

const ORIGIN = 'an origin such as https://gatehouse.example.com, without a path';

/** A list, comma-separated in the environment. */
const list = (item: Joi.Schema): Joi.ArraySchema => Joi.array().items(item).default([]);
const port = Joi.number().port().min(1).label('a port, 1 to 65535');
const flag = Joi.boolean().label('true or false');
const encryptionKey = Joi.string().pattern(/^[0-9a-fA-F]{64}$/);
const filled = Joi.string().min(1);

/** Every variable; its label says what is expected, and is used in the error message. */
export const VARIABLES = {
	PORT: port.default(3000),
	HOST: Joi.string().hostname().label('an address or host name to listen on'),
	PUBLIC_URL: list(Joi.string().custom(origin)).label(`${ORIGIN} (several separated by commas)`),
	FRONTEND_URL: Joi.string().custom(origin).default('http://localhost:3002').label(ORIGIN),
	DATABASE_HOST: filled.label('the host of PostgreSQL'),
	DATABASE_PORT: port,
	DATABASE_USERNAME: filled.label('a role of PostgreSQL'),
	DATABASE_PASSWORD: Joi.string().allow('').label('that role’s password (may be empty)'),
	DATABASE_NAME: filled.label('the name of the database'),
	DB_SSL: flag,
	DB_MIGRATIONS_RUN: flag.default(true),
	REDIS_HOST: filled.label('the host of Redis'),
	REDIS_PORT: port,
	REDIS_USERNAME: filled.label('a user of Redis (else its default user)'),
	REDIS_PASSWORD: filled.label('that user’s password'),
	REDIS_SSL: flag.default(false),
	BULL_REDIS_HOST: filled.label('the host of the Redis for what runs may lose: their announcements and live events'),
	JWT_SECRET: Joi.string().min(64).label('a random string of 64 or more characters'),
	ENCRYPTION_KEY: encryptionKey.label('64 hexadecimal characters (32 bytes)'),
	ENCRYPTION_KEY_FORMER: list(encryptionKey).label('keys of 64 hexadecimal characters separated by commas'),
	SVC_DATA_DIR: filled.default('.gatehouse').label('a folder that the service may write to'),
	GATEWAY_PLUGINS: list(Joi.string().pattern(/^(@[a-z0-9-~][a-z0-9-._~]*\/)?[a-z0-9-~][a-z0-9-._~]*$/)).label(
		'npm package names separated by commas',
	),
	GATEWAY_PLUGINS_CONFIG: filled.label('a YAML or JSON file with the configuration of plugins by kind:name'),
	EGRESS_ALLOW: list(Joi.string().custom(originAddressOrCidr)).label(
		'origins (http://127.0.0.1:4000), addresses or CIDRs separated by commas',
	),
	TRUST_PROXY: list(Joi.string().custom(addressOrCidr)).label('addresses or CIDRs of proxies separated by commas'),
	WEB_CONCURRENCY: Joi.number().integer().min(1).max(256).default(1).label('a number of processes, 1 to 256'),
	SHUTDOWN_DELAY_SECONDS: Joi.number().integer().min(0).max(300).default(0).label('seconds, 0 to 300'),
	RATE_LIMIT_MAX: Joi.number().integer().min(1).default(100).label('a number of requests, 1 or more'),
	RATE_LIMIT_TTL: Joi.number().integer().min(1).max(86_400).default(60).label('seconds, 1 to 86400'),
	METRICS_RETENTION_DAYS: Joi.number().integer().min(0).default(90).label('days, 0 or more (0 disables pruning)'),
	MONITORING_STATS_WINDOW_SECONDS: Joi.number().integer().min(1).default(300).label('seconds, 1 or more'),
	MAIL_HOST: filled.label('the host of a mail server'),
	MAIL_PORT: port.default(587),
	MAIL_USER: filled.label('a user of the mail server'),
	MAIL_PASS: filled.label('that user’s password'),
	MAIL_FROM: Joi.string().custom(mailAddress).label('the sender address of mails, without a name'),
	ERROR_TRACKER_DSN: dsn.label('the DSN of an error tracker, such as https://key@tracker.example.com/1'),
	LOCALMODEL_ALLOW_PRIVATE_URLS: flag.default(false),
	LOG_LEVEL: Joi.string()
		.valid('silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace')
		.default('info')
		.label('one of silent, fatal, error, warn, info, debug, trace'),
	...TELEMETRY_VARIABLES,
} as const satisfies Record<string, Joi.Schema>;

/** The purposes of the variables, for operators; empty where the name and the one before say it. */
export const PURPOSES: Readonly<Record<keyof typeof VARIABLES, string>> = {
	PORT: 'the port that it listens on',
	HOST: 'the address that it listens on',
	PUBLIC_URL: 'where clients reach it, through a proxy if there is one: in links, cookies and the OAuth issuer',
	FRONTEND_URL: 'a frontend of your own: its browsers may call, and links in mails lead there',
	DATABASE_HOST: 'your PostgreSQL',
	DATABASE_PORT: '',
	DATABASE_USERNAME: '',
	DATABASE_PASSWORD: '',
	DATABASE_NAME: '',
	DB_SSL: 'encrypts the connection to PostgreSQL',
	DB_MIGRATIONS_RUN: 'updates the tables at the start; else `npm run migrate` does',
	REDIS_HOST: 'your Redis, which replicas share limits and caches through',
	REDIS_PORT: '',
	REDIS_USERNAME: '',
	REDIS_PASSWORD: '',
	REDIS_SSL: 'encrypts the connection to Redis',
	BULL_REDIS_HOST: 'another Redis for events of runs, with the same port, user and encryption',
	JWT_SECRET: 'signs login tokens',
	ENCRYPTION_KEY: 'encrypts stored credentials',
	ENCRYPTION_KEY_FORMER: 'further keys that open what they encrypted, while the key is replaced',
	SVC_DATA_DIR: 'the embedded database, secrets and mails',
	GATEWAY_PLUGINS: 'plugins from npm',
	GATEWAY_PLUGINS_CONFIG: 'configures plugins',
	EGRESS_ALLOW: 'private addresses that APIs and tools may call',
	TRUST_PROXY: 'proxies whose `X-Forwarded-For` names the caller',
	WEB_CONCURRENCY: 'uses several cores of one machine',
	SHUTDOWN_DELAY_SECONDS: 'keeps serving after a stop signal, until load balancers have noticed',
	RATE_LIMIT_MAX: 'requests of one client where no other limit applies',
	RATE_LIMIT_TTL: 'the time in which they are counted',
	METRICS_RETENTION_DAYS: 'keeps the request log, its sums and finished runs',
	MONITORING_STATS_WINDOW_SECONDS: 'the window of live statistics, of which an hour at most is shown',
	MAIL_HOST: 'sends mail; without it, mails are files in `SVC_DATA_DIR`',
	MAIL_PORT: '',
	MAIL_USER: '',
	MAIL_PASS: '',
	MAIL_FROM: 'the sender of mails',
	ERROR_TRACKER_DSN: 'a tracker that speaks Sentry’s protocol: it is told of server errors, without their input',
	LOCALMODEL_ALLOW_PRIVATE_URLS: 'lets local models be at private addresses',
	LOG_LEVEL: 'how much is logged',
	...TELEMETRY_PURPOSES,
};

/** Required with DATABASE_HOST only: the embedded database needs none of these. */
export const REQUIRED = [
	'DATABASE_PORT',
	'DATABASE_USERNAME',
	'DATABASE_PASSWORD',
	'DATABASE_NAME',
	'DB_SSL',
	'REDIS_HOST',
	'REDIS_PORT',
	'JWT_SECRET',
	'ENCRYPTION_KEY',
] as const;

/** Describes every variable for the README's table, from the schemas that check it. */
export function describeVariables(): { name: string; purpose: string; expected: string; fallback: string }[] {
	return Object.entries(PURPOSES).map(([name, purpose]) => ({ name, purpose, expected: expected(name), fallback: fallback(name) }));
}

function fallback(name: string): string {
	if (name === 'DATABASE_HOST') return 'the embedded database';
	if ((REQUIRED as readonly string[]).includes(name)) return 'required with `DATABASE_HOST`';
	if (name === 'HOST') return '127.0.0.1 embedded, else 0.0.0.0';
	if (name === 'PUBLIC_URL') return 'http://`HOST`:`PORT`';
	if (name === 'BULL_REDIS_HOST') return '`REDIS_HOST`';
	if (name === 'MAIL_FROM') return '`MAIL_USER` if it is an address, else gatehouse@ the host of `PUBLIC_URL`';
	const { flags } = describeVariable(name);
	return flags?.default === undefined || Array.isArray(flags.default) ? 'none' : String(flags.default);
}

/** Returns what a variable is expected to be. */
export const expected = (name: string): string => describeVariable(name).flags?.label ?? 'set';

function describeVariable(name: string): { flags?: { label?: string; default?: unknown } } {
	return (VARIABLES[name as keyof typeof VARIABLES] as Joi.Schema).describe();
}
