// Configs that a tool of type `graphql` may be saved with.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, GatewayError } from '../../../core/index.ts';
import { saving } from '../../../test/helpers/executor.ts';
import graphql from './index.ts';

const OK = { endpoint: 'https://api.example.com/graphql', query: 'query ($id: ID!) { pet(id: $id) { name } }' };

/** @returns the fault that saving the config reports, null when it is accepted */
async function save(given: object, checkUrl = async (_url: string): Promise<void> => undefined): Promise<GatewayError | null> {
	const { value, error } = graphql.config.validate(given);
	if (error) return new GatewayError('validation_failed', error.message);
	try {
		await graphql.check(value, saving(checkUrl));
		return null;
	} catch (thrown) {
		return asGatewayError(thrown) ?? assert.fail(String(thrown));
	}
}

const deep = (count: number): string => '{ a '.repeat(count) + '}'.repeat(count);

const REFUSED: [what: string, config: object, path: string | undefined, says: RegExp][] = [
	['no endpoint', { query: OK.query }, '/executionConfig/endpoint', /"endpoint" is required/],
	['no query', { endpoint: OK.endpoint }, undefined, /"query" is required/],
	['an endpoint with a user name', { ...OK, endpoint: 'https://a:b@api.example.com/' }, undefined, /without user name/],
	['an endpoint with a fragment', { ...OK, endpoint: 'https://api.example.com/#x' }, undefined, /without user name and fragment/],
	['another scheme', { ...OK, endpoint: 'ftp://api.example.com/' }, undefined, /http or https/],
	['a port that is none', { ...OK, endpoint: 'https://api.example.com:99999/' }, undefined, /URL/],
	['a syntax error', { ...OK, query: 'query {\n  pet(: 1)\n}' }, '/executionConfig/query', /line 2, column 7/],
	['no operation', { ...OK, query: 'fragment F on Pet { id }' }, '/executionConfig/query', /must hold an operation/],
	['a schema', { ...OK, query: 'type Query { a: Int }' }, '/executionConfig/query', /must hold an operation/],
	['a subscription', { ...OK, query: 'subscription { pets { id } }' }, '/executionConfig/query', /subscriptions are not supported/],
	['several operations', { ...OK, query: 'query A { a } query B { b }' }, '/executionConfig/operationName', /several operations/],
	['the name of no operation', { ...OK, operationName: 'C' }, '/executionConfig/operationName', /must name an operation/],
	['a name that two have', { ...OK, query: 'query A { a } query A { b }', operationName: 'A' }, '/executionConfig/operationName', /no two/],
	[
		'the name of a subscription',
		{ ...OK, query: 'query A { a } subscription B { b }', operationName: 'B' },
		'/executionConfig/query',
		/subscriptions are not supported/,
	],
	['20,000 levels', { ...OK, query: deep(9_000) }, '/executionConfig/query', /nested too deeply/],
	['50,000 aliases', { ...OK, query: `{ ${'a:b '.repeat(50_000)} }` }, undefined, /less than or equal to 65536/],
	[
		'a selection of several fields',
		{ ...OK, query: '{ a { x } b { y } }', selectArgument: 's' },
		'/executionConfig/selectArgument',
		/one field/,
	],
	['a selection of a leaf', { ...OK, query: '{ a }', selectArgument: 's' }, '/executionConfig/selectArgument', /one field/],
	['a reserved header', { ...OK, headers: { Host: 'x' } }, undefined, /set by the gateway itself/],
	['a header with a line break', { ...OK, headers: { a: 'b\r\nc: d' } }, undefined, /text of one line/],
	['an unknown field', { ...OK, variables: {} }, undefined, /"variables" is not allowed/],
	['too much patience', { ...OK, timeoutMs: 120_001 }, undefined, /"timeoutMs"/],
];

for (const [what, given, path, says] of REFUSED)
	test(`A config with ${what} is refused`, async () => {
		const error = await save(given);
		assert.match(error?.message ?? 'accepted', says);
		assert.equal(error?.details[0]?.path, path);
		assert.ok((error?.message.length ?? 0) < 500);
	});

test('One operation, or one of several by its name, is accepted, and the endpoint is checked by the guard', async () => {
	const asked: string[] = [];
	const checkUrl = async (url: string): Promise<void> => void asked.push(url);
	assert.equal(await save(OK, checkUrl), null);
	assert.equal(await save({ ...OK, query: 'mutation A { a } query B { b } fragment F on X { y }', operationName: 'B' }, checkUrl), null);
	assert.deepEqual(asked, [OK.endpoint, OK.endpoint]);
	const refused = new GatewayError('egress_refused', 'private');
	assert.equal((await save(OK, () => Promise.reject(refused)))?.code, 'egress_refused');
});

test('Every field says what it is for', () => {
	const keys: object = graphql.config.describe().keys ?? {};
	for (const [name, described] of Object.entries(keys) as [string, { flags?: { description?: string } }][])
		assert.ok(described.flags?.description, name);
});
