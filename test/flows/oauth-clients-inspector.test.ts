// Tests the command line of the Inspector 2.12: it finds the server, registers and signs in by itself, and keeps its tokens for the next
// command.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PATIENCE_MS } from '../helpers/clock.ts';
import { METADATA, registerClient } from '../helpers/oauth.ts';
import { freePort } from '../helpers/ports.ts';
import { sampled } from '../helpers/sampled.ts';
import { startTestService } from '../helpers/service.ts';
import { ANSWER, endAccessTokens, openStage, publishClientDocument, type Stage, TOOL } from './oauth-clients.ts';
import { environment, playUser, program, type User } from './oauth-clients-programs.ts';

let stage: Stage;
let folder: string;
let port: number;

before(async () => {
	// A service in this process trusts the certificate of a client document that a test publishes.
	stage = await openStage(await startTestService());
	folder = mkdtempSync(join(tmpdir(), 'gatehouse-inspector-'));
	port = await freePort();
});
after(async () => {
	await stage?.stop();
	rmSync(folder, { recursive: true, force: true });
});

interface Run extends User {
	code: number | null;
	stdout: string;
}

/** Runs the Inspector. It lets users sign in only from a terminal, unless an option tells it to open a browser anywhere. */
async function inspect(home: string, args: string[]): Promise<Run> {
	const target = ['--server-url', stage.url, '--transport', 'http', '--callback-url', `http://127.0.0.1:${port}/oauth/callback`];
	const own = { HOME: join(folder, home), MCP_INSPECTOR_SECRET_STORE: 'file', MCP_AUTO_OPEN_ENABLED: 'true' };
	const command = [program('mcp-inspector'), '--cli', ...target, '--format', 'json', ...args];
	const child = spawn(process.execPath, command, { env: environment(own), stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS });
	const user = playUser(child.stderr, stage);
	let stdout = '';
	child.stdout.on('data', (chunk: Buffer) => {
		stdout += chunk.toString('utf8');
	});
	const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
	return { ...user, code, stdout };
}

async function assertAnswers(running: Promise<Run>, answer: RegExp, visits: number): Promise<Run> {
	const run = await running;
	assert.equal(run.code, 0, run.text());
	assert.match(run.stdout, answer);
	assert.equal(run.visits.length, visits);
	return run;
}

const LIST = ['--method', 'tools/list'];
const CALL = ['--method', 'tools/call', '--tool-name', TOOL];

/** Signing in is the same in each era: `npm test` has the one that asks for the era, `npm run sweep` all. */
for (const era of sampled(['auto', 'legacy', 'modern'], 3)) {
	test(`the Inspector signs in, and then lists and calls without its user, in its ${era} era`, async () => {
		const home = `inspector-${era}`;
		const first = await assertAnswers(inspect(home, [...LIST, '--protocol-era', era]), /"getTom"/, 1);
		assert.equal(first.visits[0]?.searchParams.get('scope'), 'tools:read tools:execute');
		await assertAnswers(inspect(home, [...CALL, '--protocol-era', era]), ANSWER, 0);
		assert.equal(await endAccessTokens(stage, first.visits[0]?.searchParams.get('client_id') ?? ''), 1);
		await assertAnswers(inspect(home, [...CALL, '--protocol-era', era]), ANSWER, 0);
	});
}

// Revocation of the former grant (RFC 7009) is not tested: 2.12 looks for the server's metadata where only its enterprise login stores it.
test('the Inspector signs in anew when it is told to', async () => {
	const first = await assertAnswers(inspect('inspector-anew', LIST), /"getTom"/, 1);
	const second = await assertAnswers(inspect('inspector-anew', [...LIST, '--relogin']), /"getTom"/, 1);
	assert.notEqual(second.visits[0]?.searchParams.get('client_id'), first.visits[0]?.searchParams.get('client_id'));
});

test('the Inspector signs in as a client that is registered already, with its secret', async () => {
	const redirects = [`http://127.0.0.1:${port}/oauth/callback`];
	const { id, secret } = await registerClient(stage.url, { redirect_uris: redirects, token_endpoint_auth_method: 'client_secret_basic' });
	const known = ['--client-id', id, '--client-secret', secret ?? ''];
	const { visits } = await assertAnswers(inspect('inspector-static', [...CALL, ...known]), ANSWER, 1);
	assert.equal(visits[0]?.searchParams.get('client_id'), id);
});

test('the Inspector describes itself under a URL where it is given one', async () => {
	using document = await publishClientDocument({ ...METADATA, redirect_uris: ['http://127.0.0.1/oauth/callback'] });
	const { visits } = await assertAnswers(inspect('inspector-document', [...CALL, '--client-metadata-url', document.url]), ANSWER, 1);
	assert.equal(visits[0]?.searchParams.get('client_id'), document.url);
});

test('the Inspector ends with its own code where nobody may be asked', async () => {
	const { code, visits } = await inspect('inspector-alone', [...LIST, '--stored-auth-only']);
	assert.equal(code, 3);
	assert.deepEqual(visits, []);
});
