// Connects the MCP SDK's own client to a gateway.

import type { TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** Makes a client, which is closed with the test if one is given. */
export async function mcpClient(url: string, headers: Record<string, string>, t?: TestContext): Promise<Client> {
	const client = new Client({ name: 'test', version: '1' });
	// The SDK's own transport does not match its interface under exactOptionalPropertyTypes.
	await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as never);
	t?.after(() => client.close());
	return client;
}

/** Calls a tool. @returns structured content, texts and whether it is an error */
export async function callTool(
	client: Client,
	name: string,
	args: object = {},
): Promise<[data: unknown, texts: string[], isError: boolean]> {
	const result = await client.callTool({ name, arguments: { ...args } });
	const texts = (result.content as { type: string; text: string }[]).map(({ text }) => text);
	return [result.structuredContent, texts, result.isError === true];
}
