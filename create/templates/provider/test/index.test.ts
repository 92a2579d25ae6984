// The contract of model providers, with a server of this wire that behaves in each way that the contract names.

import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { CALLS, httpUpstream, KEY, type ModelBehaviour, providerContract, USAGE } from 'gatehouse/testing';
import plugin from '../src/index.ts';

const REFUSALS: Partial<Record<ModelBehaviour, number>> = { refuse: 400, key: 401, busy: 429, fail: 500 };
const line = (value: object): string => `${JSON.stringify(value)}\n`;
const END = line({ done: true, inputTokens: USAGE.inputTokens, outputTokens: USAGE.outputTokens, cachedTokens: USAGE.cachedTokens });

async function start(t: TestContext, behaviour: ModelBehaviour) {
	let count = 0;
	const upstream = await httpUpstream(t, async (request, response) => {
		count += 1;
		if (behaviour === 'reset') return void response.socket?.destroy();
		const chunks: Buffer[] = [];
		// The caller may have left.
		for await (const chunk of request.on('error', () => undefined)) chunks.push(chunk as Buffer);
		answer(behaviour, Buffer.concat(chunks).toString(), response);
	});
	return { ...upstream, requests: () => count };
}

function answer(behaviour: ModelBehaviour, body: string, response: ServerResponse): void {
	if (behaviour === 'hang') return;
	const status = REFUSALS[behaviour];
	if (status !== undefined) return void response.writeHead(status, { 'retry-after': '7' }).end(`refused with ${KEY}`);
	if (behaviour === 'nonsense') return void response.end('<html>');
	if (behaviour === 'tools') return void response.end(CALLS.map((call) => line({ call })).join('') + END);
	if (behaviour === 'echo') tear(response, Buffer.from(line({ text: textOf(body) }) + END));
	else begin(behaviour, response);
}

/** Sends one piece, and goes on as the behaviour says. */
function begin(behaviour: ModelBehaviour, response: ServerResponse): void {
	response.write(line({ text: 'piece' }));
	if (behaviour === 'cut') response.end();
	if (behaviour === 'break') setTimeout(() => response.socket?.destroy(), 20);
	if (behaviour === 'flood') flood(response);
}

function flood(response: ServerResponse): void {
	const more = (): void => {
		while (!response.destroyed && response.write(line({ text: 'x'.repeat(1000) })));
	};
	response.on('drain', more);
	more();
}

/** Sends bytes in pieces that end within characters. */
function tear(response: ServerResponse, bytes: Buffer): void {
	for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
	response.end();
}

/** The text of the last message. */
const textOf = (body: string): string => (JSON.parse(body) as { messages: { content: string }[] }).messages.at(-1)?.content ?? '';

providerContract(plugin, {
	start,
	config: (origin) => ({ url: `${origin}/chat`, key: KEY }),
	bad: [
		{ config: {}, says: /"url" is required/ },
		{ config: { url: 'ftp://models.example' }, says: /"url"/ },
	],
	priced: null,
});
