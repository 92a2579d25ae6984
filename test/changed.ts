// `npm run test:changed [base]`: runs the tests of the rooms that were touched and of those above them (test/README.md says which those are).

import { execFileSync } from 'node:child_process';
import { allSources, floorOf, pluginFolder, ROOMS, ROOT, type Source } from './rooms.ts';
import { runTests } from './run.ts';
import { testsIn } from './together.ts';

/** Files that concern every test. */
const EVERYBODYS = /^(package(-lock)?\.json|tsconfig[^/]*\.json|test\/(setup|rooms|changed|run|all|together)\.ts)$/;
/** Documents and settings concern only the tests that read all sources. */
const SILENT = /\.md$|^(biome\.json|\.[^/]+)/;
/** The folder of the packages that strangers would write, and of their tests. */
const STRANGERS = 'test/outside/';
/** Tests that always run: they read every source and every README, and take seconds. */
const ALWAYS = ['test/changed.test.ts', 'test/layers.test.ts', 'test/readme.test.ts', 'test/words.test.ts'];

/**
 * Finds the tests that a change can make fail. @param changed paths, including removed ones @param sources all of the tree, tests included
 * @returns the paths of the tests to run
 */
export function testsOf(changed: readonly string[], sources: readonly Source[]): string[] {
	const tests = testsIn(sources);
	const told = changed.filter((file) => !SILENT.test(file));
	if (told.some((file) => EVERYBODYS.test(file))) return tests.sort();
	const files = new Map(sources.map((source) => [source.file, source]));
	const reached = (test: string): ReadonlySet<string> => reachedFrom(test, files);
	const isTouched = (test: string): boolean => ALWAYS.includes(test) || told.some((file) => concerns(file, test, reached));
	return tests.filter(isTouched).sort();
}

/** Tells whether a change of `file` can affect `test`. */
function concerns(file: string, test: string, reached: (test: string) => ReadonlySet<string>): boolean {
	if (file.endsWith('.test.ts')) return file === test;
	// The proxy is a program that its tests start.
	if (file.startsWith('proxy/')) return test.startsWith('proxy/') || test.startsWith('test/proxy/');
	// The packages of strangers are made of themselves, and of all that is packed.
	if (test.startsWith(STRANGERS) && (file.startsWith(STRANGERS) || ROOMS.includes(file.split('/')[0] ?? ''))) return true;
	// A helper concerns the tests that import it, a fixture the flows.
	if (file.startsWith('test/')) return reached(test).has(file) || isFixtureOf(file, test);
	if (test.startsWith('test/') || test.startsWith('demo/')) return belongs(file, test, reached);
	return isAbove(test, file);
}

/**
 * Tells whether the test stands above the file: sources of a plugin or of db concern the tests of their room; those of core the tests of
 * their floor and above, and all plugins.
 */
function isAbove(test: string, file: string): boolean {
	const [own, its] = [pluginFolder(file), pluginFolder(test)];
	if (own !== null) return its === own;
	const [room, roomOfTest] = [file, test].map((path) => path.split('/')[0]);
	if (room === 'db') return roomOfTest === 'db';
	if (room !== 'core') return room === roomOfTest;
	if (its !== null) return true;
	if (roomOfTest === 'db') return ['contract', 'store', 'config'].includes(file.split('/')[1] ?? '');
	return roomOfTest === 'core' && floorOf(test) >= floorOf(file);
}

/**
 * Tells whether a flow depends on the file: it does on the files that it imports, and on every served source if it starts the whole
 * service.
 */
function belongs(file: string, test: string, reached: (test: string) => ReadonlySet<string>): boolean {
	const seen = reached(test);
	return seen.has(file) || (seen.has('core/service.ts') && ROOMS.includes(file.split('/')[0] ?? ''));
}

/** Tells whether a file that no source imports, such as JSON, lies beside the test or in a folder that the test names. */
const isFixtureOf = (file: string, test: string): boolean =>
	!file.endsWith('.ts') && (test.startsWith('test/flows/') || test.startsWith('test/conformance/'));

function reachedFrom(start: string, files: ReadonlyMap<string, Source>): ReadonlySet<string> {
	const seen = new Set<string>();
	const todo = [start];
	for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
		if (seen.has(next)) continue;
		seen.add(next);
		todo.push(...(files.get(next)?.imports ?? []));
	}
	return seen;
}

/** Lists the files that differ from the point where the branch left `base`, uncommitted ones included. */
function changedSince(base: string): string[] {
	const git = (...args: string[]): string[] => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);
	const [from = base] = git('merge-base', base, 'HEAD');
	return [...git('diff', '--name-only', '--no-renames', from), ...git('ls-files', '--others', '--exclude-standard')];
}

async function main(base = 'main'): Promise<void> {
	const changed = changedSince(base);
	const tests = testsOf(changed, allSources());
	process.stdout.write(`${changed.length} files changed since ${base}: ${tests.length} files of tests\n`);
	process.exitCode = await runTests(tests);
}

if (import.meta.main) await main(process.argv[2]);
