// Measures a conversation with an agent of one node beside the same model asked directly by OpenAI's own client: CPU and time of a chat, and of one
// streamed token; and the time from the model's first token to the client's first byte. `node test/bench/agent-chat.ts`, about a minute.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enter } from '../../demo/account.ts';
import { findPort } from '../../demo/ports.ts';
import { createRest } from '../../demo/rest.ts';
import { compare, directly, type Path } from './chat-costs.ts';
import { firstTokens } from './first-token.ts';
import { ACCOUNT } from './paths.ts';
import { median } from './rounds.ts';
import { startSubject } from './subject.ts';

const [FIRST_ROUNDS, FIRST_WARM_UP, FIRST_LIMIT_MS] = [60, 10, 50] as const;

/** Adds an agent that passes a message on to this model. @returns what asks it, over a socket that takes gzip */
async function addAgent(url: string, baseUrl: string): Promise<(content: string, stream: boolean) => Promise<Response>> {
	const { rest } = await enter(url, ACCOUNT);
	const { token } = await createRest(url)<{ token: string }>('POST', '/auth/login', ACCOUNT);
	const body = { name: 'Models', provider: 'local', baseUrl, model: 'small', prices: { small: { input: 1, output: 1 } } };
	const { id: providerId } = await rest<{ id: string }>('POST', '/llm-providers', body);
	const nodes = [
		{ id: 'in', type: 'input', data: {} },
		{ id: 'say', type: 'llm_call', data: { providerId, userPromptTemplate: '{{input.message}}' } },
		{ id: 'out', type: 'output', data: { mapping: '{{nodes.say.output}}' } },
	];
	const edges = [
		{ id: 'a', source: 'in', target: 'say' },
		{ id: 'b', source: 'say', target: 'out' },
	];
	const { id } = await rest<{ id: string }>('POST', '/agents', { name: 'Talker', pipeline: { nodes, edges } });
	const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'accept-encoding': 'gzip, br' };
	return (content, stream) => {
		const asked = { model: 'small', messages: [{ role: 'user', content }], stream };
		return fetch(`${url}/agents/${id}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(asked) });
	};
}

async function throughAgent(url: string, baseUrl: string, cpuMicros: () => Promise<number>): Promise<Path> {
	const ask = await addAgent(url, baseUrl);
	return {
		cpuMicros,
		async chat(content, stream) {
			const text = await (await ask(content, stream)).text();
			if (!text.includes('"finish_reason":"stop"')) throw new Error(text);
		},
	};
}

/** Measures the first byte after the first token, and fails above the limit in the median. */
async function firstByte(url: string): Promise<void> {
	await using model = await firstTokens();
	const ask = await addAgent(url, model.url);
	const tookMs: number[] = [];
	for (let at = -FIRST_WARM_UP; at < FIRST_ROUNDS; at++) {
		const one = await model.measure(() => ask('x', true));
		if (at >= 0) tookMs.push(one);
	}
	const sorted = tookMs.toSorted((a, b) => a - b);
	const [middle, late, worst] = [median(tookMs), sorted[Math.floor(FIRST_ROUNDS * 0.95)] ?? 0, sorted.at(-1) ?? 0];
	process.stdout.write(
		`\n| ${FIRST_ROUNDS} rounds | median, ms | p95, ms | the longest, ms | limit, ms |\n|---|---|---|---|---|\n` +
			`| first byte at the client, after the model’s first token | ${middle.toFixed(1)} | ${late.toFixed(1)} | ${worst.toFixed(1)} | ${FIRST_LIMIT_MS} |\n`,
	);
	if (middle > FIRST_LIMIT_MS) process.exitCode = 1;
}

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await using upstream = await startSubject('./model-server.ts', {});
		const port = String(await findPort('127.0.0.1', 0));
		const env = { PORT: port, SVC_DATA_DIR: dataDir, LOCALMODEL_ALLOW_PRIVATE_URLS: 'true', LOG_LEVEL: 'warn' };
		await using service = await startSubject('./service.ts', env);
		const paths = [directly(upstream.url), await throughAgent(service.url, upstream.url, () => service.cpuMicros())];
		await compare(paths, 'through an agent');
		await firstByte(service.url);
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

await main();
