// Installs Gatehouse and the packages of `test/outside` from their tarballs into an empty folder, as a user does, with what they depend on from
// the registry; checks each package by the installed command, and starts the service. `node test/sweep/install.ts`, some minutes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outsidePackages } from '../helpers/outside.ts';
import { freePort } from '../helpers/ports.ts';
import { ready, startProgram } from '../helpers/processes.ts';
import { must, registerAccount } from '../helpers/service.ts';

const { names, tarball } = await outsidePackages();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-install-'));
const run = (program: string, ...args: string[]): string => execFileSync(program, args, { cwd: folder, encoding: 'utf8' });
try {
	writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
	run('npm', 'install', '--no-audit', '--no-fund', ...['gatehouse', ...names].map(tarball));
	for (const name of names) {
		const report = JSON.parse(run('npx', 'gatehouse', 'check', name, '--json')) as { plugins: unknown[] };
		assert.equal(report.plugins.length, 1, name);
	}
	const port = String(await freePort());
	const env = { HOST: '127.0.0.1', PORT: port, SVC_DATA_DIR: join(folder, 'data'), GATEWAY_PLUGINS: names.join(',') };
	const started = startProgram(['npx', 'gatehouse'], env, folder);
	try {
		const url = `http://127.0.0.1:${port}`;
		await ready(url, started);
		const { plugins } = must(await (await registerAccount(url)).get('/plugins'), 200).body.data;
		const ours = plugins.filter(({ package: from }: { package: { name: string } | null }) => names.includes(from?.name ?? ''));
		assert.equal(ours.length, names.length);
		process.stdout.write(`${names.length} packages were installed, checked and loaded: ${names.join(', ')}\n`);
	} finally {
		started.signalGroup('SIGTERM');
		await started.ended;
	}
} finally {
	rmSync(folder, { recursive: true, force: true });
}
