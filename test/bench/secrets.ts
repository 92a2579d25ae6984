// Measures what lists of configs with secrets cost: pages of 100 tools, imported and written by hand with secret headers, and the walk over
// their configs alone. `node test/bench/secrets.ts`. It fails when a page takes more than 10 ms of CPU by its median.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { gunzipSync } from 'node:zlib';
import type { JsonObject } from '../../core/contract/nouns.ts';
import { Registry } from '../../core/registry/registry.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import http from '../../plugins/executors/http/index.ts';
import { type Account, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { median } from './rounds.ts';

const ROUNDS = 40;
const WARM_UP = 20;
const PAGE = 100;
const MOST_MS = 10;

const cpuMs = (): number => {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
};

/** Returns the median of the CPU time that the process spends on a round, in milliseconds. */
async function measured(work: () => unknown): Promise<number> {
	const costs: number[] = [];
	for (let round = -WARM_UP; round < ROUNDS; round++) {
		const started = cpuMs();
		await work();
		if (round >= 0) costs.push(cpuMs() - started);
	}
	return median(costs);
}

async function importGithub(account: Account): Promise<void> {
	const schemaContent = gunzipSync(readFileSync(new URL('../fixtures/github.openapi.json.gz', import.meta.url))).toString();
	const { id } = must(await account.post('/apis', { name: 'GitHub', type: 'openapi', baseUrl: 'https://api.github.com' }), 201).body.data;
	must(await account.post(`/apis/${id}/import-schema`, { schemaContent, generateTools: true }), 200);
}

const configOf = (index: number): JsonObject => ({
	method: 'POST',
	url: `https://api.example.com/pets/${index}`,
	headers: { Authorization: `Bearer token-${index}`, 'X-API-Key': `key-${index}`, 'X-Team': 'pets', Accept: 'application/json' },
	query: { limit: 10 },
});

async function writeTools(account: Account): Promise<void> {
	const properties = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`p${index}`, { type: 'string' }]));
	for (let index = 0; index < PAGE; index++) {
		const tool = { name: `tool_${index}`, description: 'Reads a pet.', type: 'http', parameters: { type: 'object', properties } };
		must(await account.post(`/organizations/${account.organization.id}/tools`, { ...tool, executionConfig: configOf(index) }), 201);
	}
}

/** Measures a page as a client of another process reads it, so that only the service's own time counts. */
async function measurePage(service: TestService, account: Account): Promise<number> {
	const client = fork(new URL(import.meta.url), [
		'client',
		`${service.url}/organizations/${account.organization.id}/tools?limit=${PAGE}`,
		account.token,
	]);
	try {
		await once(client, 'message');
		return await measured(async () => {
			client.send('read');
			const [size] = await once(client, 'message');
			if (!(Number(size) > PAGE * 100)) throw new Error(`The page was answered with ${size}.`);
		});
	} finally {
		client.kill();
	}
}

/** Reads the page whenever it is told to, and answers its size. */
async function runClient(url: string, token: string): Promise<void> {
	const headers = { authorization: `Bearer ${token}` };
	const agent = new Agent({ keepAlive: true });
	process.on('message', () => {
		get(url, { agent, headers }, async (response) => {
			let size = 0;
			for await (const chunk of response) size += (chunk as Buffer).length;
			process.send?.(response.statusCode === 200 ? size : `status ${response.statusCode}`);
		});
	});
	process.send?.('ready');
}

async function measureWalk(): Promise<number> {
	const registry = new Registry();
	registry.add(http);
	const place = { organizationId: 'o', table: 'tools', row: 'r' };
	const secrets = createSecrets('ab'.repeat(32));
	const rows = Array.from({ length: PAGE }, (_, index) => registry.seal('executor', 'http', configOf(index), secrets, place));
	return measured(() => rows.map((row) => registry.redact('executor', 'http', row)));
}

async function runAll(): Promise<void> {
	const service = await startTestService();
	const [imported, written] = [await registerAccount(service.url), await registerAccount(service.url)];
	await importGithub(imported);
	await writeTools(written);
	const pages = {
		'tools of an API (GitHub)': await measurePage(service, imported),
		'tools with headers': await measurePage(service, written),
	};
	const walk = await measureWalk();
	await service.stop();

	console.log('\n| a page of 100 | CPU ms, median |\n|---|---|');
	for (const [name, ms] of Object.entries(pages)) console.log(`| ${name} | ${ms.toFixed(2)} |`);
	console.log(`| the walk over the configs with headers, alone | ${walk.toFixed(3)} |`);
	if (Object.values(pages).some((ms) => ms > MOST_MS)) {
		console.error(`A page took more than ${MOST_MS} ms of CPU.`);
		process.exitCode = 1;
	}
}

const [, , role, url = '', token = ''] = process.argv;
await (role === 'client' ? runClient(url, token) : runAll());
