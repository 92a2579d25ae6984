// The only reader of the environment: every variable by name, checked together, returned as one typed object.

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type Joi from 'joi';
import { isBareAddress } from '../kit/mail-address.ts';
import { type OwnSecrets, ownSecrets, prepareFolder } from '../process/data-folder.ts';
import { reachableOrigin } from '../process/listening.ts';
import { type TelemetryConfig, telemetryOf } from '../telemetry/variables.ts';
import { type PluginsConfig, readPluginsConfig } from './plugins-config.ts';
import { expected, REQUIRED, VARIABLES } from './variables.ts';

export interface Config extends TelemetryConfig {
	port: number;
	host: string;
	/** Origins under which clients reach the service, without a trailing slash. The first is the default issuer. */
	publicUrls: [string, ...string[]];
	frontendUrl: string;
	/** Null for the embedded database under `dataDir`. */
	database: { host: string; port: number; username: string; password: string; name: string; ssl: boolean } | null;
	migrationsRun: boolean;
	/** Null without Redis: shared within this process only. */
	redis: { host: string; port: number; keyPrefix: string; username?: string | null; password?: string | null; ssl?: boolean } | null;
	/** The Redis for announcements of runs; null: PostgreSQL carries them. */
	bullRedis: Config['redis'];
	jwtSecret: string;
	encryptionKey: string;
	/** Further keys, which open what they sealed. */
	formerKeys: string[];
	dataDir: string;
	/** npm package names. */
	plugins: string[];
	/** Reads the operator's configuration of plugins, which holds secrets; null without a file. @throws Error listing its faults */
	pluginsConfig: (() => Promise<PluginsConfig>) | null;
	/** Origins, addresses and CIDRs that the operator opens to outbound calls. */
	egressAllow: string[];
	/** Addresses and CIDRs of the proxies whose X-Forwarded-For is trusted. */
	trustProxy: string[];
	webConcurrency: number;
	/** Time in which requests are still served after a stop signal, while readiness already fails for load balancers. */
	shutdownDelaySeconds: number;
	rateLimit: { max: number; windowSeconds: number };
	metricsRetentionDays: number;
	monitoringWindowSeconds: number;
	/** Null without a mail server: mails are written into `dataDir`. */
	mail: { host: string; port: number; username: string | null; password: string | null } | null;
	/** The sender address of mails. */
	mailFrom: string;
	/** Null: errors are only logged. */
	errorTrackerDsn: string | null;
	localModelAllowPrivateUrls: boolean;
	logLevel: string;
}

/** The prefix of every key in Redis; not a variable, since two installations do not share a Redis. */
const KEY_PREFIX = 'gatehouse:';

const redisAt = (host: string | null, values: Record<string, unknown>): Config['redis'] =>
	host === null
		? null
		: {
				...{ host, port: values['REDIS_PORT'] as number, keyPrefix: KEY_PREFIX, ssl: values['REDIS_SSL'] as boolean },
				username: (values['REDIS_USERNAME'] as string | undefined) ?? null,
				password: (values['REDIS_PASSWORD'] as string | undefined) ?? null,
			};

type Env = Record<string, string | undefined>;

/** Returns the environment of a process that this one starts. */
export const environmentWith = (values: Readonly<Record<string, string>>): Env => ({ ...process.env, ...values });

/** The environment as one checked object: files and folders of the machine are not looked at. */
export type CheckedConfig = Omit<Config, keyof OwnSecrets> & { [Name in keyof OwnSecrets]: string | null };

/** Loads the configuration. @throws Error listing every variable that is missing or wrong; Error naming the data folder */
export function loadConfig(env: Env = process.env): Config {
	return completeConfig(checkConfig(env));
}

/** Adds the secrets of the data folder, which is created and checked if the embedded database is used. @throws Error naming the folder */
export function completeConfig(config: CheckedConfig): Config {
	if (config.database === null) prepareFolder(config.dataDir);
	const { jwtSecret, encryptionKey } = config;
	if (jwtSecret !== null && encryptionKey !== null) return { ...config, jwtSecret, encryptionKey };
	const kept = ownSecrets(config.dataDir);
	return { ...config, jwtSecret: jwtSecret ?? kept.jwtSecret, encryptionKey: encryptionKey ?? kept.encryptionKey };
}

