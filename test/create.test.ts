// Tests `npm create gatehouse-plugin`: what it writes for each kind has right types, passes its tests, and is loaded by the service. The written
// packages lie outside of every node_modules.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { KIND_NAMES, type Kind } from '../core/features.ts';
import { packedGatehouse } from './helpers/outside.ts';
import { ROOT } from './rooms.ts';

const MODULES = join(ROOT, 'node_modules');
const CREATE = join(ROOT, 'create/index.js');
const TSC = join(MODULES, 'typescript/bin/tsc');

const room = mkdtempSync(join(tmpdir(), 'gatehouse-create-'));
let built: string;
before(async () => {
	built = await packedGatehouse();
	for (const kind of KIND_NAMES) {
		const { stdout, status, stderr } = create(`acme-${kind}`, '--kind', kind);
		assert.equal(status, 0, stderr);
		assert.match(stdout, new RegExp(`^Wrote the ${kind} plugin acme-${kind} into `));
		install(folderOf(kind));
	}
});
after(() => rmSync(room, { recursive: true, force: true }));

const create = (...args: string[]) => spawnSync(process.execPath, [CREATE, ...args], { cwd: room, encoding: 'utf8' });
const folderOf = (kind: string): string => join(room, `acme-${kind}`);

/** Links what `npm install` would have brought: the packed Gatehouse, and what the package names. */
function install(folder: string): void {
	const modules = join(folder, 'node_modules');
	for (const scope of ['@types', '@hapi']) mkdirSync(join(modules, scope), { recursive: true });
	symlinkSync(built, join(modules, 'gatehouse'));
	for (const name of ['joi', '@types/node', '@hapi/hapi']) symlinkSync(join(MODULES, name), join(modules, name));
}

