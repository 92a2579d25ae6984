// Runs every test of the stdio proxy with the built package on each Node.js that it promises to run on: `node test/sweep/proxy.ts`, some minutes. The
// other releases are installed once, into `node_modules/.cache/sweep`.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WHOLE } from '../helpers/sampled.ts';
import { PROGRAM_VARIABLE } from '../helpers/stdio-proxy.ts';
import { ROOT } from '../rooms.ts';

const MODULES = join(ROOT, 'node_modules');
const CACHE = join(MODULES, '.cache/sweep/nodes');
const RELEASES = ['20', '22', '24'];

mkdirSync(CACHE, { recursive: true });
if (!existsSync(join(CACHE, 'package.json'))) writeFileSync(join(CACHE, 'package.json'), '{"private":true}');
const nodeOf = (release: string): string => join(CACHE, `node_modules/node${release}/bin/node`);
const absent = RELEASES.filter((release) => !existsSync(nodeOf(release)));
if (absent.length > 0)
	execFileSync('npm', ['install', '--no-audit', '--no-fund', ...absent.map((release) => `node${release}@npm:node@${release}`)], {
		cwd: CACHE,
		stdio: 'inherit',
	});

const built = mkdtempSync(join(MODULES, '.cache/proxy-'));
try {
	execFileSync(process.execPath, [join(MODULES, 'typescript/bin/tsc'), '-p', 'proxy/tsconfig.json', '--outDir', join(built, 'dist')], {
		cwd: ROOT,
	});
	execFileSync('cp', [join(ROOT, 'proxy/package.json'), built]);
	for (const release of RELEASES) {
		const node = nodeOf(release);
		const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
		const tests = ['clients', 'faults', 'login', 'skills'].map((name) => `test/proxy/${name}.test.ts`);
		const options = ['--test', '--test-global-setup=test/setup.ts', '--test-concurrency=2', '--test-timeout=600000', '--test-reporter=dot'];
		const env = { ...process.env, [WHOLE]: 'true', [PROGRAM_VARIABLE]: JSON.stringify([node, join(built, 'dist/main.js')]) };
		const { status } = spawnSync(process.execPath, [...options, ...tests], { cwd: ROOT, env, stdio: 'inherit' });
		if (status !== 0) throw new Error(`The tests fail on Node.js ${version}.`);
		process.stdout.write(`\nNode.js ${version}: all tests of the proxy pass.\n`);
	}
} finally {
	rmSync(built, { recursive: true, force: true });
}
