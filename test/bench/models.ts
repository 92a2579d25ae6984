// Measures a chat through an LLM provider beside the same model asked directly by OpenAI's own client: time and CPU of a chat, and of one streamed
// token. `node test/bench/models.ts`, about a minute.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { enter } from '../../demo/account.ts';
import { findPort } from '../../demo/ports.ts';
import { createRest } from '../../demo/rest.ts';
import { ACCOUNT } from './paths.ts';
import { median } from './rounds.ts';
import { startSubject } from './subject.ts';

const [ROUNDS, WARM_UP, CHATS, AT_ONCE, TOKENS] = [6, 1, 80, 8, 500] as const;

interface Path {
	chat(message: string, isStreamed: boolean): Promise<void>;
	/** Returns the CPU time so far of whoever asks the model, in microseconds. */
	cpuMicros(): Promise<number>;
}

interface Cost {
	cpuMicros: number;
	ms: number;
}

async function costOf(path: Path, tokens: number, isStreamed: boolean, chats: number): Promise<Cost> {
	const [cpu, startedMs] = [await path.cpuMicros(), performance.now()];
	let left = chats;
	const one = async (): Promise<void> => {
		while (left-- > 0) await path.chat(`Write tokens: ${tokens}`, isStreamed);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, one));
	return { cpuMicros: ((await path.cpuMicros()) - cpu) / chats, ms: ((performance.now() - startedMs) / chats) * AT_ONCE };
}

/** A chat of one token, and one token more of a stream. */
async function round(path: Path): Promise<{ chat: Cost; token: Cost }> {
	const chat = await costOf(path, 1, false, CHATS);
	const short = await costOf(path, 1, true, CHATS);
	const long = await costOf(path, TOKENS + 1, true, CHATS / 4);
	return { chat, token: { cpuMicros: (long.cpuMicros - short.cpuMicros) / TOKENS, ms: (long.ms - short.ms) / TOKENS } };
}

async function throughService(url: string, baseUrl: string, cpuMicros: () => Promise<number>): Promise<Path> {
	const { rest } = await enter(url, ACCOUNT);
	const { token } = await createRest(url)<{ token: string }>('POST', '/auth/login', ACCOUNT);
	const body = { name: 'Models', provider: 'local', baseUrl, model: 'small', prices: { small: { input: 1, output: 1 } } };
	const { id } = await rest<{ id: string }>('POST', '/llm-providers', body);
	const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
	return {
		cpuMicros,
		async chat(message, isStreamed) {
			const path = `${url}/llm-providers/${id}/chat${isStreamed ? '/stream' : ''}`;
			const text = await (await fetch(path, { method: 'POST', headers, body: JSON.stringify({ message }) })).text();
			if (!text.includes('"finishReason":"stop"')) throw new Error(text);
		},
	};
}

function directly(baseURL: string): Path {
	const client = new OpenAI({ apiKey: 'none', baseURL });
	const cpuMicros = async (): Promise<number> => {
		const { user, system } = process.cpuUsage();
		return user + system;
	};
	return {
		cpuMicros,
		async chat(message) {
			const messages = [{ role: 'user' as const, content: message }];
			const answer = await client.chat.completions.create({ model: 'small', messages, stream: true });
			let text = '';
			for await (const { choices } of answer) text += choices[0]?.delta.content ?? '';
			if (!text.startsWith('token')) throw new Error(text);
		},
	};
}

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await using upstream = await startSubject('./model-server.ts', {});
		const port = String(await findPort('127.0.0.1', 0));
		const env = { PORT: port, SVC_DATA_DIR: dataDir, LOCALMODEL_ALLOW_PRIVATE_URLS: 'true', LOG_LEVEL: 'warn' };
		await using service = await startSubject('./service.ts', env);
		const paths = [directly(upstream.url), await throughService(service.url, upstream.url, () => service.cpuMicros())];
		const seen = paths.map((): { chat: Cost; token: Cost }[] => []);
		for (let at = -WARM_UP; at < ROUNDS; at++)
			for (const [index, path] of paths.entries()) {
				const one = await round(path);
				if (at >= 0) seen[index]?.push(one);
			}
		print(seen);
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

function print([direct = [], ours = []]: { chat: Cost; token: Cost }[][]): void {
	process.stdout.write(
		'| | directly, CPU µs | through Gatehouse, CPU µs | ratio | directly, ms | through Gatehouse, ms | ratio |\n|---|---|---|---|---|---|---|\n',
	);
	for (const what of ['chat', 'token'] as const) {
		const cells = (['cpuMicros', 'ms'] as const).flatMap((unit) => {
			const [before, after] = [direct, ours].map((rounds) => rounds.map((one) => one[what][unit])) as [number[], number[]];
			const ratios = after.map((value, at) => value / (before[at] ?? Number.NaN));
			const digits = unit === 'ms' ? 3 : 0;
			return [median(before).toFixed(digits), median(after).toFixed(digits), median(ratios).toFixed(2)];
		});
		process.stdout.write(`| ${what === 'chat' ? 'a chat of one token' : 'one streamed token more'} | ${cells.join(' | ')} |\n`);
	}
}

await main();
