// The official SDK, version 2, by the handler that its documentation recommends, which serves both eras.

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod-4';

const { UPSTREAM, PORT } = process.env;
const inputSchema = z.object({ id: z.string().regex(/^[0-9]{1,8}$/) });

const handler = createMcpHandler(() => {
	const server = new McpServer({ name: 'items', version: '1.0.0' });
	server.registerTool('get_item', { description: 'One item of the upstream.', inputSchema }, async ({ id }) => {
		const answer = await fetch(`${UPSTREAM}/items/${id}`);
		return { content: [{ type: 'text', text: await answer.text() }] };
	});
	return server;
});

createServer(toNodeHandler(handler)).listen(Number(PORT), '127.0.0.1');
