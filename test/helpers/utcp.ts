// Connects UTCP's own client to a gateway.

import type { TestContext } from 'node:test';
import { UtcpClient, UtcpClientConfigSerializer } from '@utcp/sdk';
import '@utcp/http';

const MANUAL = 'gw';

export interface UtcpGateway {
	client: UtcpClient;
	/** The names of its tools. */
	names(): Promise<string[]>;
	/** Calls a tool. @returns the result, or the status and body of a refusal */
	call(tool: string, args?: object): Promise<{ status: number; body: unknown }>;
}

/** The client tells the console all that it does. */
export function quiet(t: TestContext): void {
	for (const name of ['log', 'error', 'warn'] as const) t.mock.method(console, name, () => undefined);
}

/**
 * Registers the manual of a gateway by its URL.
 * @param variables of the client, such as `API_KEY`
 * @param auth of the request for the manual itself
 */
export async function utcpClient(url: string, variables: Record<string, string> = {}, auth?: object): Promise<UtcpGateway> {
	const named = Object.fromEntries(Object.entries(variables).map(([name, value]) => [`${MANUAL}_${name}`, value]));
	const template = { name: MANUAL, call_template_type: 'http', http_method: 'GET', url, ...(auth && { auth }) };
	const config = new UtcpClientConfigSerializer().validateDict({ variables: named, manual_call_templates: [template] });
	const client = await UtcpClient.create(process.cwd(), config);
	return {
		client,
		names: async () => (await client.config.tool_repository.getTools()).map(({ name }) => name.slice(MANUAL.length + 1)),
		async call(tool, args = {}) {
			try {
				return { status: 200, body: await client.callTool(`${MANUAL}.${tool}`, { ...args }) };
			} catch (thrown) {
				const { response } = thrown as { response?: { status: number; data: unknown } };
				if (!response) throw thrown;
				return { status: response.status, body: response.data };
			}
		},
	};
}
