import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import plugin from 'acme-model';
import { CALLS, httpUpstream, KEY, type ModelBehaviour, providerContract, USAGE } from 'gatehouse/testing';

interface Asked {
	messages: { role: string; content: string }[];
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;
const { inputTokens: input, outputTokens: output, cachedTokens: cached } = USAGE;
const end = (reason: string): string => line({ done: true, reason, model: 'small-1', usage: { input, output, cached } });
const CALLED = CALLS.flatMap(({ id, name, arguments: text }, index) => [
	line({ call: { index, id, name, arguments: text.slice(0, 2) } }),
	line({ call: { index, arguments: text.slice(2) } }),
]);

/** Sends an answer byte by byte, so that every character is torn. */
async function trickle(response: ServerResponse, text: string): Promise<void> {
	for (const byte of Buffer.from(text)) if (!response.write(Buffer.from([byte]))) await new Promise((go) => response.once('drain', go));
}

async function answer(behaviour: ModelBehaviour, request: IncomingMessage, response: ServerResponse): Promise<void> {
	if (request.url === '/models') return void response.end(JSON.stringify({ models: ['small-1', 'large-1'] }));
	const parts = await Array.fromAsync(request as AsyncIterable<Buffer>).catch(() => null);
	if (parts === null || behaviour === 'hang') return;
	const refuse = (status: number, headers: Record<string, string> = {}): void => {
		response.writeHead(status, headers).end(JSON.stringify({ error: `not with ${KEY}` }));
	};
	if (behaviour === 'refuse') return refuse(400);
	if (behaviour === 'key') return refuse(401);
	if (behaviour === 'busy') return refuse(429, { 'retry-after': '7' });
	if (behaviour === 'fail') return refuse(500);
	if (behaviour === 'reset') return void response.destroy();
	response.writeHead(200, { 'content-type': 'application/x-ndjson' });
	if (behaviour === 'nonsense') return void response.end('<html>\n');
	const said = JSON.stringify((JSON.parse(Buffer.concat(parts).toString()) as Asked).messages.at(-1)?.content);
	const text = JSON.parse(said) as string;
	response.write(line({ text: text.slice(0, 1) }));
	if (behaviour === 'pause') return;
	if (behaviour === 'break') return void setImmediate(() => response.destroy());
	if (behaviour === 'cut') return void response.end();
	if (behaviour === 'flood') return flood(response);
	if (behaviour === 'tools') return void response.end(CALLED.join('') + end('tool_calls'));
	await trickle(response, line({ text: text.slice(1) }) + end('stop'));
	response.end();
}

function flood(response: ServerResponse): void {
	const chunk = line({ text: 'x'.repeat(1000) }).repeat(60);
	const more = (): void => {
		while (!response.destroyed && response.write(chunk));
	};
	response.on('drain', more);
	more();
}

providerContract(plugin, {
	async start(t: TestContext, behaviour) {
		let count = 0;
		const upstream = await httpUpstream(t, (request, response) => {
			count += 1;
			response.on('error', () => undefined);
			void answer(behaviour, request, response);
		});
		return { ...upstream, requests: () => count };
	},
	config: (origin) => ({ url: origin, key: KEY, prices: { 'small-1': { input: 150_000, output: 600_000 } } }),
	bad: [
		{ config: { key: KEY }, says: /"url" is required/ },
		{ config: { url: 'models.example' }, says: /"url"/ },
		{ config: { url: 'https://models.example', prices: { a: { input: -1, output: 0 } } }, says: /input" must be greater/ },
	],
	priced: 'small-1',
});
