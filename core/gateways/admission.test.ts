// Tests of the methods that admit, as they are published: their schemes are checked, and made without secrets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import type { AuthMethod } from '../contract/kinds.ts';
import type { Gateway } from '../contract/nouns.ts';
import { admissionOf } from './admission.ts';
import type { MountedMethod } from './authenticate.ts';

// No other member of the gateway is read.
const gateway = { url: 'https://gatehouse.example/acme/main' } as Partial<Gateway> as Gateway;

function method(name: string, scheme?: (config: unknown) => unknown, more: Partial<MountedMethod> = {}): MountedMethod {
	const plugin: AuthMethod = { kind: 'auth', name, summary: 'Of a test.', config: Joi.object({}), authenticate: async () => null };
	// A plugin in JavaScript may return anything.
	if (scheme) plugin.scheme = (_gateway, config) => scheme(config) as never;
	return { plugin, isRequired: false, config: {}, rules: {}, ...more };
}

const schemeOf = (value: unknown) => admissionOf(gateway, [method('door', () => value)])[0]?.scheme;

const flow = { tokenUrl: 'https://a.example/token', scopes: { read: '' } };
const GOOD = [
	null,
	{ type: 'apiKey', in: 'query', name: 'key' },
	{ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token' },
	{ type: 'oauth2', flows: { clientCredentials: flow } },
	{
		type: 'oauth2',
		flows: { deviceAuthorization: { ...flow, deviceAuthorizationUrl: 'http://127.0.0.1/device' } },
		metadataUrl: 'https://a.example/m',
	},
	{ type: 'openIdConnect', openIdConnectUrl: 'https://a.example/.well-known/openid-configuration' },
	{ type: 'mutualTLS' },
];
for (const scheme of GOOD) test(`${JSON.stringify(scheme)} is published as it is`, () => assert.deepEqual(schemeOf(scheme), scheme));

const BAD = [
	undefined,
	true,
	{},
	{ type: 'apikey', in: 'header', name: 'x' },
	{ type: 'constructor' },
	{ type: 'apiKey', in: 'body', name: 'x' },
	{ type: 'apiKey', in: 'header', name: 'x y' },
	{ type: 'apiKey', in: 'header', name: 'x', value: 'a secret' },
	{ type: 'http', scheme: 'bearer', description: 'a\nb' },
	{ type: 'oauth2', flows: {} },
	{ type: 'oauth2', flows: { clientCredentials: { ...flow, clientSecret: 'x' } } },
	{ type: 'oauth2', flows: { clientCredentials: { ...flow, tokenUrl: 'https://user:secret@a.example/token' } } },
	{ type: 'openIdConnect', openIdConnectUrl: 'javascript:alert(1)' },
	Promise.resolve(null),
];
for (const scheme of BAD)
	test(`${JSON.stringify(scheme)} is a fault of the method`, () => {
		assert.throws(() => schemeOf(scheme), { name: 'PluginFault', message: /^auth:door: scheme must return null or a security scheme: / });
	});

test('a method gets its config without secrets, and one that is shut or does not admit is not published', () => {
	const seen: unknown[] = [];
	const look = (config: unknown) => {
		seen.push(config);
		return null;
	};
	const open = method('open', look, { isRequired: true, config: { secret: 'canary' }, shownConfig: () => ({ label: 'a' }) });
	const told = admissionOf(gateway, [method('spare', look), open, method('shut', look, { isRequired: true, shut: new Error() as never })]);
	assert.deepEqual(told, [{ method: 'open', required: true, scheme: null }]);
	assert.deepEqual(seen, [{ label: 'a' }]);
});

test('one that does not tell has no scheme, which is not the same as admitting everyone', () => {
	assert.deepEqual(admissionOf(gateway, [method('quiet')]), [{ method: 'quiet', required: false }]);
	assert.deepEqual(admissionOf(gateway, []), []);
});
