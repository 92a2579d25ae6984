// The paths to the upstream that are measured, each as one HTTP request, and the gateways that they need.

import { enter } from '../../demo/account.ts';
import type { Rest } from '../../demo/rest.ts';
import type { Load } from './rounds.ts';

export interface Path {
	name: string;
	/** The server whose CPU time counts. */
	server: string;
	url: string;
	method: 'GET' | 'POST';
	headers: Record<string, string>;
	body?: string;
	/** A text that every good answer contains; without one, the title of the upstream's item. */
	proof?: string;
	/** Each request has an id of its own, which its answer repeats, so that answers are compared by a text that all contain. */
	hasFreshIds?: boolean;
	/** The number of requests at once, where it is not that of the other paths. */
	connections?: number;
	/** Replaces the request where its answer comes by another way. */
	via?: { fetch(): Promise<string>; load(seconds: number): Promise<Load> };
}

export const TOOL = 'get_item';
export const TOOL_DESCRIPTION = 'One item of the upstream.';
export const ACCOUNT = { email: 'bench@example.com', password: 'Bench-gateway-1' };

/** Prepares the paths, of which the first is the baseline. */
export async function preparePaths(urls: { upstream: string; bare: string; service: string }): Promise<Path[]> {
	const { keyed, open, credential } = await prepareGateways(urls);
	return [
		bareCallOf('bare hapi proxy, POST with the same body', urls.bare),
		{ name: 'bare hapi proxy, GET', server: 'bare', url: `${urls.bare}/items/42`, method: 'GET', headers: {} },
		callOf('gateway, api_key, 2025-11-25', keyed.url, credential),
		callOf('gateway, none, 2025-11-25', open.url, {}),
		modernCallOf('gateway, api_key, 2026-07-28', keyed.url, credential),
	];
}

/** Prepares a tool behind a key, and in the open. */
export async function prepareGateways(urls: { upstream: string; service: string }) {
	const { rest, organization } = await enter(urls.service, ACCOUNT);
	const toolId = await createTool(rest, organization.id, urls.upstream);
	const keyed = await publish(rest, toolId, { type: 'api_key' });
	const open = await publish(rest, toolId, { type: 'none' });
	const { key } = await rest<{ key: string }>('POST', `/gateways/${keyed.id}/auth/api-keys`, { name: 'bench' });
	return { keyed, open, credential: { 'x-api-key': key } };
}

/** Prepares a call of a tool behind a key. */
export async function prepareCall(server: string, urls: { upstream: string; service: string }): Promise<Path> {
	const { rest, organization } = await enter(urls.service, ACCOUNT);
	const keyed = await publish(rest, await createTool(rest, organization.id, urls.upstream), { type: 'api_key' });
	const { key } = await rest<{ key: string }>('POST', `/gateways/${keyed.id}/auth/api-keys`, { name: 'bench' });
	return { ...callOf(server, keyed.url, { 'x-api-key': key }), server };
}

/** Prepares the same call with the same access key at a gateway, which is the baseline, and at the universal endpoint. */
export async function prepareUniversal(urls: { upstream: string; service: string }): Promise<Path[]> {
	const { rest, organization } = await enter(urls.service, ACCOUNT);
	const toolId = await createTool(rest, organization.id, urls.upstream);
	const { url } = await publish(rest, toolId, { type: 'api_key' });
	for (const endpoint of ['/second', '/third'])
		await publish(rest, await createTool(rest, organization.id, urls.upstream), { type: 'api_key', endpoint });
	const { key } = await rest<{ key: string }>('POST', '/access-keys', { name: 'bench' });
	const credential = { authorization: `Bearer ${key}` };
	const everywhere = `${urls.service}/mcp`;
	return [
		callOf('gateway, 2025-11-25', url, credential),
		callOf('/mcp, 2025-11-25', everywhere, credential),
		modernCallOf('gateway, 2026-07-28', url, credential),
		modernCallOf('/mcp, 2026-07-28', everywhere, credential),
	];
}

/** Prepares the same call over each transport whose plugin is loaded, and over all gateways; the first is the baseline. */
export async function prepareTransports(urls: { upstream: string; service: string }): Promise<Path[]> {
	const { rest, organization } = await enter(urls.service, ACCOUNT);
	const toolId = await createTool(rest, organization.id, urls.upstream);
	const { plugins } = await rest<{ plugins: { kind: string; name: string }[] }>('GET', '/plugins');
	const { key } = await rest<{ key: string }>('POST', '/access-keys', { name: 'bench' });
	const credential = { 'x-api-key': key };
	const urlOf = async (transport: string): Promise<string> =>
		(await publish(rest, toolId, { type: 'api_key', transport, endpoint: `/over-${transport}` })).url;
	const paths = [callOf('mcp', await urlOf('mcp'), credential), callOf('the universal endpoint', `${urls.service}/mcp`, credential)];
	for (const transport of ['utcp', 'skills']) {
		if (!plugins.some(({ kind, name }) => kind === 'transport' && name === transport)) continue;
		const url = `${await urlOf(transport)}/tools/${TOOL}`;
		paths.push({
			...{ name: transport, server: 'service', url, method: 'POST' },
			...{ headers: { 'content-type': 'application/json', ...credential }, body: JSON.stringify(PARAMS.arguments) },
		});
	}
	return paths;
}

