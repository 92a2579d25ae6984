// Tests of security requirements: which of them can be sent, and which arguments a credential may fill.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

async function readOne(path: string, operation: object, rest: object = {}): Promise<Operation> {
	const paths = { [path]: { post: { responses: { 200: { description: 'ok' } }, ...operation } } };
	const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths, ...rest };
	const { operations } = await readWith(importer, JSON.stringify(document));
	return operations[0] ?? assert.fail();
}

const param = (name: string, location: string): object => ({ name, in: location, schema: { type: 'string' } });

const KEYS = {
	id: { type: 'apiKey', in: 'query', name: 'key' },
	token: { type: 'apiKey', in: 'query', name: 'token' },
	header: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
	cookie: { type: 'apiKey', in: 'cookie', name: 'SID' },
	bearer: { type: 'http', scheme: 'bearer' },
};

test('two keys of one alternative are two credentials, each with its location, and nothing is lost', async () => {
	const parameters = ['key', 'token', 'page'].map((name) => ({ ...param(name, 'query'), required: true }));
	const operation = await readOne('/x', { parameters, security: [{ id: [], token: [] }] }, { components: { securitySchemes: KEYS } });
	assert.deepEqual(operation.definition['security'], [
		[
			{ scheme: 'id', type: 'api_key', in: 'query', name: 'key' },
			{ scheme: 'token', type: 'api_key', in: 'query', name: 'token' },
		],
	]);
	assert.deepEqual([operation.outcome, operation.reasons], ['converted', []]);
	assert.deepEqual(operation.parameters['required'], ['key', 'token', 'page']);
	const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com' };
	const { fillable, executionConfig } = importer.tool(operation, api);
	assert.deepEqual(fillable, {
		origin: null,
		security: operation.definition['security'],
		arguments: [
			{ argument: 'key', in: 'query', name: 'key' },
			{ argument: 'token', in: 'query', name: 'token' },
		],
	});
	assert.deepEqual(Object.keys(executionConfig).toSorted(), ['method', 'parameters', 'security', 'url']);
	const elsewhere = { parameters, security: [{ id: [] }], servers: [{ url: 'https://other.example.com/v1' }] };
	const moved = importer.tool(await readOne('/x', elsewhere, { components: { securitySchemes: KEYS } }), api);
	assert.equal(moved.fillable?.origin, 'https://other.example.com');
});

test('a credential may fill arguments in the key locations of the operation’s schemes, or of all schemes where it names none', async () => {
	const parameters = [param('key', 'query'), param('token', 'query'), param('x-api-key', 'header'), param('SID', 'cookie')];
	const fillable = async (security: unknown, root: object = {}): Promise<unknown> =>
		(
			(await readOne('/x', { parameters, security }, { components: { securitySchemes: KEYS }, ...root })).definition['fillable'] as
				| { arg: string }[]
				| undefined
		)?.map(({ arg }) => arg);
	assert.deepEqual(await fillable([{ header: [] }]), ['x-api-key']);
	assert.deepEqual(await fillable([{ cookie: [] }, { bearer: [] }, {}]), ['SID']);
	assert.deepEqual(await fillable(undefined, { security: [{ token: [] }] }), ['token']);
	assert.equal(await fillable([]), undefined);
	assert.equal(await fillable([{ bearer: [] }]), undefined);
	assert.deepEqual(await fillable(undefined), ['key', 'token', 'x-api-key', 'SID']);
});

const UNSENDABLE: [security: object[], reason: RegExp][] = [
	[[{ tls: [] }], /^Its security scheme “tls” is of the type “mutualTLS”, which cannot be sent\.$/],
	[[{ digest: [] }], /“digest” is of the type “http Digest”/],
	[[{ body: [] }], /“body” is a key in “body” called “k”, which cannot be sent/],
	[[{ host: [] }], /“host” is a key in “header” called “Host”/],
	[[{ pair: [] }], /“pair” is a key in “cookie” called “a=b”/],
	[[{ long: [] }], /“long” is a key in “query”/],
	[[{ nowhere: [] }], /“nowhere” is not in the document/],
	[[{ bearer: [], basic: [] }], /“bearer” and “basic” share one location, where only the last is sent: “header authorization”/],
	[[Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`s${at}`, []]))], /more than 10 credentials at once/],
];

for (const [security, reason] of UNSENDABLE)
	test(`the report says that ${JSON.stringify(security).slice(0, 60)} cannot be sent`, async () => {
		const securitySchemes = {
			...KEYS,
			basic: { type: 'http', scheme: 'basic' },
			tls: { type: 'mutualTLS' },
			digest: { type: 'http', scheme: 'Digest' },
			body: { type: 'apiKey', in: 'body', name: 'k' },
			host: { type: 'apiKey', in: 'header', name: 'Host' },
			pair: { type: 'apiKey', in: 'cookie', name: 'a=b' },
			long: { type: 'apiKey', in: 'query', name: 'k'.repeat(201) },
		};
		const { outcome, reasons } = await readOne('/x', { security }, { components: { securitySchemes } });
		assert.deepEqual([outcome, reasons.length], ['degraded', 1]);
		assert.match(reasons[0] ?? '', reason);
	});
