// Runs a real language model through a `local` LLM provider: it is written with random weights, loaded by llama.cpp, served on loopback, chatted
// with, streamed, and asked by an llm tool for JSON of a schema. `node test/sweep/local-model.ts`, half a minute; it installs node-llama-cpp
// without its scripts into a folder of its own, or takes the one that is named by the first argument.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { must, registerAccount, startTestService } from '../helpers/service.ts';
import { writeTinyModel } from './tiny-model.ts';

const VERSION = '3.22.1';
const SERVER = fileURLToPath(new URL('./llama-server.ts', import.meta.url));
const SCHEMA = {
	type: 'object',
	properties: { sky: { enum: ['blue', 'grey'] }, rain: { type: 'boolean' } },
	required: ['sky', 'rain'],
	additionalProperties: false,
};

const own = mkdtempSync(join(tmpdir(), 'gatehouse-model-'));
const folder = process.argv[2] ?? own;
if (folder === own) {
	writeFileSync(join(own, 'package.json'), '{"private":true,"type":"module"}');
	const packages = [`node-llama-cpp@${VERSION}`, `@node-llama-cpp/linux-x64@${VERSION}`];
	execFileSync('npm', ['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', ...packages], { cwd: own });
}
const modelPath = join(own, 'tiny.gguf');
const bytes = writeTinyModel();
writeFileSync(modelPath, bytes);

const startedMs = performance.now();
const program = spawn(process.execPath, [SERVER, folder, modelPath], { stdio: ['ignore', 'pipe', 'inherit'] });
const service = await startTestService({ env: { LOCALMODEL_ALLOW_PRIVATE_URLS: 'true', EGRESS_ALLOW: 'https://nothing.example' } });
try {
	const [line] = (await once(program.stdout, 'data')) as [Buffer];
	const baseUrl = `${String(line).trim()}/v1`;
	const account = await registerAccount(service.url);
	const refused = await account.post('/llm-providers', { name: 'm', provider: 'custom', apiKey: 'k', baseUrl });
	assert.equal(refused.status, 400, 'no other provider may be on loopback');
	const body = { name: 'Local', provider: 'local', baseUrl, model: 'tiny', configuration: { maxTokens: 24 } };
	const { id } = must(await account.post('/llm-providers', body), 201).body.data;
	const path = `/llm-providers/${id}`;
	assert.deepEqual(must(await account.get(`${path}/models`), 200).body.data, { models: [{ id: 'tiny' }] });
	const tested = must(await account.post(`${path}/test`, undefined), 200).body.data;
	const firstMs = performance.now() - startedMs;
	const chat = must(await account.post(`${path}/chat`, { message: 'How is the sky?', sessionId: 's' }), 200).body.data;
	assert.ok(chat.message.length > 0 && chat.usage.outputTokens > 0 && chat.cost === null);

	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const streamed = await fetch(`${service.url}${path}/chat/stream`, {
		...{ method: 'POST', headers },
		body: JSON.stringify({ message: 'And now?', sessionId: 's' }),
	});
	const events = await streamed.text();
	const deltas = events.match(/^event: delta$/gm)?.length ?? 0;
	assert.ok(deltas > 1 && /^event: done$/m.test(events), events);

	const executionConfig = {
		providerId: id,
		promptTemplate: 'The sky over {{city}}: ',
		outputSchema: SCHEMA,
		parameters: { maxTokens: 64 },
	};
	const parameters = { type: 'object', properties: { city: { type: 'string' } } };
	const tools = `/organizations/${account.organization.id}/tools`;
	const tool = must(await account.post(tools, { name: 'sky', description: '', type: 'llm', parameters, executionConfig }), 201).body.data;
	const run = must(await account.post(`${tools}/${tool.id}/execute`, { parameters: { city: 'Bern' } }), 200).body.data;
	assert.equal(run.status, 'success', JSON.stringify(run));
	const seen = {
		...{ model: `${bytes.length} bytes`, test: tested, firstAnswerAfterMs: Math.round(firstMs) },
		...{ chat, deltas, tool: run, usage: must(await account.get(path), 200).body.data.usage },
	};
	process.stdout.write(`${JSON.stringify(seen, null, '\t')}\n`);
} finally {
	program.kill();
	await service.stop();
	rmSync(own, { recursive: true, force: true });
}
process.exit(0);