/** Gives each request of a path an id of its own. */
export const withFreshIds = (path: Path): Path => ({
	...path,
	body: path.body?.replace('"id":1', '"id":"[<id>]"') ?? '',
	hasFreshIds: true,
});

interface Method {
	name: string;
	type: string;
	configuration: object;
	/** Obtains a credential. @returns the headers that carry it */
	credential(gateway: { url: string; key: string }): Promise<Record<string, string>>;
}

/** Prepares the same call through one gateway for each method. */
export async function prepareAuthenticated(urls: { upstream: string; service: string }, methods: Method[]): Promise<Path[]> {
	const { rest, organization } = await enter(urls.service, ACCOUNT);
	const toolId = await createTool(rest, organization.id, urls.upstream);
	const paths: Path[] = [];
	for (const [at, { name, type, configuration, credential }] of methods.entries()) {
		const { id, url } = await publish(rest, toolId, { type, configuration, endpoint: `/m${at}` });
		const { key } = await rest<{ key: string }>('POST', `/gateways/${id}/auth/api-keys`, { name: 'bench' });
		paths.push(callOf(name, url, await credential({ url, key })));
	}
	return paths;
}

/** Creates a tool that gets an item. @param upstream its URL, with a path or without */
export async function createTool(rest: Rest, organizationId: string, upstream: string, name = TOOL): Promise<string> {
	const { id } = await rest<{ id: string }>('POST', `/organizations/${organizationId}/tools`, {
		name,
		description: TOOL_DESCRIPTION,
		type: 'http',
		parameters: {
			type: 'object',
			properties: { id: { type: 'string', pattern: '^[0-9]{1,8}$' } },
			required: ['id'],
			additionalProperties: false,
		},
		executionConfig: { method: 'GET', url: `${upstream}/items/{id}` },
	});
	return id;
}

/** Publishes tools by a gateway with one auth method. */
export async function publish(
	rest: Rest,
	toolId: string | string[],
	{
		type,
		configuration = {},
		endpoint = `/${type}`,
		transport = 'mcp',
	}: { type: string; configuration?: object; endpoint?: string; transport?: string },
): Promise<{ id: string; url: string }> {
	const gateway = await rest<{ id: string; url: string }>('POST', '/gateways', { name: type, type: transport, endpoint });
	await rest('POST', `/gateways/${gateway.id}/tools/bulk`, { toolIds: [toolId].flat() });
	await rest('POST', `/gateways/${gateway.id}/auth`, { type, configuration });
	return gateway;
}

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const VERSION = '2025-11-25';
const PARAMS = { name: TOOL, arguments: { id: '42' } };

const post = (name: string, url: string, headers: Record<string, string>, params: object, rpc = 'tools/call'): Path => ({
	name,
	server: 'service',
	url,
	method: 'POST',
	headers: { ...ACCEPT, ...headers },
	body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: rpc, params }),
});

export const callOf = (name: string, url: string, credential: Record<string, string>): Path =>
	post(name, url, { 'mcp-protocol-version': VERSION, ...credential }, PARAMS);

/** Makes a request that runs no tool. */
export const pingOf = (name: string, url: string, credential: Record<string, string>): Path => ({
	...post(name, url, { 'mcp-protocol-version': VERSION, ...credential }, {}, 'ping'),
	proof: '"result":{}',
});

/** Makes a request for the first page of a gateway's tools. */
export const listOf = (name: string, url: string, credential: Record<string, string>): Path => ({
	...post(name, url, { 'mcp-protocol-version': VERSION, ...credential }, {}, 'tools/list'),
	proof: TOOL_DESCRIPTION,
});

/** Makes the same call as the gateways' at a bare proxy. */
export const bareCallOf = (name: string, url: string): Path => ({ ...post(name, `${url}/items`, {}, PARAMS), server: 'bare' });

/** Makes a call of revision 2026-07-28: without a session, with the version and the client's capabilities in every request. */
export function modernCallOf(name: string, url: string, credential: Record<string, string>): Path {
	const version = '2026-07-28';
	const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': TOOL, ...credential };
	const meta = { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} };
	return post(name, url, headers, { ...PARAMS, _meta: meta });
}
