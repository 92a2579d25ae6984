// A model that answers at once, for a benchmark: with as many tokens as the last number of the message says, each an event of its own.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { announce } from './subject.ts';

const event = (more: object): string =>
	`data: ${JSON.stringify({ id: 'c', created: 1, model: 'small', object: 'chat.completion.chunk', ...more })}\n\n`;
const TOKEN = event({ choices: [{ index: 0, delta: { role: 'assistant', content: 'token ' }, finish_reason: null }] });

const server = createServer(async (request, response) => {
	const { messages } = JSON.parse(await textOf(request)) as { messages: { content: string }[] };
	const count = Number(/\d+$/.exec(messages.at(-1)?.content ?? '')?.[0] ?? 1);
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	for (let sent = 0; sent < count; sent++) if (!response.write(TOKEN)) await once(response, 'drain');
	const usage = { prompt_tokens: 10, completion_tokens: count, total_tokens: 10 + count };
	response.end(`${event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${event({ choices: [], usage })}data: [DONE]\n\n`);
});
server.listen(0, '127.0.0.1', () => {
	announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => server.close());
});
