// The official SDK, version 1, as its documentation serves a stateless server: a server and a transport for each request.

import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod-4';

const { UPSTREAM, PORT } = process.env;
const shape = { id: z.string().regex(/^[0-9]{1,8}$/) };

function newServer() {
	const server = new McpServer({ name: 'items', version: '1.0.0' });
	server.registerTool('get_item', { description: 'One item of the upstream.', inputSchema: shape }, async ({ id }) => {
		const answer = await fetch(`${UPSTREAM}/items/${id}`);
		return { content: [{ type: 'text', text: await answer.text() }] };
	});
	return server;
}

createServer(async (request, response) => {
	const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
	const server = newServer();
	response.on('close', () => {
		transport.close();
		server.close();
	});
	await server.connect(transport);
	await transport.handleRequest(request, response);
}).listen(Number(PORT), '127.0.0.1');
