// Serves the tools of a gateway over UTCP (https://www.utcp.io): a manual that says how each is called, and an endpoint for each.
//
//   GET /.well-known/utcp   the manual of all tools, for everybody
//   GET /                   the manual of the caller's tools
//   POST /tools/{name}      runs a tool; as events where the client accepts text/event-stream

import { createHash } from 'node:crypto';
import {
	type Admission,
	type Call,
	Feed,
	type GatewayError,
	type Incoming,
	type Json,
	type JsonObject,
	notFound,
	type Reply,
	type SecurityScheme,
	type ServerEvent,
	type Tool,
	type ToolResult,
	type TransportAdapter,
} from 'gatehouse';
import Joi from 'joi';

export interface Config {
	version: string;
	errors: 'utcp' | 'problem';
}

/** The progress that may wait for a slow client; more of it is left out. */
const MOST_WAITING = 100;
/** A variable of the client's: it never learns a secret from the manual. */
const variable = (name: string): string => `\${${name}}`;

export default {
	kind: 'transport',
	api: 1,
	name: 'acme_utcp',
	summary: 'Serves tools over UTCP: a manual, and an endpoint for each tool.',
	spec: 'UTCP 1.1',
	config: Joi.object<Config>({
		version: Joi.string().max(50).default('1.0.0').description('The version of the manual.'),
		errors: Joi.valid('utcp', 'problem').default('utcp').description('The form of errors: {"error":{…}}, or problem details (RFC 9457).'),
	}),
	cors: { send: ['if-none-match'] },
	fail: (error, request, { errors }) => (errors === 'problem' ? problem(error, request) : utcpError(error)),
	routes: [
		{
			...{ method: 'GET', path: '/.well-known/utcp', public: true, lists: true, limit: { max: 60, seconds: 60 } },
			handler: async (request, config, call) => published(request, manualOf(await call.published(), request, config, call)),
		},
		{
			...{ method: 'GET', path: '/' },
			handler: async (request, config, call) => published(request, manualOf(await call.tools(), request, config, call)),
		},
		{ method: 'POST', path: '/tools/{name}', body: 'json', encodings: ['gzip'], handler: run },
	],
} satisfies TransportAdapter<Config>;

const utcpError = ({ status, code, message, details }: GatewayError): Reply => ({
	status,
	body: {
		error: { code, message, ...(details.length > 0 && { details: details.map(({ path, message: said }) => ({ path, message: said })) }) },
	},
});

const problem = ({ status, code, message, details }: GatewayError, { path }: Incoming): Reply => ({
	status,
	headers: { 'content-type': 'application/problem+json' },
	body: {
		...{ type: `urn:gatehouse:${code}`, title: message, status, instance: path },
		...(details.length > 0 && { errors: details.map((one) => ({ pointer: one.path, detail: one.message })) }),
	},
});

// ── the manual ───────────────────────────────────────────────────────────────────────────────────────────────────────

function manualOf(tools: readonly Readonly<Tool>[], { base }: Incoming, { version }: Config, call: Call): JsonObject {
	const auth = authOf(call.admission());
	return {
		...{ utcp_version: '1.1.0', manual_version: version },
		tools: tools.map(({ name, description, parameters, outputSchema }) => ({
			...{ name, description, tags: [], outputs: outputSchema ?? {} },
			inputs: { type: 'object', properties: { body: parameters }, required: ['body'] },
			tool_call_template: {
				...{ call_template_type: 'http', http_method: 'POST', url: `${base}/tools/${encodeURIComponent(name)}` },
				...{ content_type: 'application/json', body_field: 'body', ...(auth && { auth }) },
			},
		})),
	};
}

/** The first scheme that UTCP can say; null when none is needed, or none can be said. */
function authOf(admission: readonly Admission[]): JsonObject | null {
	for (const { scheme } of admission) {
		const auth = scheme ? sayable(scheme) : null;
		if (auth) return auth;
	}
	return null;
}

function sayable(scheme: SecurityScheme): JsonObject | null {
	if (scheme.type === 'apiKey') return { auth_type: 'api_key', api_key: variable('API_KEY'), var_name: scheme.name, location: scheme.in };
	if (scheme.type === 'http' && scheme.scheme === 'basic')
		return { auth_type: 'basic', username: variable('USERNAME'), password: variable('PASSWORD') };
	if (scheme.type === 'http' && scheme.scheme === 'bearer')
		return { auth_type: 'api_key', api_key: `Bearer ${variable('TOKEN')}`, var_name: 'Authorization', location: 'header' };
	const flow = scheme.type === 'oauth2' ? scheme.flows.clientCredentials : undefined;
	if (!flow) return null;
	const client = { client_id: variable('CLIENT_ID'), client_secret: variable('CLIENT_SECRET') };
	return { auth_type: 'oauth2', token_url: flow.tokenUrl, ...client, scope: Object.keys(flow.scopes).join(' ') };
}

/** A client that has the manual already need not get it again. */
function published({ headers }: Incoming, manual: JsonObject): Reply {
	const etag = `"${createHash('sha256').update(JSON.stringify(manual)).digest('base64url')}"`;
	const own = { etag, 'cache-control': 'no-cache' };
	return headers['if-none-match'] === etag ? { status: 304, headers: own } : { status: 200, headers: own, body: manual };
}

// ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function run({ params, body, headers }: Incoming, _config: Config, call: Call): Promise<Reply> {
	const name = params['name'];
	if (name === undefined) throw notFound('Tool');
	// Core parsed the body, so it is JSON.
	const args = (body ?? {}) as Json;
	if (headers['accept']?.includes('text/event-stream')) return { status: 200, body: events(name, args, call), stream: { finite: true } };
	const result = await call.invoke({ name }, args);
	if (result.isError) return { status: 502, body: { error: { code: 'tool_failed', message: textOf(result) } } };
	return {
		status: 200,
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify(result.structured ?? { text: textOf(result) }),
	};
}

const textOf = ({ content }: ToolResult): string =>
	content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');

/** Yields the progress of a tool while it runs, and then its result. */
async function* events(name: string, args: Json, call: Call): AsyncGenerator<ServerEvent> {
	const feed = new Feed<ServerEvent>(MOST_WAITING);
	const leaving = new AbortController();
	const progress = (done: number, total?: number, message?: string): void =>
		void feed.give({ event: 'progress', data: { done, total: total ?? null, message: message ?? null } });
	const running = call.with({ progress, signal: leaving.signal }).invoke({ name }, args);
	running.then(
		() => feed.end(),
		() => feed.end(),
	);
	try {
		yield* feed;
		const result = await running;
		yield result.isError
			? { event: 'error', data: { code: 'tool_failed', message: textOf(result) } }
			: { event: 'result', data: result.structured ?? { text: textOf(result) } };
	} finally {
		leaving.abort();
	}
}
