// Tests of the agent's card: for clients of each version, cached, signed, and telling no more than its owners want.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { type AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { importJWK } from 'jose';
import type { Admission } from '../../core/index.ts';
import { Agent, type Any } from '../../test/helpers/a2a-agent.ts';
import type { FakeCallOptions } from '../../testing/index.ts';
import { writtenCard } from './card/written.ts';
import { operator } from './config.ts';

const flows = {
	authorizationCode: {
		authorizationUrl: 'https://a.example/authorize',
		tokenUrl: 'https://a.example/token',
		scopes: {},
		pkceRequired: true,
	},
};
const ADMISSION: Admission[] = [
	{ method: 'api_key', required: false, scheme: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A key' } },
	{ method: 'basic_auth', required: false, scheme: { type: 'http', scheme: 'basic' } },
	{ method: 'oauth2', required: false, scheme: { type: 'oauth2', flows, metadataUrl: 'https://a.example/metadata' } },
	{ method: 'secretive', required: false },
];
const CARD = '/.well-known/agent-card.json';
const MODERN = { headers: { 'a2a-version': '1.0' } };

async function cardOf(more: object = MODERN, options: FakeCallOptions = {}, config: object = {}, path = CARD): Promise<Any> {
	const agent = new Agent({ caller: null, admission: ADMISSION, ...options }, config);
	try {
		return await agent.rest('GET', path, more);
	} finally {
		await agent.close();
	}
}

test('two rows of one method are two ways to log in', async () => {
	const row = (name: string): Admission => ({ method: 'api_key', required: false, scheme: { type: 'apiKey', in: 'header', name } });
	const admission = [row('X-Old'), row('X-New')];
	const { body } = await cardOf(MODERN, { admission });
	assert.deepEqual(body.securitySchemes, {
		api_key: { apiKeySecurityScheme: { location: 'header', name: 'X-Old' } },
		api_key_2: { apiKeySecurityScheme: { location: 'header', name: 'X-New' } },
	});
	assert.deepEqual(body.securityRequirements, [{ schemes: { api_key: { list: [] } } }, { schemes: { api_key_2: { list: [] } } }]);
});

test('a card of 1.0 names the interfaces, skills with schemas, and the ways to log in (CARD-STRUCT, CARD-PROTO)', async () => {
	const { body } = await cardOf();
	const url = 'https://gatehouse.example/acme/main';
	assert.deepEqual([body.name, body.version, body.provider], ['Main', '1.0.0', { organization: 'Acme', url: 'https://gatehouse.example' }]);
	assert.deepEqual(body.supportedInterfaces, [
		{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
		{ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
		{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
	]);
	assert.deepEqual(body.capabilities.extensions[0].params.inputSchemas.echo.required, ['text']);
	const { examples, ...skill } = body.skills[0];
	const modes = ['application/json', 'text/plain'];
	const own = { id: 'echo', name: 'echo', description: 'Says it again.', tags: ['http'] };
	assert.deepEqual(skill, { ...own, inputModes: modes, outputModes: modes });
	assert.match(examples[0], /"skill": "echo"/);
	assert.deepEqual(body.securitySchemes, {
		api_key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key', description: 'A key' } },
		basic_auth: { httpAuthSecurityScheme: { scheme: 'basic' } },
		oauth2: { oauth2SecurityScheme: { flows, oauth2MetadataUrl: 'https://a.example/metadata' } },
	});
	assert.deepEqual(body.securityRequirements[0], { schemes: { api_key: { list: [] } } });
	assert.equal(body.url, undefined);
});

test('a client that names no version, 0.3, or one that is not spoken here, gets the members of both', async () => {
	const others = [{ headers: { 'a2a-version': '7' } }, { headers: { 'a2a-version': '1.1' } }, { query: 'A2A-Version=x' }];
	for (const more of [{}, { headers: { 'a2a-version': '0.3' } }, { query: 'A2A-Version=0.3' }, ...others]) {
		const { body } = await cardOf(more);
		assert.deepEqual([body.protocolVersion, body.preferredTransport, body.url], ['0.3.0', 'JSONRPC', body.supportedInterfaces[0].url]);
		const { api_key: key } = body.securitySchemes;
		assert.deepEqual([key.type, key.in, key.location, key.apiKeySecurityScheme.name], ['apiKey', 'header', 'header', 'X-API-Key']);
		assert.deepEqual(body.security, [{ api_key: [] }, { basic_auth: [] }, { oauth2: [] }]);
		assert.equal(body.supportsAuthenticatedExtendedCard, true);
	}
	assert.deepEqual((await cardOf({}, {}, {}, '/.well-known/agent.json')).body, (await cardOf({})).body);
});

test('a card may be cached, by its version, and is not sent again while it is the same (CARD-CACHE)', async () => {
	const { headers } = await cardOf();
	assert.deepEqual([headers['cache-control'], headers.vary], ['public, max-age=60', 'A2A-Version']);
	assert.notEqual(headers.etag, (await cardOf({})).headers.etag);
	const again = await cardOf({ headers: { ...MODERN.headers, 'if-none-match': `"other", W/${headers.etag}` } });
	assert.deepEqual([again.status, again.body], [304, undefined]);
});

test('an open agent requires nothing and has no extended card', async () => {
	const admission: Admission[] = [{ method: 'none', required: false, scheme: null }, ...ADMISSION];
	const { body } = await cardOf(MODERN, { admission });
	assert.deepEqual([body.securityRequirements, body.capabilities.extendedAgentCard], [[], undefined]);
	const agent = new Agent({ admission });
	assert.equal(await agent.code('GetExtendedAgentCard'), -32007);
	await agent.close();
});

test('a discreet agent tells strangers only what it is and how to log in; callers the rest', async () => {
	const { body } = await cardOf(MODERN, {}, { discovery: 'minimal' });
	assert.deepEqual([body.skills, body.capabilities.extendedAgentCard, body.name], [[], true, 'Main']);
	assert.ok(!JSON.stringify(body).includes('echo'));
	assert.ok(body.securitySchemes.api_key);
	const agent = new Agent({ admission: ADMISSION }, { discovery: 'minimal' });
	assert.equal((await agent.result('GetExtendedAgentCard')).skills[0].id, 'echo');
	assert.equal((await agent.rest('GET', '/extendedAgentCard')).body.skills[0].id, 'echo');
	await agent.close();
});

describe('with a key of the operator', () => {
	const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const signingKey = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));

	test('cards are signed, and the SDK verifies them by the public key set (CARD-JWS)', async () => {
		const options = { operator: { signingKey: signingKey.replaceAll('\n', '\\n') } };
		const { body: keys } = await cardOf({}, options, {}, '/.well-known/jwks.json');
		const verify = verifyAgentCardSignature(async (kid, jku) => {
			assert.equal(jku, 'https://gatehouse.example/acme/main/.well-known/jwks.json');
			return (await importJWK(
				keys.keys.find((jwk: Any) => jwk.kid === kid),
				'ES256',
			)) as Any;
		});
		for (const more of [MODERN, {}]) {
			const { body } = await cardOf(more, options);
			await verify(body as AgentCard);
			await assert.rejects(verify({ ...body, name: 'Another' }), /No valid signatures/);
		}
		assert.ok(!JSON.stringify(keys).includes('"d"'), 'no private part');
		assert.deepEqual((await cardOf({}, {}, {}, '/.well-known/jwks.json')).body, { keys: [] });
		assert.equal((await cardOf()).body.signatures, undefined);
	});

	test('a key of another kind stops the start with a sentence, and without the key', () => {
		const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
		for (const given of ['nonsense', String(rsa)]) {
			const { error } = operator.validate({ signingKey: given });
			assert.match(error?.message ?? '', /must be a private key of the curve P-256/);
			assert.ok(!error?.message.includes(given.slice(0, 30)));
		}
	});
});

test('a card is written once for each state of its gateway, and anew for another one', async () => {
	let written = 0;
	const write = async () => ({ written: ++written });
	const [tools, others] = [Object.freeze([]), Object.freeze([])];
	const own = { lists: [tools, others], around: ['1.0', { name: 'a' }] };
	const [first, same] = await Promise.all([writtenCard(own, write), writtenCard(own, write)]);
	assert.equal(await writtenCard(own, write), first);
	assert.deepEqual([same, written, String(first.bytes)], [first, 1, '{"written":1}']);
	await writtenCard({ ...own, around: ['0.3', { name: 'a' }] }, write);
	await writtenCard({ ...own, lists: [tools, Object.freeze([])] }, write);
	const broken = { ...own, around: [] };
	await assert.rejects(
		writtenCard(broken, () => Promise.reject(new Error('no'))),
		/no/,
	);
	await writtenCard(broken, write);
	assert.equal(written, 4);
});
