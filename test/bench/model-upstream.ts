// The model of the benchmark of agents: it answers each chat with the same three tokens, in the form of OpenAI's chat completions.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const head = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'small' };
const event = (more: object): string => `data: ${JSON.stringify({ ...head, ...more })}\n\n`;
const choice = (delta: object, finish_reason: string | null = null): string => event({ choices: [{ index: 0, delta, finish_reason }] });
const ANSWER = [
	choice({ role: 'assistant', content: 'It ' }),
	choice({ content: 'is ' }),
	choice({ content: 'so.' }),
	choice({}, 'stop'),
	event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } }),
	'data: [DONE]\n\n',
].join('');

const server = createServer((request, response) => {
	request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
