// Changes that the suite causes by calling a tool: an upstream makes them over the management API, as the owner of the gateway.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Account, createHttpTool, must } from '../helpers/service.ts';

export interface Triggers extends Disposable {
	/** Adds the tools that trigger changes to a gateway. */
	addTo(account: Account, gatewayId: string): Promise<void>;
}

/** Changes by the path under which the upstream is asked for them. */
type Changes = Record<string, () => Promise<unknown>>;

export async function startTriggers(): Promise<Triggers> {
	let changes: Changes = {};
	const server = createServer((request, response) => {
		const change = changes[request.url ?? ''] ?? (() => Promise.reject(new Error(`There is no change ${request.url}.`)));
		change().then(
			() => response.end('changed'),
			(error) => response.writeHead(500).end(String(error)),
		);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	// The server listens on TCP, so the address is not a pipe's name.
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	let made = 0;
	return {
		async addTo(account, gatewayId) {
			const assign = async (name: string, path: string): Promise<void> => {
				const toolId = await createHttpTool(account, { name, url: url + path, method: 'POST' });
				must(await account.post(`/gateways/${gatewayId}/tools`, { toolId }), 201);
			};
			changes = {
				'/tools': () => assign(`triggered_${++made}`, '/tools'),
				'/prompts': async () => {
					const skill = { name: `triggered-${++made}`, description: 'Comes while the suite listens.', body: 'Nothing.' };
					const { id } = must(await account.post('/skills', skill), 201).body.data;
					must(await account.post(`/gateways/${gatewayId}/skills`, { skillId: id }), 201);
				},
			};
			await assign('test_trigger_tool_change', '/tools');
			await assign('test_trigger_prompt_change', '/prompts');
		},
		[Symbol.dispose]() {
			server.closeAllConnections();
			server.close();
		},
	};
}
