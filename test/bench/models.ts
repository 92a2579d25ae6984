// Measures a chat through an LLM provider beside the same model asked directly by OpenAI's own client: time and CPU of a chat, and of one streamed
// token. `node test/bench/models.ts`, about a minute.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enter } from '../../demo/account.ts';
import { findPort } from '../../demo/ports.ts';
import { createRest } from '../../demo/rest.ts';
import { compare, directly, type Path } from './chat-costs.ts';
import { ACCOUNT } from './paths.ts';
import { startSubject } from './subject.ts';

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

async function main(): Promise<void> {
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await using upstream = await startSubject('./model-server.ts', {});
		const port = String(await findPort('127.0.0.1', 0));
		const env = { PORT: port, SVC_DATA_DIR: dataDir, LOCALMODEL_ALLOW_PRIVATE_URLS: 'true', LOG_LEVEL: 'warn' };
		await using service = await startSubject('./service.ts', env);
		const paths = [directly(upstream.url), await throughService(service.url, upstream.url, () => service.cpuMicros())];
		await compare(paths, 'through Gatehouse');
	} finally {
		await rm(dataDir, { recursive: true, force: true });
	}
}

await main();
