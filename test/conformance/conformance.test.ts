// Runs the MCP conformance suite against a public gateway, at both revisions. The baselines beside this file list the scenarios that fail,
// with the reasons; an entry that passes fails the run, so they cannot become stale.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { createFixtureTools } from './tools.ts';

const SUITE = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));

let packages: InstalledPackages;
let service: TestService;
let gatewayUrl: string;
let results: string;

before(async () => {
	results = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'));
	packages = installPackages('conformance-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') } });
	const account = await registerAccount(service.url);
	gatewayUrl = (await publishGateway(account, { auth: 'none', toolIds: await createFixtureTools(account) })).url;
});

after(async () => {
	await service?.stop();
	packages?.[Symbol.dispose]();
	rmSync(results, { recursive: true, force: true });
});

for (const revision of ['2025-11-25', '2026-07-28']) {
	test(`a public gateway passes the conformance suite of ${revision} except for its baseline`, async () => {
		const baseline = fileURLToPath(new URL(`baseline-${revision}.yml`, import.meta.url));
		const options = ['--requirements', revision, '--expected-failures', baseline, '--output-dir', results];
		const { code, output } = await run(['server', '--url', gatewayUrl, ...options]);
		assert.equal(code, 0, output);
		assert.match(output, /tools-call-simple-text/, 'the suite ran its scenarios');
	});
}

/** Runs the suite's own command line, on the Node that runs this test. */
function run(args: string[]): Promise<{ code: number; output: string }> {
	return new Promise((resolve) => {
		execFile(process.execPath, [SUITE, ...args], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
			resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
		});
	});
}
