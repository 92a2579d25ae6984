import { after, before } from 'node:test';
import { type TestDatabase, testDatabase } from '../../test/helpers/postgres.ts';
import { type TestRedis, testRedis } from '../../test/helpers/redis.ts';
import { databaseVariables, SECRETS } from '../../test/helpers/service.ts';
import { type FeatureStory, featureContract } from '../../testing/index.ts';
import accessKeys from './access-keys/index.ts';
import audit from './audit/index.ts';
import plugins from './plugins/index.ts';
import skills from './skills/index.ts';

/** Names the database that the four services use one after another: to embed one for each takes longer than their tests. */
const env: Record<string, string> = {};
let database: TestDatabase;
let redis: TestRedis;
before(async () => {
	database = await testDatabase();
	redis = await testRedis();
	Object.assign(env, databaseVariables(database.database), { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port) }, SECRETS);
});
after(async () => {
	await database.drop();
	await redis.stop();
});

/** They are a part of every service. */
const service = { plugins: [], env };
const bad = [
	{ config: { size: 1 }, says: /"size" is not allowed/ },
	{ config: { key: 'x' }, says: /"key" is not allowed/ },
];

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

featureContract(accessKeys, {
	...{ config: {}, bad, service },
	samples: [
		{ name: 'no keys', method: 'GET', path: '/access-keys', status: 200, has: '"accessKeys":[]' },
		{ name: 'a new key', method: 'POST', path: '/access-keys', body: { name: 'Laptop' }, status: 201, has: /"key":"ak_live_/, shows: true },
		{ name: 'the keys', method: 'GET', path: '/access-keys', status: 200, has: '"name":"Laptop"' },
		{
			...{ name: 'the end of a key', method: 'DELETE', status: 200, has: /"revokedAt":"2/ },
			path: ({ answers }) => `/access-keys/${answers['a new key']?.body.data.id}`,
		},
		{ name: 'the page for programs', method: 'GET', path: '/device', status: 200, has: '<title>Log in a program' },
		{ name: 'its script', method: 'GET', path: '/device/page.js', status: 200, has: 'use strict' },
		{
			name: 'a program that begins',
			method: 'POST',
			path: '/device/authorize',
			body: { client_id: 'program' },
			status: 200,
			has: /"user_code":"[B-Z]{4}-/,
		},
		{
			...{ name: 'a program that waits', method: 'GET', status: 200, has: '"program":"program"', strangers: 200 },
			path: ({ answers }) => `/device/logins/${answers['a program that begins']?.body.user_code}`,
		},
		{ name: 'an unknown code, allowed', method: 'POST', path: '/device/logins/BBBB-BBBB/approve', body: {}, status: 404 },
		{ name: 'an unknown code, denied', method: 'POST', path: '/device/logins/BBBB-BBBB/deny', status: 404 },
		{
			name: 'a program that nobody allowed',
			method: 'POST',
			path: '/device/token',
			body: { grant_type: GRANT, device_code: 'x' },
			status: 400,
			has: 'expired_token',
		},
		{
			name: 'the end of an unknown key',
			method: 'POST',
			path: '/device/revoke',
			body: { token: 'ak_live_unknown' },
			status: 200,
			has: '{}',
		},
	],
});

featureContract(audit, {
	...{ config: {}, bad, service },
	samples: [
		{ name: 'the log', method: 'GET', path: '/audit-log?limit=5', status: 200, has: '"entries":[' },
		{ name: 'the creations', method: 'GET', path: '/audit-log?action=create', status: 200, has: '"action":"create"' },
		{ name: 'the export', method: 'GET', path: '/audit-log/export', status: 200, has: 'at,action,resourceType' },
		{ name: 'the end of the chain', method: 'GET', path: '/audit-log/head', status: 200, has: '"head":' },
	],
});

featureContract(plugins, {
	...{ config: {}, bad, service },
	samples: [{ name: 'the plugins', method: 'GET', path: '/plugins', status: 200, has: '"name":"access_keys"' }],
});

const idOf = ({ answers }: FeatureStory): string => answers['a new skill']?.body.data.id;
const assigned = ({ made }: FeatureStory): string => `/gateways/${made['gateway']}/skills`;
const skill = { name: 'greet-well', description: 'Greets people. Use it when somebody says hello.', body: 'Say hello.' };

featureContract(skills, {
	...{ config: {}, bad, service },
	async prepare(owner) {
		const { body } = await owner.send('POST', '/gateways', { name: 'Main', type: 'mcp', endpoint: '/main' });
		return { gateway: body.data.id };
	},
	samples: [
		{ name: 'no skills', method: 'GET', path: '/skills', status: 200, has: '"skills":[]' },
		{
			name: 'a new skill',
			method: 'POST',
			path: '/skills',
			body: { ...skill, files: { 'words.txt': { text: 'Hello' } } },
			status: 201,
			has: 'greet-well',
		},
		{ name: 'the skill', method: 'GET', path: (story) => `/skills/${idOf(story)}`, status: 200, has: 'Say hello.' },
		{ name: 'a file', method: 'GET', path: (story) => `/skills/${idOf(story)}/files?path=words.txt`, status: 200, has: 'Hello' },
		{ name: 'a change', method: 'PATCH', path: (story) => `/skills/${idOf(story)}`, body: { body: 'Say good day.' }, status: 200 },
		{ name: 'an assignment', method: 'POST', path: assigned, body: (story) => ({ skillId: idOf(story) }), status: 201 },
		{ name: 'the assignments', method: 'GET', path: assigned, status: 200, has: 'greet-well' },
		{ name: 'the end of an assignment', method: 'DELETE', path: (story) => `${assigned(story)}/${idOf(story)}`, status: 200 },
		{ name: 'the end of a skill', method: 'DELETE', path: (story) => `/skills/${idOf(story)}`, status: 200 },
	],
});
