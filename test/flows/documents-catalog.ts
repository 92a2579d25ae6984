// Shared by the tests of rows 21 to 32 of the catalog: the ways of import, and the assertions about a hostile document whichever way it
// takes. It is refused or harmless, nothing of a refused one is stored, and no server is called that the guard does not allow.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { zipSync } from 'fflate';
import { DOCUMENT_CASES, type DocumentCase, SECRETS } from '../catalog/documents.ts';
import { sampled } from '../helpers/sampled.ts';
import { type Account, type Answer, must } from '../helpers/service.ts';
import { type ShutNetwork, startShutNetwork } from '../helpers/shut-network.ts';

export interface Catalog {
	account: Account;
	/** The origin that may be called. */
	origin: string;
	/** A server on every address of the machine that must never be contacted. */
	canary: { port: number; connections: number };
	/** Sets the handler of requests to `origin`. */
	serve(answer: (response: ServerResponse, url: string) => void): void;
	connect(type: string): Promise<string>;
	assertNothingKept(apiId: string): Promise<void>;
	/** Checks all texts of the import that models and people read. */
	assertHarmless(apiId: string, answer: Answer): Promise<void>;
}

/** Starts a service before the tests of this file and stops it after them. */
export function useCatalog(): Catalog {
	let network: ShutNetwork;
	let answering: Parameters<Catalog['serve']>[0];
	before(async () => {
		network = await startShutNetwork(({ url = '' }, response) => answering(response, url));
	});
	after(() => network.stop());
	const told = async (path: string, key: string): Promise<unknown> => must(await network.account.get(path), 200).body.data[key];
	return {
		get account() {
			return network.account;
		},
		get origin() {
			return network.origin;
		},
		get canary() {
			return network.canary;
		},
		serve(answer) {
			answering = answer;
		},
		connect: async (type) => must(await network.account.post('/apis', { name: type, type, baseUrl: network.origin }), 201).body.data.id,
		async assertNothingKept(apiId) {
			assert.deepEqual(await told(`/apis/${apiId}/operations`, 'operations'), []);
			assert.deepEqual(await told(`/apis/${apiId}/schemas`, 'schemas'), []);
		},
		async assertHarmless(apiId, answer) {
			const operations = await told(`/apis/${apiId}/operations`, 'operations');
			const { id } = network.account.organization;
			// The list of tools holds their descriptions.
			const tools = (await told(`/organizations/${id}/tools?apiId=${apiId}`, 'tools')) as { description: string }[];
			const shown = JSON.stringify([answer.body, operations, tools]);
			for (const secret of SECRETS) assert.ok(!shown.includes(JSON.stringify(secret).slice(1, -1)), JSON.stringify(secret));
			for (const { description } of tools) assert.ok(description.length <= 10_000);
		},
	};
}

export function assertRefused({ status, body }: Answer): void {
	assert.equal(status, 400, JSON.stringify(body).slice(0, 500));
	assert.ok(['SCHEMA_INVALID', 'VALIDATION_FAILED', 'EGRESS_REFUSED'].includes(body.error), body.error);
	assert.ok(body.message.length < 1_000);
}

/** The ways of import, each of which builds the body of the request. */
const WAYS = {
	text: (schemaContent: string): object => ({ schemaContent }),
	files: (text: string): object => ({ files: { 'folder/main': text, 'README.md': 'Not a description.' }, entry: 'folder/main' }),
	'a zip': (text: string): object => ({ files: Buffer.from(zipSync({ 'folder/main': Buffer.from(text) })).toString('base64') }),
	URL: (text: string, { serve, origin }: Catalog): object => {
		serve((response) => response.end(text));
		return { schemaUrl: `${origin}/folder/main` };
	},
};

const BY_ROW: DocumentCase[][] = Object.values(Object.groupBy(DOCUMENT_CASES, ({ row, type }) => `${row} ${type}`)).map(
	(cases = []) => cases,
);
/** Each reference, and two cases of every other row: once the text is read, all ways are handled alike. */
const SOME = BY_ROW.flatMap((cases) => cases.filter(({ row }, at) => row === 21 || row === 24 || at < 2));
/** The ways but text, which take turns: in a sweep, each takes all cases. */
const TURNS = Object.keys(WAYS).slice(1);

/** Returns the cases that are imported in a way: as text, half of each row, and in a sweep all. */
const casesAs = (way: keyof typeof WAYS): DocumentCase[] =>
	way === 'text' ? BY_ROW.flatMap((cases) => sampled(cases, 2)) : sampled(SOME, TURNS.length, TURNS.indexOf(way));

/** The number of imports in all files. */
export const IMPORTS = Object.keys(WAYS).reduce((sum, way) => sum + casesAs(way as keyof typeof WAYS).length, 0);

const textOf = ({ make }: DocumentCase, { origin, canary }: Catalog): string =>
	make()
		.replaceAll('{open}', origin)
		.replaceAll('{canary}', `http://127.0.0.1:${canary.port}`)
		.replaceAll('{canary-host}', `127.0.0.1:${canary.port}`)
		.replaceAll('{canary-port}', String(canary.port));

/** @param types of APIs to import; all by default */
export function testImports(catalog: Catalog, way: keyof typeof WAYS, types?: string[]): void {
	describe(`as ${way}`, () => {
		for (const example of casesAs(way).filter(({ type }) => types?.includes(type) ?? true)) {
			test(`${example.row}: ${example.type}: ${example.id} is ${example.expected}`, async () => {
				const { account, canary } = catalog;
				const id = await catalog.connect(example.type);
				const body = WAYS[way](textOf(example, catalog), catalog);
				const answer = await account.post(`/apis/${id}/import-schema`, { ...body, generateTools: true });
				const isHarmless = answer.status === 200 && example.expected === 'harmless';
				assert.ok(answer.status === 400 || isHarmless, JSON.stringify(answer.body).slice(0, 500));
				if (isHarmless) await catalog.assertHarmless(id, answer);
				else {
					assertRefused(answer);
					await catalog.assertNothingKept(id);
				}
				assert.equal(canary.connections, 0);
			});
		}
	});
}
