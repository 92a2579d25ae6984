// Rows 21 to 32 of the catalog, as text, as files, as a zip and by URL: a hostile document is refused or harmless, whichever way it
// comes in, nothing of a refused one is kept, and nobody is called whom the guard does not let through.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { DOCUMENT_CASES, type DocumentCase, IMPORTED_CASES, SECRETS } from '../catalog/documents.ts';
import { type Account, type Answer, must } from '../helpers/service.ts';
import { type ShutNetwork, startShutNetwork } from '../helpers/shut-network.ts';

let network: ShutNetwork;
let account: Account;
/** May be called; `serve` answers. */
let open: { origin: string };
let serve: (response: ServerResponse, url: string) => void;
/** On every address of the machine. */
let canary: { port: number; connections: number };

before(async () => {
	network = await startShutNetwork(({ url = '' }, response) => serve(response, url));
	({ account, canary } = network);
	open = network;
});
after(() => network.stop());

const textOf = ({ make }: DocumentCase): string =>
	make()
		.replaceAll('{open}', open.origin)
		.replaceAll('{canary}', `http://127.0.0.1:${canary.port}`)
		.replaceAll('{canary-host}', `127.0.0.1:${canary.port}`)
		.replaceAll('{canary-port}', String(canary.port));

/** Each reference, and two of every other row: what is done once the text is there is the same for all ways. */
const SOME = Object.values(Object.groupBy(DOCUMENT_CASES, ({ row, type }) => `${row} ${type}`)).flatMap((cases = []) =>
	cases.filter(({ row }, at) => row === 21 || row === 24 || at < 2),
);

/** The ways in: each gives the body of the request. */
const WAYS: Record<string, (text: string) => object> = {
	text: (schemaContent) => ({ schemaContent }),
	files: (text) => ({ files: { 'folder/main': text, 'README.md': 'Not a description.' }, entry: 'folder/main' }),
	'a zip': (text) => ({ files: Buffer.from(zipSync({ 'folder/main': Buffer.from(text) })).toString('base64') }),
	URL: (text) => {
		serve = (response) => response.end(text);
		return { schemaUrl: `${open.origin}/folder/main` };
	},
};

const connect = async (type: string): Promise<string> =>
	must(await account.post('/apis', { name: type, type, baseUrl: open.origin }), 201).body.data.id;

async function assertNothingKept(id: string): Promise<void> {
	assert.deepEqual(must(await account.get(`/apis/${id}/operations`), 200).body.data.operations, []);
	assert.deepEqual(must(await account.get(`/apis/${id}/schemas`), 200).body.data.schemas, []);
}

function assertRefused({ status, body }: Answer): void {
	assert.equal(status, 400, JSON.stringify(body).slice(0, 500));
	assert.ok(['SCHEMA_INVALID', 'VALIDATION_FAILED', 'EGRESS_REFUSED'].includes(body.error), body.error);
	assert.ok(body.message.length < 1_000);
}

/** What models and people get to read of it. */
async function assertHarmless(id: string, answer: Answer): Promise<void> {
	const operations = must(await account.get(`/apis/${id}/operations`), 200).body.data.operations;
	const tools = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${id}`), 200).body.data.tools;
	const shown = JSON.stringify([answer.body, operations, tools]);
	for (const secret of SECRETS) assert.ok(!shown.includes(JSON.stringify(secret).slice(1, -1)), JSON.stringify(secret));
	for (const { description } of tools) assert.ok(description.length <= 10_000);
}

for (const [way, bodyOf] of Object.entries(WAYS)) {
	describe(`as ${way}`, () => {
		for (const example of way === 'text' ? DOCUMENT_CASES : SOME) {
			test(`${example.row}: ${example.type}: ${example.id} is ${example.expected}`, async () => {
				const id = await connect(example.type);
				const answer = await account.post(`/apis/${id}/import-schema`, { ...bodyOf(textOf(example)), generateTools: true });
				assert.ok(
					answer.status === 400 || (answer.status === 200 && example.expected === 'harmless'),
					JSON.stringify(answer.body).slice(0, 500),
				);
				if (answer.status === 400) {
					assertRefused(answer);
					await assertNothingKept(id);
				} else await assertHarmless(id, answer);
				assert.equal(canary.connections, 0);
			});
		}
	});
}

describe('24: what a WSDL imports is read within bounds, and is as harmless', () => {
	for (const { id, main, imported, most } of IMPORTED_CASES) {
		test(id, async () => {
			const asked: string[] = [];
			serve = (response, url) => {
				const path = url.split('/').at(-1) ?? '';
				if (path !== 'main') asked.push(path);
				response.end(path === 'main' ? main : imported(path));
			};
			const apiId = await connect('soap');
			const answer = await account.post(`/apis/${apiId}/import-schema`, { schemaUrl: `${open.origin}/folder/main`, generateTools: true });
			assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
			assert.ok(asked.length > 0 && asked.length <= most, `${asked}`);
			await assertHarmless(apiId, answer);
			assert.equal(canary.connections, 0);
		});
	}
});

describe('30: what is too large', () => {
	const MiB = 1024 * 1024;
	const blank = (bytes: number): Buffer => Buffer.alloc(bytes, ' ');

	test('a body of more than 64 MiB is a 413', async () => {
		const id = await connect('openapi');
		const { status } = await account.post(`/apis/${id}/import-schema`, blank(65 * MiB), { 'content-type': 'application/json' });
		assert.equal(status, 413);
	});

	test('a URL that answers more than 64 MiB, in one piece, without end, or packed, is a 400', async () => {
		const id = await connect('openapi');
		const bomb = gzipSync(blank(200 * MiB));
		assert.ok(bomb.length < MiB);
		const answers: ((response: ServerResponse) => void)[] = [
			(response) => response.end(blank(65 * MiB)),
			(response) => response.setHeader('content-encoding', 'gzip').end(bomb),
			function endless(response): void {
				if (!response.destroyed) response.write(blank(256 * 1024), () => setImmediate(endless, response));
			},
		];
		for (const answer of answers) {
			serve = answer;
			assertRefused(await account.post(`/apis/${id}/import-schema`, { schemaUrl: `${open.origin}/x` }));
		}
		await assertNothingKept(id);
	});

	test('a zip of more than 64 MiB once it is unpacked is a 400, at once', async () => {
		const id = await connect('openapi');
		const bomb = Buffer.from(zipSync({ 'a.json': blank(200 * MiB) }));
		assert.ok(bomb.length < MiB);
		const started = performance.now();
		assertRefused(await account.post(`/apis/${id}/import-schema`, { files: bomb.toString('base64') }));
		assert.ok(performance.now() - started < 5_000);
		await assertNothingKept(id);
	});
});

test('every case is counted', (t) => {
	const count = DOCUMENT_CASES.length + SOME.length * (Object.keys(WAYS).length - 1);
	t.diagnostic(`${DOCUMENT_CASES.length} documents, ${count} imports`);
	assert.ok(DOCUMENT_CASES.length >= 75 && count >= 200, `${DOCUMENT_CASES.length} documents, ${count} imports`);
});
