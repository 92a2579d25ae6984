// Tests `gatehouse check` with packages in folders.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CheckReport, check } from './check.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const room = mkdtempSync(join(tmpdir(), 'gatehouse-check-'));
after(() => rmSync(room, { recursive: true, force: true }));

const GOOD = `import Joi from 'joi';
import { textResult } from 'gatehouse';
export default {
	kind: 'executor', api: 1, name: 'acme_good', creatable: true, summary: 'Says what it is told.',
	config: Joi.object({
		voice: Joi.string().valid('low', 'high').default('low').description('How it speaks.'),
		pins: Joi.array().items(Joi.object({ pin: Joi.string().required().meta({ secret: true }).description('Opens the door.') })),
	}),
	operator: Joi.object({ url: Joi.string().required().description('Where it is.') }),
	execute: async () => textResult('said'),
};
`;

interface Written {
	source?: string;
	manifest?: Record<string, unknown>;
	files?: Record<string, string>;
}

/** Writes a package into a folder of its own. */
function written({ source = GOOD, manifest = {}, files = {} }: Written = {}): string {
	const folder = mkdtempSync(join(room, 'package-'));
	const described = { name: 'acme-good', version: '2.3.4', type: 'module', exports: './index.js', ...manifest };
	for (const [name, text] of Object.entries({ 'package.json': JSON.stringify(described), 'index.js': source, ...files })) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), text);
	}
	return folder;
}

async function reportOf(...args: string[]): Promise<CheckReport> {
	const { text, code } = await check([...args, '--json'], ROOT);
	const report = JSON.parse(text) as CheckReport;
	assert.equal(code, report.ok ? 0 : 1);
	return report;
}

const faultsOf = async (folder: string): Promise<string> => (await reportOf(folder)).faults.join('\n');

test('a good package is shown with its plugins, and the fields of their configs with type, default and secrecy', async () => {
	const folder = written();
	const { text, faults, code } = await check([folder], ROOT);
	assert.deepEqual(faults, []);
	assert.equal(code, 0);
	assert.equal(
		text.replaceAll(/ +$/gm, ''),
		`acme-good 2.3.4 in ${folder}

executor:acme_good, contract 1
  Says what it is told.
  config:
    voice       string          one of "low", "high"; default "low"  How it speaks.
    pins        list of object
    pins[].pin  string          required; secret, write-only         Opens the door.
  config, by the operator:
    url  string  required  Where it is.
`,
	);
	const { plugins, package: found, ok } = await reportOf(folder);
	assert.deepEqual({ found, ok }, { found: { name: 'acme-good', version: '2.3.4', folder }, ok: true });
	assert.deepEqual(
		plugins.map(({ kind, name, api }) => ({ kind, name, api })),
		[{ kind: 'executor', name: 'acme_good', api: 1 }],
	);
	assert.match(JSON.stringify(plugins[0]?.config), /"pin":\{[^}]*"writeOnly":true/);
});

test('a broken package is told with package, plugin, place and file, every fault at once', async () => {
	const folder = written({ source: GOOD.replace("summary: 'Says", "sumary: 'Says").replace('creatable: true', 'creatable: 1') });
	const { ok, faults, plugins } = await reportOf(folder);
	assert.equal(ok, false);
	assert.deepEqual(plugins, []);
	const file = join(folder, 'index.js');
	assert.ok(faults.includes(`${folder}: executor:acme_good: creatable must be true or false (in ${file}).`), faults.join('\n'));
	assert.ok(faults.some((fault) => fault.includes('sumary is no member of a plugin of kind executor, but summary is')));
	const thrown = written({ source: 'const one = 1;\nthrow new Error("at home");' });
	assert.equal(await faultsOf(thrown), `${thrown}: did not load: at home (in ${join(thrown, 'index.js')}:2:7).`);
});

test('a plugin that would clash with ours is refused as at the start', async () => {
	const clash = `import Joi from 'joi';
export default { kind: 'transport', api: 1, name: 'acme_wire', summary: 'A clash.', config: Joi.object({}),
	routes: [{ method: 'GET', path: '/.well-known/oauth-protected-resource', handler: async () => ({ status: 200 }) }] };`;
	assert.match(await faultsOf(written({ source: clash })), /both have the route GET \/\.well-known\/oauth-protected-resource/);
	assert.match(await faultsOf(written({ source: GOOD.replace('acme_good', 'http') })), /executor:http: there are two plugins/);
	const feature = `import Joi from 'joi';
export default { kind: 'feature', api: 1, name: 'acme_door', summary: 'A clash.', config: Joi.object({}), register() {},
	permissions: { 'tools:read': 'viewer' } };`;
	assert.match(await faultsOf(written({ source: feature })), /feature:acme_door: the permission "tools:read" belongs to core/);
});

test('a folder or package that cannot be found is told in one sentence', async () => {
	assert.equal(await faultsOf('acme-unknown'), `acme-unknown: the package is not installed in ${process.cwd()} or ${ROOT}.`);
	assert.equal(await faultsOf('./no/such'), './no/such: there is no such folder.');
	const empty = mkdtempSync(join(room, 'empty-'));
	assert.equal(await faultsOf(empty), `${empty}: the folder has no package.json.`);
	const unbuilt = written({ manifest: { exports: './dist/index.js' } });
	assert.match(await faultsOf(unbuilt), /its module was not found: there is no .*dist\/index\.js; is the package built\?/);
	assert.match(await faultsOf(written({ manifest: { name: undefined } })), /its package\.json has no name\.$/);
	assert.match(await faultsOf(written({ files: { 'package.json': '{' } })), /its package\.json is no JSON/);
	assert.match(await faultsOf(written({ manifest: { peerDependencies: { gatehouse: '^99' } } })), /peerDependencies\.gatehouse is "\^99"/);
});

test('a package may export its sources, in TypeScript, or have a `main` only', async () => {
	const exported = { '.': { source: './src/index.ts', default: './dist/index.js' } };
	const sources = written({
		manifest: { exports: exported },
		files: { 'src/index.ts': `const typed: number = 1;\n${GOOD}export { typed };` },
	});
	assert.equal((await reportOf(sources)).ok, true);
	const main = written({ manifest: { exports: undefined, main: './lib/it.js' }, files: { 'lib/it.js': GOOD } });
	assert.equal((await reportOf(main)).ok, true);
});

test('a plugin that does not declare its contract is a warning', async () => {
	const { ok, warnings } = await reportOf(written({ source: GOOD.replace('api: 1, ', '') }));
	assert.equal(ok, true);
	assert.match(warnings.join(), /does not say its version of the plugin contract .* \(executor:acme_good\)/);
});

test("with --test the package's own tests decide", async () => {
	const withTest = (script: string): string => written({ manifest: { scripts: { test: script } } });
	assert.deepEqual((await reportOf(withTest('node -e 0'), '--test')).faults, []);
	const failing = withTest('exit 3');
	assert.deepEqual((await reportOf(failing, '--test')).faults, [`${failing}: its tests failed (npm test in ${failing}).`]);
	assert.deepEqual((await reportOf(failing)).faults, []);
	assert.match((await reportOf(written(), '--test')).faults.join(), /its package\.json has no script "test"/);
});

test('wrong arguments are told how it is used', async () => {
	for (const args of [[], ['a', 'b'], ['a', '--what']])
		await assert.rejects(check(args, ROOT), /^Error: Usage: gatehouse check <package or folder> \[--test\] \[--json\]$/);
});
