// The revision without a handshake, 2026-07-28: every request says its version and its client's abilities, in `_meta`
// and, for what stands between, in headers that must agree with the body.

import { type GatewayError, type Incoming, isObject, type JsonObject } from '../../core/index.ts';
import { callTool, describeAbilities, describeServer, type Era, listTools, type Method, readToolRequest, seenTool } from './dispatch.ts';
import { listen } from './listening/subscriptions.ts';
import { CODES, metaOf, ProtocolError, type RequestMessage } from './messages.ts';
import { checkParamHeaders, declaredHeaders, decodeHeader } from './param-headers.ts';
import { getPrompt } from './prompts/prompts.ts';
import { takesForms } from './questions.ts';
import { callInRounds } from './rounds.ts';
import { completion, keepable } from './shelves.ts';

export const MODERN_VERSION = '2026-07-28';

/** The parameter that `Mcp-Name` repeats (transports, "Standard Headers"). */
const NAMED: ReadonlyMap<string, string> = new Map([
	['tools/call', 'name'],
	['prompts/get', 'name'],
	['resources/read', 'uri'],
]);
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const SERVER_KEY = 'io.modelcontextprotocol/serverInfo';

/** The time for which a client may keep a list: one that listens is told of changes, one that does not lists again. Calls always use the current tools. */
const LIST_TTL_MS = 60_000;
/** Lists differ by credential: a shared cache "MUST NOT" keep what is `private` (utilities, "Caching"). */
const CACHEABLE = { ttlMs: LIST_TTL_MS, cacheScope: 'private' };

/** The body decides; where it names no version, the header does. */
export const isModern = (params: JsonObject, headers: Incoming['headers']): boolean =>
	metaOf(params)[VERSION_KEY] !== undefined || headers['mcp-protocol-version']?.trim() === MODERN_VERSION;

const discover: Method = async (exchange) => ({ supportedVersions: [MODERN_VERSION], ...describeAbilities(exchange), ...CACHEABLE });

const cacheably =
	(method: Method): Method =>
	async (exchange) => ({ ...(await method(exchange)), ...CACHEABLE });

const callWithHeaders: Method = async (exchange) => {
	const { message, headers, call } = exchange;
	const { name, args } = readToolRequest(message.params);
	const tool = await seenTool(call, name);
	if (tool) checkParamHeaders(await declaredHeaders(tool, call), args, headers);
	// Only a client that takes forms pays for it.
	return takesForms(metaOf(message.params)[CAPABILITIES_KEY]) ? callInRounds(exchange, callTool) : callTool(exchange);
};

/** A prompt asks for the arguments that it needs. */
const getPromptAsking: Method = (exchange) =>
	takesForms(metaOf(exchange.message.params)[CAPABILITIES_KEY]) ? callInRounds(exchange, getPrompt) : getPrompt(exchange);

export const modern: Era = {
	methods: new Map([
		['server/discover', discover],
		['tools/list', cacheably(listTools)],
		['tools/call', callWithHeaders],
		['prompts/get', getPromptAsking],
		completion,
		...keepable(CODES.invalidParams).map(([name, method]): [string, Method] => [name, cacheably(method)]),
	]),
	streams: new Map([['subscriptions/listen', (exchange) => listen(exchange, (result) => modern.seal(result, exchange))]]),
	check(message, headers) {
		const version = checkMeta(message);
		checkHeaders(message, headers, version);
	},
	// "If the server does not implement the requested RPC method, it MUST respond with 404 Not Found" (transports).
	unknownMethodStatus: 404,
	seal: (result, { call }) => ({ resultType: 'complete', ...result, _meta: { [SERVER_KEY]: describeServer(call) } }),
	headersOf: () => ({}),
	translate: missingAbility,
	// "The server MUST treat closing the response stream as cancellation of the request" (transports, "Cancellation").
	versionOf: () => MODERN_VERSION,
	leavingCancels: true,
	// The era has no requests of servers: what is asked is in the result.
	askingSession: () => null,
};

/** @returns the version that the request claims. @throws ProtocolError with HTTP 400 */
function checkMeta({ params }: RequestMessage): string {
	const meta = metaOf(params);
	const version = meta[VERSION_KEY];
	if (typeof version !== 'string') throw invalidMeta(VERSION_KEY, 'a string');
	if (!isObject(meta[CAPABILITIES_KEY])) throw invalidMeta(CAPABILITIES_KEY, 'an object');
	return version;
}

const invalidMeta = (key: string, expected: string): ProtocolError =>
	new ProtocolError(CODES.invalidParams, `params._meta["${key}"] is required and must be ${expected}.`, { status: 400 });

/** "If the values do not match, the server MUST reject the request with 400 Bad Request" (transports, "Standard Headers"). */
function checkHeaders({ method, params }: RequestMessage, headers: Incoming['headers'], version: string): void {
	checkHeader(headers, 'mcp-protocol-version', version);
	if (version !== MODERN_VERSION) {
		throw new ProtocolError(CODES.unsupportedProtocolVersion, `The protocol version "${version.slice(0, 32)}" is not supported.`, {
			status: 400,
			data: { supported: [MODERN_VERSION], requested: version },
		});
	}
	checkHeader(headers, 'mcp-method', method);
	const named = NAMED.get(method);
	const name = named && params[named];
	if (typeof name === 'string') checkHeader(headers, 'mcp-name', name);
}

function checkHeader(headers: Incoming['headers'], name: string, expected: string): void {
	const value = headers[name]?.trim();
	if (value !== undefined && decodeHeader(value) === expected) return;
	const fault = value === undefined ? 'is required' : 'does not say what the body says';
	throw new ProtocolError(CODES.headerMismatch, `The header ${name} ${fault}.`, { status: 400 });
}

/**
 * "If processing a request requires a capability the client did not include […] the server MUST return a
 * MissingRequiredClientCapabilityError" (basic, "Client Capabilities").
 */
function missingAbility(error: GatewayError, { params }: RequestMessage): ProtocolError | null {
	const declared = metaOf(params)[CAPABILITIES_KEY];
	const missing = error.lackedAbilities.filter((name) => !(isObject(declared) && Object.hasOwn(declared, name)));
	if (missing.length === 0) return null;
	return new ProtocolError(CODES.missingClientCapability, error.message, {
		status: 400,
		data: { requiredCapabilities: Object.fromEntries(missing.map((name) => [name, {}])) },
	});
}
