// fastmcp in its stateless mode.

import { FastMCP } from 'fastmcp';
import { z } from 'zod-4';

const { UPSTREAM, PORT } = process.env;
const server = new FastMCP({ name: 'items', version: '1.0.0' });
server.addTool({
	name: 'get_item',
	description: 'One item of the upstream.',
	parameters: z.object({ id: z.string().regex(/^[0-9]{1,8}$/) }),
	execute: async ({ id }) => {
		const answer = await fetch(`${UPSTREAM}/items/${id}`);
		return answer.text();
	},
});
await server.start({
	transportType: 'httpStream',
	httpStream: { port: Number(PORT), host: '127.0.0.1', stateless: true, enableJsonResponse: true },
});
