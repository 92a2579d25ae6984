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
import { relayTo } from './names.ts';
import { assignFixtureSkills } from './skills.ts';
import { createFixtureTools } from './tools.ts';
import { startTriggers, type Triggers } from './triggers.ts';

const SUITE = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));

let packages: InstalledPackages;
let service: TestService;
let triggers: Triggers;
let gatewayUrl: string;
let relay: Awaited<ReturnType<typeof relayTo>>;
let results: string;

before(async () => {
	results = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'));
	packages = installPackages('conformance-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') } });
	const account = await registerAccount(service.url);
	const gateway = await publishGateway(account, { auth: 'none', toolIds: await createFixtureTools(account) });
	await assignFixtureSkills(account, gateway.id);
	gatewayUrl = gateway.url;
	triggers = await startTriggers();
	await triggers.addTo(account, gateway.id);
	relay = await relayTo(gatewayUrl);
});

after(async () => {
	relay?.close();
	await service?.stop();
	packages?.[Symbol.dispose]();
	triggers?.[Symbol.dispose]();
	rmSync(results, { recursive: true, force: true });
});

for (const revision of ['2025-11-25', '2026-07-28']) {
	test(`a public gateway passes the conformance suite of ${revision} except for its baseline`, async () => {
		const baseline = fileURLToPath(new URL(`baseline-${revision}.yml`, import.meta.url));
		const options = ['--requirements', revision, '--expected-failures', baseline, '--output-dir', results];
		const { code, output } = await run(['server', '--url', relay.url, ...options]);
		assert.equal(code, 0, output);
		assert.match(output, /tools-call-simple-text/, 'the suite ran its scenarios');
	});
}

for (const scenario of ['directory', 'enumeration', 'manifest']) {
	test(`a gateway's skills pass the scenario ${scenario} of the Skills extension`, async () => {
		const options = [
			'--scenario',
			`sep-2640-skills-${scenario}`,
			'--spec-version',
			'2026-07-28',
			'--force',
			'--output-dir',
			results,
			'--verbose',
		];
		const { code, output } = await run(['server', '--url', gatewayUrl, ...options]);
		assert.equal(code, 0, output);
		assert.doesNotMatch(output, /"status": ?"(?:FAILURE|WARNING|SKIPPED)"/);
		assert.match(output, /"status": ?"SUCCESS"/);
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
