// Programs that cannot be run here, by the registrations that they are known to send: each is let in at the address where it listens.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { obtainCode, redeem, refresh } from '../helpers/oauth.ts';
import { must, send } from '../helpers/service.ts';
import { openStage, type Stage } from './oauth-clients.ts';

let stage: Stage;
before(async () => {
	stage = await openStage();
});
after(() => stage?.stop());

interface Editor {
	name: string;
	metadata: object;
	/** Where it is called back; its port may be another than it registered. */
	callback: string;
}

const PUBLIC = { token_endpoint_auth_method: 'none', response_types: ['code'], grant_types: ['authorization_code', 'refresh_token'] };

const EDITORS: readonly Editor[] = [
	{
		name: 'Claude Code',
		metadata: { ...PUBLIC, client_name: 'Claude Code', application_type: 'native', redirect_uris: ['http://localhost:3118/callback'] },
		callback: 'http://localhost:3118/callback',
	},
	{
		name: 'Codex',
		metadata: { ...PUBLIC, client_name: 'Codex', application_type: 'native', redirect_uris: ['http://127.0.0.1:37819/callback/a1'] },
		callback: 'http://127.0.0.1:37819/callback/a1',
	},
	{
		name: 'Cursor',
		metadata: {
			...PUBLIC,
			client_name: 'Cursor',
			redirect_uris: [
				'cursor://anysphere.cursor-mcp/oauth/callback',
				'https://www.cursor.com/agents/mcp/oauth/callback',
				'http://localhost:8787/callback',
			],
		},
		callback: 'http://localhost:8787/callback',
	},
	{
		name: 'Visual Studio Code',
		metadata: {
			...PUBLIC,
			client_name: 'Visual Studio Code',
			client_uri: 'https://code.visualstudio.com',
			application_type: 'native',
			grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
			redirect_uris: [
				'https://insiders.vscode.dev/redirect',
				'https://vscode.dev/redirect',
				'http://127.0.0.1/',
				'http://127.0.0.1:33418/',
			],
		},
		callback: 'http://127.0.0.1:50123/',
	},
	{
		name: 'claude.ai',
		metadata: { ...PUBLIC, client_name: 'Claude', scope: 'claudeai', redirect_uris: ['https://claude.ai/api/mcp/auth_callback'] },
		callback: 'https://claude.ai/api/mcp/auth_callback',
	},
];

const register = async (metadata: object) => must(await send(`${stage.url}/register`, 'POST', { body: metadata }), 201).body;

describe('by its registration, let in and able to refresh:', () => {
	for (const { name, metadata, callback } of EDITORS) {
		test(name, async () => {
			const { client_id: id, redirect_uris: registered } = await register(metadata);
			assert.ok(registered.every((uri: string) => /^https?:/.test(uri)));
			const client = { id, secret: null, redirectUri: callback };
			const first = must(await redeem(stage.url, client, await obtainCode(stage.url, client, stage.account)), 200).body;
			const { body } = must(await refresh(stage.url, client, first.refresh_token), 200);
			assert.equal(body.scope, 'tools:read tools:execute');
		});
	}
});

test('an address of a program’s own scheme is left out of a registration that has others, and refused where it is alone', async () => {
	const own = 'cursor://anysphere.cursor-mcp/oauth/callback';
	const { redirect_uris: kept } = await register({ ...PUBLIC, redirect_uris: [own, 'http://localhost:8787/callback'] });
	assert.deepEqual(kept, ['http://localhost:8787/callback']);
	const alone = must(await send(`${stage.url}/register`, 'POST', { body: { ...PUBLIC, redirect_uris: [own] } }), 400);
	assert.equal(alone.body.error, 'invalid_redirect_uri');
	// Not a scheme of its own: nothing else is left out in silence.
	for (const bad of ['http://a.example/callback', 'javascript:alert(1)', 'https://a.example/#a', 7]) {
		const body = { ...PUBLIC, redirect_uris: ['http://localhost:8787/callback', bad] };
		assert.equal(must(await send(`${stage.url}/register`, 'POST', { body }), 400).body.error, 'invalid_redirect_uri');
	}
});