/** Checks the environment. @throws Error listing every variable that is missing or wrong, and what is expected */
export function checkConfig(env: Env = process.env): CheckedConfig {
	const faults: string[] = [];
	const values = readAll(env, faults);
	const embedded = values['DATABASE_HOST'] === undefined;
	if (!embedded)
		for (const name of REQUIRED)
			if (values[name] === undefined && !mentions(faults, name)) faults.push(`${name} is required: ${expected(name)}`);
	if (values['REDIS_HOST'] !== undefined && values['REDIS_PORT'] === undefined && !mentions(faults, 'REDIS_PORT'))
		faults.push(`REDIS_PORT is required with REDIS_HOST: ${expected('REDIS_PORT')}`);
	if (values['REDIS_USERNAME'] !== undefined && values['REDIS_PASSWORD'] === undefined)
		faults.push(`REDIS_PASSWORD is required with REDIS_USERNAME: ${expected('REDIS_PASSWORD')}`);
	if (Number(values['WEB_CONCURRENCY']) > 1 && values['REDIS_HOST'] === undefined)
		faults.push('WEB_CONCURRENCY over 1 needs REDIS_HOST: processes share their limits through Redis');
	if (faults.length > 0) throw new Error(`The configuration is invalid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
	return { ...assemble(values, embedded), pluginsConfig: pluginsConfig(values, env) };
}

type Values = Record<string, unknown>;

function readAll(env: Env, faults: string[]): Values {
	const values: Values = {};
	for (const [name, schema] of Object.entries(VARIABLES) as [string, Joi.Schema][]) {
		const text = env[name]?.trim();
		const raw = text === '' && name !== 'DATABASE_PASSWORD' ? undefined : text;
		const { value, error } = schema.validate(schema.type === 'array' ? split(raw) : raw, { convert: true });
		if (error) faults.push(`${name} must be ${expected(name)}`);
		else values[name] = value;
	}
	return values;
}

const split = (text: string | undefined): string[] | undefined =>
	text
		?.split(',')
		.map((part) => part.trim())
		.filter(Boolean);

const mentions = (faults: string[], name: string): boolean => faults.some((fault) => fault.startsWith(`${name} `));

// `values` has passed the schemas of VARIABLES, so each cast below names the type that its schema yields.
function assemble(values: Values, embedded: boolean): Omit<CheckedConfig, 'pluginsConfig'> {
	const host = (values['HOST'] as string | undefined) ?? (embedded ? '127.0.0.1' : '0.0.0.0');
	const dataDir = resolve(values['SVC_DATA_DIR'] as string);
	const ownUrl = reachableOrigin({ host, port: values['PORT'] as number }, 'localhost');
	const [firstUrl = ownUrl, ...otherUrls] = values['PUBLIC_URL'] as string[];
	const redisHost = (values['REDIS_HOST'] as string | undefined) ?? null;
	return {
		port: values['PORT'] as number,
		host,
		publicUrls: [firstUrl, ...otherUrls],
		frontendUrl: values['FRONTEND_URL'] as string,
		database: embedded
			? null
			: {
					host: values['DATABASE_HOST'] as string,
					port: values['DATABASE_PORT'] as number,
					username: values['DATABASE_USERNAME'] as string,
					password: values['DATABASE_PASSWORD'] as string,
					name: values['DATABASE_NAME'] as string,
					ssl: values['DB_SSL'] as boolean,
				},
		migrationsRun: values['DB_MIGRATIONS_RUN'] as boolean,
		redis: redisAt(redisHost, values),
		bullRedis: redisAt((values['BULL_REDIS_HOST'] as string | undefined) ?? redisHost, values),
		jwtSecret: (values['JWT_SECRET'] as string | undefined) ?? null,
		formerKeys: values['ENCRYPTION_KEY_FORMER'] as string[],
		encryptionKey: (values['ENCRYPTION_KEY'] as string | undefined) ?? null,
		dataDir,
		plugins: values['GATEWAY_PLUGINS'] as string[],
		egressAllow: values['EGRESS_ALLOW'] as string[],
		trustProxy: values['TRUST_PROXY'] as string[],
		webConcurrency: values['WEB_CONCURRENCY'] as number,
		shutdownDelaySeconds: values['SHUTDOWN_DELAY_SECONDS'] as number,
		rateLimit: { max: values['RATE_LIMIT_MAX'] as number, windowSeconds: values['RATE_LIMIT_TTL'] as number },
		metricsRetentionDays: values['METRICS_RETENTION_DAYS'] as number,
		monitoringWindowSeconds: values['MONITORING_STATS_WINDOW_SECONDS'] as number,
		mail: mail(values),
		mailFrom: mailFrom(values, firstUrl),
		errorTrackerDsn: (values['ERROR_TRACKER_DSN'] as string | undefined) ?? null,
		localModelAllowPrivateUrls: values['LOCALMODEL_ALLOW_PRIVATE_URLS'] as boolean,
		...telemetryOf(values),
		logLevel: values['LOG_LEVEL'] as string,
	};
}

function pluginsConfig(values: Values, env: Env): Config['pluginsConfig'] {
	const file = values['GATEWAY_PLUGINS_CONFIG'] as string | undefined;
	return file === undefined ? null : () => readPluginsConfig(resolve(file), env);
}

function mail(values: Values): Config['mail'] {
	if (values['MAIL_HOST'] === undefined) return null;
	return {
		host: values['MAIL_HOST'] as string,
		port: values['MAIL_PORT'] as number,
		username: (values['MAIL_USER'] as string | undefined) ?? null,
		password: (values['MAIL_PASS'] as string | undefined) ?? null,
	};
}

/** Returns the sender address. A domain is needed: localhost if PUBLIC_URL has an IP address. */
function mailFrom(values: Values, publicUrl: string): string {
	const given = values['MAIL_FROM'] as string | undefined;
	const user = values['MAIL_USER'] as string | undefined;
	if (given !== undefined) return given;
	if (user !== undefined && isBareAddress(user)) return user;
	const { hostname } = new URL(publicUrl);
	return `gatehouse@${isIP(hostname) || hostname.startsWith('[') ? 'localhost' : hostname}`;
}
