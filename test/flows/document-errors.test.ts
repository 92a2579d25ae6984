// Tests that the sentences which the document shows for errors are those of the service: each error is provoked, and the sentences are
// compared.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { ERRORS } from '../../core/contract/errors.ts';
import { TOLD } from '../../plugins/features/reference/sentences.ts';
import { readDocument } from '../helpers/document.ts';
import { addMember } from '../helpers/members.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	startTestService,
} from '../helpers/service.ts';
import { tagOf } from '../helpers/versions.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';
const GATEWAY = { name: 'Pets', type: 'mcp', endpoint: '/pets' };
const API = { name: 'Pets', type: 'openapi', baseUrl: 'https://example.com' };

let service: SharedService;
let account: Account;
before(async () => {
	service = await startTestService({ databaseWaits: {} });
	account = await registerAccount(service.url);
	await publishGateway(account, { endpoint: GATEWAY.endpoint });
});
after(() => service.stop());

const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown): Promise<Answer> =>
	send(service.url + path, method, { headers, body });

async function schemaInvalid(): Promise<Answer> {
	const { id } = must(await account.post('/apis', API), 201).body.data;
	return account.post(`/apis/${id}/import-schema`, { schemaContent: 'nothing' });
}

async function narrowKey(): Promise<Answer> {
	const { key } = must(await account.post('/access-keys', { name: 'n', permissions: ['gateway:read'] }), 201).body.data;
	return ask('POST', '/gateways', { authorization: `Bearer ${key}` }, GATEWAY);
}

async function spoiledCredential(): Promise<Answer> {
	const { id } = must(await account.post('/apis', API), 201).body.data;
	const credentials = { key: 'k', name: 'X-Key', in: 'header' };
	must(await account.post(`/apis/${id}/credentials`, { type: 'api_key', credentials }), 201);
	await administer(service.config.database ?? assert.fail(), `UPDATE api_credentials SET secret = 'v1.' WHERE api_id = '${id}'`);
	return account.post(`/apis/${id}/credentials/test`, {});
}

async function staleVersion(): Promise<Answer> {
	const { id } = must(await account.post('/apis', API), 201).body.data;
	return account.patch(`/apis/${id}`, { name: 'Cats' }, { 'if-match': tagOf(999_999) });
}

async function keyTwice(): Promise<Answer> {
	await account.post('/apis', API, { 'idempotency-key': 'k' });
	return account.post('/apis', { ...API, name: 'Cats' }, { 'idempotency-key': 'k' });
}

async function busy(): Promise<Answer> {
	const { id } = must(await account.post('/apis', API), 201).body.data;
	const { host, port, username, password, name } = service.config.database ?? assert.fail();
	const holder = new pg.Client({ host, port, user: username, password, database: name });
	await holder.connect();
	try {
		await holder.query('BEGIN');
		await holder.query('SELECT FROM apis WHERE id = $1 FOR UPDATE', [id]);
		const answer = await account.patch(`/apis/${id}`, { name: 'Cats' });
		assert.equal(answer.headers.get('retry-after'), '1');
		return answer;
	} finally {
		await holder.end();
	}
}

async function tooMany(): Promise<Answer> {
	const one = { max: 1, seconds: 60 };
	const limits = { global: one, categories: { health: null }, invoke: one, gateways: one, routes: {} };
	const strict = await startTestService({ replicaOf: service, limits });
	try {
		await send(`${strict.url}/openapi.json`, 'GET');
		const { body, ...answer } = await send(`${strict.url}/openapi.json`, 'GET');
		return { ...answer, body: { ...body, message: body.message.replace(/\d+/, '12') } };
	} finally {
		await strict.stop();
	}
}

/** Requests for each error that needs no outage, as the management API answers it. */
const PROVOKED: Record<string, () => Promise<Answer>> = {
	validation_failed: () => account.post('/gateways', { type: 'mcp', endpoint: '/nameless' }),
	schema_invalid: schemaInvalid,
	egress_refused: () => account.post('/apis', { ...API, baseUrl: 'http://10.0.0.1' }),
	no_organization: () => account.get('/apis', { 'x-organization-id': NOBODY }),
	unauthorized: () => ask('GET', '/apis'),
	forbidden: async () => (await addMember(account, 'viewer')).post('/gateways', GATEWAY, { 'x-organization-id': account.organization.id }),
	insufficient_scope: narrowKey,
	not_found: () => account.get(`/gateways/${NOBODY}`),
	method_not_allowed: () => ask('POST', '/openapi.json'),
	conflict: () => account.post('/gateways', GATEWAY),
	secret_unreadable: spoiledCredential,
	precondition_failed: staleVersion,
	payload_too_large: () => account.post('/apis', `{"a":"${'x'.repeat(1_100_000)}"}`),
	unsupported_media_type: () => account.post('/apis', 'x', { 'content-type': 'text/plain' }),
	idempotency_key_reused: keyTwice,
	rate_limited: tooMany,
	unavailable: busy,
};

/** Source files of the other sentences. The text before or within each depends on the case. */
const WRITTEN: Record<string, string> = {
	agent_failed: 'plugins/features/agents/invoke.ts',
	internal: 'core/http/failures.ts',
	not_implemented: 'core/tools/dry-run.ts',
	tool_not_found: 'core/tools/call.ts',
	upstream_failed: 'core/egress/egress.ts',
	upstream_timeout: 'core/egress/egress.ts',
};

test('the sentence that is shown of an error is the one that the service says', async () => {
	for (const [code, provoke] of Object.entries(PROVOKED)) {
		const { status, body } = await provoke();
		const { message, details } = TOLD[code as keyof typeof TOLD];
		const told = { status: ERRORS[code as keyof typeof ERRORS], error: code.toUpperCase(), message, details };
		assert.deepEqual(
			{ status, error: body.error, message: body.message, details: body.details },
			told,
			'plugins/features/reference/sentences.ts says otherwise',
		);
	}
});

test('of those that take an outage, the service has the sentence', () => {
	for (const [code, file] of Object.entries(WRITTEN)) {
		const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
		const sentences = TOLD[code as keyof typeof TOLD].message.replace(/^\S+\.com|"\w+"/, '\n').split(/\n|(?<=\.) /);
		for (const sentence of sentences) assert.ok(source.includes(sentence), `${file} does not say: ${sentence}`);
	}
	assert.deepEqual([...Object.keys(PROVOKED), ...Object.keys(WRITTEN)].sort(), Object.keys(TOLD).sort());
});

test('each response of the document names its errors, says when they come, and shows one of each', async () => {
	const { document } = await readDocument(service.url);
	const { responses } = document.components;
	assert.ok(Object.keys(responses).length >= 12);
	for (const [name, { description, content }] of Object.entries<{ description: string; content: Record<string, Media> }>(responses)) {
		const examples = Object.entries(content['application/json']?.examples ?? {});
		assert.notEqual(examples.length, 0, name);
		for (const [code, { value }] of examples) {
			assert.match(description, new RegExp(`\`${code}\`: .+\\.`), name);
			assert.deepEqual([`Error${value.statusCode}`, value.error], [name, code]);
		}
	}
});

interface Media {
	examples: Record<string, { value: { statusCode: number; error: string } }>;
}
