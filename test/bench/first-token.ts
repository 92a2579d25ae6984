// The time from the first token of a model to the first byte of the text at a client that takes gzip, over real sockets. Model and client are in
// this process, so that one clock counts; the model goes on only when its first token has arrived.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';

const event = (delta: object, finish_reason: string | null = null): string =>
	`data: ${JSON.stringify({ id: 'c', created: 1, model: 'small', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

export interface FirstTokens extends AsyncDisposable {
	/** The base URL of the model. */
	url: string;
	/** Asks once. @returns the milliseconds from the model’s first token to its arrival */
	measure(ask: () => Promise<Response>): Promise<number>;
}

export async function firstTokens(): Promise<FirstTokens> {
	let saidMs = 0;
	let goOn: () => void = () => undefined;
	const server = createServer(async (request, response) => {
		await textOf(request);
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		const rest = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		saidMs = performance.now();
		response.write(event({ role: 'assistant', content: 'first' }));
		await rest;
		response.end(`${event({}, 'stop')}data: [DONE]\n\n`);
	});
	await once(server.listen(0, '127.0.0.1'), 'listening');
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		async measure(ask) {
			const { body } = await ask();
			if (!body) throw new Error('There is no answer.');
			let [text, tookMs] = ['', null as number | null];
			for await (const piece of body.pipeThrough(new TextDecoderStream())) {
				text += piece;
				if (tookMs !== null || !text.includes('"first"')) continue;
				tookMs = performance.now() - saidMs;
				goOn();
			}
			if (tookMs === null) throw new Error(text);
			return tookMs;
		},
		async [Symbol.asyncDispose]() {
			server.closeAllConnections();
			server.close();
		},
	};
}
