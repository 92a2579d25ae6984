// Runs the authorization scenarios of MCP's conformance suite (0.2.0-alpha.12) against a gateway's own authorization server. The suite
// prints the address for its user, and waits for the callback; its `server` part has no scenario about tokens or challenges.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATIENCE_MS } from '../helpers/clock.ts';
import { METADATA, registerClient } from '../helpers/oauth.ts';
import { freePort } from '../helpers/ports.ts';
import { startTestService } from '../helpers/service.ts';
import { letIn, openStage, publishClientDocument, type Stage } from './oauth-clients.ts';

const SUITE = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));
const SCENARIOS = ['authorization-server-metadata-endpoint', 'authorization-code-grant'];

let stage: Stage;
let folder: string;
let port: number;

before(async () => {
	// A service in this process trusts the certificate of a client document that a test publishes.
	stage = await openStage(await startTestService());
	folder = mkdtempSync(join(tmpdir(), 'gatehouse-authorization-'));
	port = await freePort();
});
after(async () => {
	await stage?.stop();
	rmSync(folder, { recursive: true, force: true });
});

interface Run {
	code: number | null;
	output: string;
}

/** Runs the suite's own command line; its user follows the printed address. */
async function run(args: string[]): Promise<Run> {
	const child = spawn(process.execPath, [SUITE, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS });
	let output = '';
	let isVisited = false;
	const take = (chunk: Buffer): void => {
		output += chunk.toString('utf8');
		const [, asked] = /(http:\S+\/authorize\?\S+)\s/.exec(output) ?? [];
		if (asked === undefined || isVisited) return;
		isVisited = true;
		// The suite would wait five minutes for a user who could not log in.
		void letIn(new URL(asked), stage.account).then(fetch, (thrown: unknown) => {
			output += String(thrown);
			child.kill();
		});
	};
	child.stdout.on('data', take);
	child.stderr.on('data', take);
	const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
	return { code, output };
}

interface Check {
	id: string;
	status: string;
	errorMessage?: string;
}

/** @returns the findings of every scenario */
async function check(name: string, clientId: string, more: string[] = []): Promise<Run & { checks: Check[] }> {
	const results = join(folder, name);
	const target = ['--url', stage.url, '--resource', stage.url, '--port', String(port), '--client-id', clientId];
	const ended = await run(['authorization', ...target, '--output-dir', results, ...more]);
	const files = globSync('**/checks.json', { cwd: results });
	return { ...ended, checks: files.flatMap((file): Check[] => JSON.parse(readFileSync(join(results, file), 'utf8'))) };
}

/** Warnings count as failures. */
function assertPassed({ code, output, checks }: Run & { checks: Check[] }): void {
	assert.equal(code, 0, output);
	const statuses = Object.fromEntries(checks.map(({ id, status }) => [id, status]));
	assert.deepEqual(statuses, {
		'authorization-server-metadata': 'SUCCESS',
		'authorization-server-metadata-cimd': 'SUCCESS',
		'authorization-code-grant': 'SUCCESS',
	});
}

const redirects = (): object => ({ redirect_uris: [`http://127.0.0.1:${port}/callback`] });

test('the suite has no authorization scenario but those that are run here', async () => {
	const { output } = await run(['list', '--authorization']);
	assert.deepEqual(
		[...output.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name),
		SCENARIOS,
	);
});

for (const revision of ['2025-11-25', '2026-07-28']) {
	test(`a gateway passes all authorization scenarios of ${revision}, for a client that registered itself`, async () => {
		const { id } = await registerClient(stage.url, redirects());
		assertPassed(await check(`registered-${revision}`, id, ['--spec-version', revision]));
	});
}

test('a gateway passes all authorization scenarios for a client that a URL describes', async () => {
	using document = await publishClientDocument({ ...METADATA, ...redirects() });
	assertPassed(await check('described', document.url));
});

// The suite uses `none` wherever a server supports it, even if it was given a secret; a client that has one must authenticate with it.
test('a client with a secret is refused when the suite sends none', async () => {
	const { id, secret } = await registerClient(stage.url, { ...redirects(), token_endpoint_auth_method: 'client_secret_post' });
	const { code, checks } = await check('secret', id, ['--client-secret', secret ?? '']);
	assert.equal(code, 1);
	const failed = checks.filter(({ status }) => status !== 'SUCCESS');
	assert.deepEqual(
		failed.map(({ id: name, errorMessage }) => [name, errorMessage]),
		[['authorization-code-grant', 'Invalid status code: 401']],
	);
});