for (const kind of KIND_NAMES)
	test(`the ${kind} plugin that it writes has all files, with the plugin’s names, and the same configuration of types as the others`, () => {
		const folder = folderOf(kind);
		const files = readdirSync(folder, { recursive: true })
			.map(String)
			.filter((file) => !file.startsWith('node_modules'));
		for (const file of ['package.json', 'README.md', '.gitignore', 'tsconfig.json', 'src/index.ts', 'test/index.test.ts'])
			assert.ok(files.includes(file), file);
		for (const file of files.filter((name) => /\.\w+$/.test(name)))
			assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /my[-_]?plugin|\{\{kind/i, file);
		// Whoever has an older Node for npm gets the one that runs Gatehouse by the installation, as in a clone.
		const { engines, devDependencies, allowScripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
		assert.equal(`>=${devDependencies.node.slice(1)}`, `${engines.node}.0`);
		assert.equal(allowScripts.node, true);
		// So that one of them stands for all where the compiler reads these files.
		for (const file of ['tsconfig.json', 'tsconfig.build.json'])
			assert.equal(readFileSync(join(folder, file), 'utf8'), readFileSync(join(folderOf(ALONE), file), 'utf8'), file);
	});

/** Writes the examples of the pages that are whole plugins, beside those that are templates, into a package of their kind. */
function writePages(): void {
	const open: Partial<Record<Kind, string>> = { transport: `declare const handler: TransportAdapter['routes'][number]['handler'];\n` };
	for (const kind of KIND_NAMES)
		for (const [at, code] of wholePlugins(`docs/plugins/${kind}.md`).entries()) {
			const [, type = ''] = /satisfies (\w+)/.exec(code) ?? [];
			const imports = `import type { ${type} } from 'gatehouse';\nimport Joi from 'joi';\n`;
			writeFileSync(join(folderOf(kind), `src/page-${at}.ts`), imports + (open[kind] ?? '') + code);
		}
	const [first = assert.fail()] = wholePlugins('plugins/README.md');
	writeFileSync(join(folderOf('executor'), 'src/readme.ts'), first.replace('../../../core/index.ts', 'gatehouse'));
}

/** The code in a page that exports a plugin, but for the template. */
const wholePlugins = (page: string): string[] =>
	[...readFileSync(join(ROOT, page), 'utf8').matchAll(/^(.*)\n```ts\n([\s\S]*?)```$/gm)].flatMap(([, before, code = '']) =>
		before !== '<!-- example -->' && /^export default \{/m.test(code) ? [code] : [],
	);

/** The kind whose package is also used alone, as its author does; the others are used together, which takes a third of the time. */
const ALONE = 'feature';

test('the plugins that it writes have right types, and can be built, and so have those of the pages', () => {
	writePages();
	const types = { noEmit: false, declaration: true, outDir: 'built', rootDir: '.', typeRoots: [`acme-${ALONE}/node_modules/@types`] };
	const config = { extends: `./acme-${ALONE}/tsconfig.json`, compilerOptions: types, include: ['acme-*/src', 'acme-*/test'] };
	writeFileSync(join(room, 'tsconfig.json'), JSON.stringify(config));
	run(room, process.execPath, [TSC, '-p', '.']);
	for (const kind of KIND_NAMES)
		for (const file of ['src/index.js', 'src/index.d.ts', 'test/index.test.js'])
			assert.ok(existsSync(join(room, `built/acme-${kind}`, file)), `${kind}: ${file}`);
	for (const file of ['transport/src/page-0.js', 'executor/src/readme.js']) assert.ok(existsSync(join(room, `built/acme-${file}`)), file);
	run(folderOf(ALONE), process.execPath, [TSC]);
	run(folderOf(ALONE), process.execPath, [TSC, '-p', 'tsconfig.build.json']);
	for (const file of ['dist/index.js', 'dist/index.d.ts']) assert.ok(existsSync(join(folderOf(ALONE), file)), file);
});

test('the plugins that it writes pass their tests', () => {
	const others = KIND_NAMES.filter((kind) => kind !== ALONE).map((kind) => `acme-${kind}/test/index.test.ts`);
	const outputs = [
		run(room, process.execPath, ['--test', '--test-isolation=none', '--test-reporter=spec', ...others]),
		run(folderOf(ALONE), process.execPath, ['--test', '--test-reporter=spec', 'test/index.test.ts']),
	];
	for (const kind of KIND_NAMES) assert.match(outputs.join('\n'), new RegExp(`^▶ acme_${kind} keeps the `, 'm'));
});

test('the plugins that it writes are loaded by the service', () => {
	const dist = join(built, 'dist');
	const program = `
		import { check } from '${pathToFileURL(join(dist, 'core/commands/check.js'))}';
		const reports = [];
		for (const folder of process.argv.slice(1)) reports.push(JSON.parse((await check([folder, '--json'], '${dist}/')).text));
		process.stdout.write(JSON.stringify(reports), () => process.exit());`;
	const others = KIND_NAMES.filter((kind) => kind !== ALONE);
	const reports: Report[] = JSON.parse(run(room, process.execPath, ['--input-type=module', '-e', program, ...others.map(folderOf)]));
	// The command, in the folder of the package.
	reports.push(JSON.parse(run(folderOf(ALONE), process.execPath, [join(dist, 'core/bin.cjs'), 'check', '.', '--json'])));
	assert.deepEqual(
		reports.map(({ ok, plugins }) => [ok, ...plugins.map(({ kind, name }) => `${kind}:${name}`)]),
		[...others, ALONE].map((kind) => [true, `${kind}:acme_${kind}`]),
	);
});

interface Report {
	ok: boolean;
	plugins: { kind: string; name: string }[];
}

test('a scope is a part of the package’s name, and not of the folder’s and the plugin’s', () => {
	assert.equal(create('@acme/shout', '--kind', 'executor').status, 0);
	const described = JSON.parse(readFileSync(join(room, 'shout/package.json'), 'utf8')) as { name: string };
	assert.equal(described.name, '@acme/shout');
	assert.match(readFileSync(join(room, 'shout/src/index.ts'), 'utf8'), /name: 'shout'/);
});

test('the Gatehouse that it is tested with is the one that is named, and none without a name', () => {
	const described = (name: string) =>
		JSON.parse(readFileSync(join(room, name, 'package.json'), 'utf8')) as Record<string, Record<string, unknown>>;
	const named = create('acme-named', '--kind', 'node', '--gatehouse', built);
	assert.match(named.stdout, /\n {2}npm install\n/);
	assert.equal(described('acme-named')['devDependencies']?.['gatehouse'], `file:${built}`);
	assert.equal(create('acme-newer', '--kind', 'node', '--gatehouse', '^1.2.0').status, 0);
	assert.equal(described('acme-newer')['devDependencies']?.['gatehouse'], '^1.2.0');
	assert.match(create('acme-nameless', '--kind', 'node').stdout, /npm install --save-dev <the tarball or folder of Gatehouse>/);
	const { devDependencies, peerDependenciesMeta } = described('acme-nameless');
	// npm would install a peer that is not optional from its registry, where the name is somebody else’s.
	assert.deepEqual([devDependencies?.['gatehouse'], peerDependenciesMeta?.['gatehouse']], [undefined, { optional: true }]);
});

test('an existing folder, a bad name, an unknown or missing kind are refused with a sentence, and nothing is written', () => {
	mkdirSync(join(room, 'taken'));
	const refused = (sentence: RegExp, ...args: string[]): void => {
		const { status, stderr, stdout } = create(...args);
		assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
		assert.match(stderr, sentence);
	};
	const written = readdirSync(room).sort();
	refused(/^The folder .*taken exists already\.\n$/, 'taken', '--kind', 'node');
	for (const name of ['Acme', '../acme', '1acme', 'a/b', 'a'.repeat(33)]) refused(/cannot be the name/, name, '--kind', 'node');
	refused(/^"nothing" is no kind of plugin: it must be one of auth, transport, /, 'acme-x', '--kind', 'nothing');
	refused(/^The kind is missing\. Usage: npm create gatehouse-plugin/, 'acme-x');
	refused(/^Usage: /);
	refused(/^Usage: /, 'a', 'b');
	refused(/^Usage: /, 'a', '--what');
	assert.deepEqual(readdirSync(room).sort(), written);
});

test('the packed command brings every template', () => {
	const [{ files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--dry-run'], { cwd: join(ROOT, 'create'), encoding: 'utf8' })) as [
		{ files: { path: string }[] },
	];
	const paths = files.map(({ path }) => path);
	assert.ok(paths.includes('LICENSE'));
	for (const kind of KIND_NAMES)
		for (const file of ['src/index.ts', 'test/index.test.ts']) assert.ok(paths.includes(`templates/${kind}/${file}`));
	for (const file of ['gitignore', 'package.json', 'README.md', 'tsconfig.json', 'tsconfig.build.json'])
		assert.ok(paths.includes(`templates/common/${file}`), file);
});

/** Runs a program that must succeed, and returns its output. A test run inside a test run would report to the outer one. */
function run(cwd: string, program: string, args: string[]): string {
	const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
	const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env });
	assert.equal(status, 0, `${program} ${args.join(' ')}: ${stdout}${stderr}`);
	return stdout;
}
