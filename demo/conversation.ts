// A client of the published gateway: it connects over MCP with the SDK's client, lists the tools, and calls two.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Published } from './connect.ts';
import { messageOf } from './rest.ts';
import type { Step } from './steps.ts';

interface Book {
	title: string;
	price: { amount: number; currency: string };
	stock: { branch: string; copies: number }[];
}

interface Order {
	id: string;
	status: string;
	total: { amount: number; currency: string };
}

const ISBN = '9780141439518';

export async function callTools(step: Step, published: Published): Promise<void> {
	const client = await connect(step, published);
	try {
		await listTools(step, client);
		await readBook(step, client);
		await placeOrder(step, client);
	} finally {
		await client.close();
	}
	await tryWithoutKey(step, published.url);
}

const connect = (step: Step, { url, key }: Published): Promise<Client> =>
	step('Connect an MCP client', async () => {
		const client = new Client({ name: 'gatehouse-demo', version: '1.0.0' });
		const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { 'X-API-Key': key } } });
		// The SDK's class differs from its own interface only in `sessionId`, declared without regard to exactOptionalPropertyTypes.
		await client.connect(transport as Transport);
		const server = client.getServerVersion();
		return { value: client, got: `${server?.name} ${server?.version} over Streamable HTTP` };
	});

const listTools = (step: Step, client: Client): Promise<void> =>
	step('List tools', async () => {
		const { tools } = await client.listTools();
		if (tools.length === 0) throw new Error('the gateway lists no tool');
		const readOnly = tools.filter(({ annotations }) => annotations?.readOnlyHint).length;
		return { value: undefined, got: `${tools.length} tools, ${readOnly} of them only read` };
	});

const readBook = (step: Step, client: Client): Promise<void> =>
	step('Call getBook (GET)', async () => {
		const { title, price, stock } = await call<Book>(client, 'getBook', { isbn: ISBN, branch: ['lisbon', 'porto'], 'X-Currency': 'USD' });
		return { value: undefined, got: `the shop answered ${JSON.stringify({ title, price, stock })}` };
	});

const placeOrder = (step: Step, client: Client): Promise<void> =>
	step('Call placeOrder (POST)', async () => {
		const body = {
			customerId: 'cus-1',
			lines: [{ isbn: ISBN, copies: 2 }],
			delivery: { method: 'post', address: { street: 'Rua Larga 3', city: 'Coimbra', postalCode: '3000-141', country: 'PT' } },
			giftMessage: 'Happy birthday!',
		};
		const { id, status, total } = await call<Order>(client, 'placeOrder', { body });
		return { value: undefined, got: `the shop answered ${JSON.stringify({ id, status, total })}` };
	});

async function call<T>(client: Client, name: string, args: Record<string, unknown>): Promise<T> {
	// `callTool` is also typed for a result form of 2024, which only clients get that ask for it.
	const { content, structuredContent, isError } = (await client.callTool({ name, arguments: args })) as CallToolResult;
	const text = content[0]?.type === 'text' ? content[0].text : '';
	if (isError) throw new Error(`${name} failed: ${text}`);
	// The shop's own schema, which has tests, describes the answer.
	return (structuredContent ?? JSON.parse(text)) as T;
}

const tryWithoutKey = (step: Step, url: string): Promise<void> =>
	step('The same without a key', async () => {
		const response = await fetch(url, {
			method: 'POST',
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
			body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'getBook', arguments: { isbn: ISBN } } }),
		});
		const said = messageOf(await response.text());
		if (response.status !== 401) throw new Error(`expected HTTP 401, got HTTP ${response.status}: ${said}`);
		return { value: undefined, got: `HTTP 401: ${said}` };
	});
