// Tests programs that cannot be run here, by the registrations that they are known to send: each gets its code at the address where it
// listens.

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
	/** The address of the callback; its port may differ from the registered one. */
	callback: string;
	/** The scope that the program requests; absent where it requests none. */
	scope?: string;
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
		name: 'Cursor on the desktop',
		metadata: {
			...PUBLIC,
			client_name: 'Cursor',
			redirect_uris: [
				'cursor://anysphere.cursor-mcp/oauth/callback',
				'https://www.cursor.com/agents/mcp/oauth/callback',
				'http://localhost:8787/callback',
			],
		},
		callback: 'cursor://anysphere.cursor-mcp/oauth/callback',
	},
	{
		name: 'Cursor on the desktop, which names nothing else',
		metadata: { ...PUBLIC, client_name: 'Cursor', redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] },
		callback: 'cursor://anysphere.cursor-mcp/oauth/callback',
	},
	{
		name: 'Cursor on the web',
		metadata: {
			...PUBLIC,
			client_name: 'Cursor',
			redirect_uris: [
				'cursor://anysphere.cursor-mcp/oauth/callback',
				'https://www.cursor.com/agents/mcp/oauth/callback',
				'http://localhost:8787/callback',
			],
		},
		callback: 'https://www.cursor.com/agents/mcp/oauth/callback',
	},
	{
		name: 'Cursor on the command line',
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
		scope: 'claudeai',
	},
];

const register = async (metadata: object) => must(await send(`${stage.url}/register`, 'POST', { body: metadata }), 201).body;

describe('by its registration, let in and able to refresh:', () => {
	for (const { name, metadata, callback, scope = null } of EDITORS) {
		test(name, async () => {
			const { client_id: id, redirect_uris: registered } = await register(metadata);
			assert.deepEqual(registered, 'redirect_uris' in metadata && metadata.redirect_uris, 'all of them, or none');
			const client = { id, secret: null, redirectUri: callback };
			const first = must(
				await redeem(stage.url, client, await obtainCode(stage.url, client, stage.account, { parameters: { scope } })),
				200,
			).body;
			assert.equal(first.scope, 'tools:read tools:execute');
			const { body } = must(await refresh(stage.url, client, first.refresh_token), 200);
			assert.equal(body.scope, 'tools:read tools:execute');
		});
	}
});

test('a registration one of whose addresses is refused is refused, and told which and what is accepted', async () => {
	const [cursor, here] = ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost:8787/callback'];
	const cline = 'vscode://saoudrizwan.claude-dev/callback';
	for (const [uris, at] of [
		[[here, cline], 1],
		[[cline], 0],
		[[cursor, here, cline, 'https://a.example/callback'], 2],
	] as const) {
		const refused = must(await send(`${stage.url}/register`, 'POST', { body: { ...PUBLIC, redirect_uris: uris } }), 400).body;
		assert.equal(refused.error, 'invalid_redirect_uri');
		assert.equal(
			refused.error_description,
			`redirect_uris/${at} (${cline}) must be https, http to 127.0.0.1, [::1] or localhost, or one of: ${cursor}`,
		);
	}
	const almost = [`${cursor}/`, `${cursor}?a=b`, 'cursor://anysphere.cursor-mcp/oauth', 'cursor://evil/oauth/callback', `${cursor}#a`];
	for (const bad of [...almost, 'Cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-retrieval/oauth/callback', 7]) {
		const body = { ...PUBLIC, redirect_uris: [here, bad] };
		assert.equal(must(await send(`${stage.url}/register`, 'POST', { body }), 400).body.error, 'invalid_redirect_uri', String(bad));
	}
});
