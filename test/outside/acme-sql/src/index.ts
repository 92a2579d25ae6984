// Runs one query of a PostgreSQL database. The query is the tool's; its arguments are parameters, never text of it.

import { isIP, Socket } from 'node:net';
import { type Call, excerptOf, GatewayError, type Json, type JsonObject, jsonResult, type ToolExecutor, type ToolResult } from 'gatehouse';
import Joi from 'joi';
import pg from 'pg';

export interface Config {
	host: string;
	port: number;
	database: string;
	user: string;
	password?: string;
	tls: boolean;
	query: string;
	parameters: string[];
	maxRows: number;
	timeoutMs: number;
}

const POSTGRESQL = { protocol: 'postgresql' } as const;
/** The most that a server may send. */
const MAX_BYTES = 16 * 1024 * 1024;
/** The classes of errors (https://www.postgresql.org/docs/current/errcodes-appendix.html) that tell of the server, not of the query. */
const OF_SERVER = ['08', '53', '57', '58', 'XX'];

export default {
	kind: 'executor',
	api: 1,
	name: 'acme_sql',
	creatable: true,
	summary: 'Runs a query of a PostgreSQL database, with the arguments as its parameters.',
	config: Joi.object<Config>({
		host: Joi.string().hostname().required().meta({ destination: true }).description('The name or address of the server.'),
		port: Joi.number().port().default(5432).description('The port of the server.'),
		database: Joi.string().required().description('The database.'),
		user: Joi.string().required().description('The role, which should only be able to read.'),
		password: Joi.string().meta({ secret: true }).description('The password of the role.'),
		tls: Joi.boolean().default(true).description('Whether the connection is encrypted and the certificate is checked.'),
		query: Joi.string().max(20_000).required().description('One statement of SQL, with $1, $2 and so on for the parameters.'),
		parameters: Joi.array().items(Joi.string()).max(100).default([]).description('The arguments that are $1, $2 and so on.'),
		maxRows: Joi.number().integer().min(1).max(10_000).default(1000).description('The most rows that are returned.'),
		timeoutMs: Joi.number().integer().min(100).max(100_000).default(30_000).description('The time after which the query is ended.'),
	}),
	async check({ host, port }, context) {
		await context.checkAddress(host, port, { ...POSTGRESQL, at: '/executionConfig/host' });
	},
	async execute(args, config, call) {
		return call.exchange(`postgresql://${config.host}:${config.port}`, (failed) => run(args, config, call, failed));
	},
	preview: async (args, { host, port, database, user, query, parameters }) => ({
		...{ server: `${host}:${port}`, database, user, query },
		parameters: parameters.map((name) => args[name] ?? null),
	}),
} satisfies ToolExecutor<Config>;

/** The reason of an end by us: the connection is destroyed then, and the driver tells of that alone. */
class Ended extends Error {}

async function run(args: JsonObject, config: Config, call: Call, failed: () => void): Promise<ToolResult> {
	call.signal.throwIfAborted();
	const over = AbortSignal.any([call.signal, AbortSignal.timeout(config.timeoutMs)]);
	const { address, port } = await call.connect(config.host, config.port, POSTGRESQL);
	const socket = bounded(over);
	const client = clientAt(address, port, config, socket);
	// The driver tells of a broken connection here, too; a query that runs rejects.
	client.on('error', () => undefined);
	try {
		await client.connect();
		return await jsonResult(JSON.stringify(await rowsOf(client, args, config, socket)));
	} catch (error) {
		call.signal.throwIfAborted();
		if (over.aborted) throw new GatewayError('upstream_timeout', `The query took longer than ${config.timeoutMs} ms.`);
		return refusal(socket.errored instanceof Ended ? socket.errored : error, config, failed);
	} finally {
		socket.destroy();
	}
}

/** A socket that is destroyed when the run is over, or when too much arrives. */
function bounded(over: AbortSignal): Socket {
	const socket = new Socket();
	const end = (): void => void socket.destroy(new Error('The run is over.'));
	over.addEventListener('abort', end);
	socket.once('close', () => over.removeEventListener('abort', end));
	let bytes = 0;
	socket.on('data', (chunk) => {
		bytes += chunk.length;
		if (bytes > MAX_BYTES) socket.destroy(new Ended(`The server sent more than ${MAX_BYTES} bytes.`));
	});
	return socket;
}

const clientAt = (host: string, port: number, config: Config, socket: Socket): pg.Client =>
	new pg.Client({
		...{ host, port, database: config.database, user: config.user, stream: () => socket },
		// A text that is empty would be replaced by the environment's.
		password: () => config.password ?? '',
		ssl: config.tls && { ...(isIP(config.host) === 0 && { servername: config.host }) },
	});

/** Returns the rows up to `maxRows`; the rest is not read. */
async function rowsOf(client: pg.Client, args: JsonObject, config: Config, socket: Socket): Promise<JsonObject> {
	const rows: Json[] = [];
	const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
	const query = client.query(
		new pg.Query({ text: config.query, values: config.parameters.map((name) => parameterOf(args[name] ?? null)) }),
	);
	query.on('row', (row: Json) => {
		if (rows.length < config.maxRows) return void rows.push(row);
		resolve({ rows, isCut: true });
		socket.destroy();
	});
	query.on('error', reject);
	query.on('end', () => resolve({ rows }));
	return promise;
}

/** Lists and objects are JSON, as the types json and jsonb take them. */
const parameterOf = (value: Json): string | number | boolean | null =>
	value !== null && typeof value === 'object' ? JSON.stringify(value) : value;

/** A query that the server refuses is a failed run; a server that cannot answer is told to core. @throws upstream_failed */
function refusal(error: unknown, { password }: Config, failed: () => void): ToolResult {
	const { code = '', message } = error as Error & { code?: string };
	const isOfQuery = /^[0-9A-Z]{5}$/.test(code) && !OF_SERVER.includes(code.slice(0, 2));
	const said = excerptOf(message, 500, password === undefined ? [] : [password]);
	if (isOfQuery) return { isError: true, content: [{ type: 'text', text: `The database refused the query: ${said} (${code})` }] };
	failed();
	throw new GatewayError('upstream_failed', `The database does not answer: ${said}`);
}
