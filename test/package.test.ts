// Tests the package as users get it: built, packed, unpacked beside its dependencies, and both of its entry points imported from outside.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');

const USE = `
import { GatewayError, type AuthMethod } from 'gatehouse';
import { type Feature, operation, type Store } from 'gatehouse/features';

export const kind: AuthMethod['kind'] = 'auth';
export const feature: Feature['kind'] = 'feature';
export const namesOf = (store: Store) => store.tools.list('', { limit: 1 }).then(({ items }) => items.map(({ name }) => name satisfies string));
// @ts-expect-error The entry point for features exports names that the other one does not.
import { storeOf } from 'gatehouse';
export const found: number = new GatewayError('not_found', 'x').status;
export const declare: (...args: never[]) => unknown = operation;
`;
const COMPILER_OPTIONS = { module: 'nodenext', target: 'es2024', strict: true, skipLibCheck: true, noEmit: true, types: ['node'] };

let folder: string;

const run = (program: string, args: string[]): string =>
	execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const tsc = (...args: string[]): string => run(process.execPath, [join(MODULES, 'typescript/bin/tsc'), ...args]);

/** The folder lies inside `node_modules`, so that dependencies are found there and nothing is downloaded. */
before(() => {
	mkdirSync(join(MODULES, '.cache'), { recursive: true });
	folder = mkdtempSync(join(MODULES, '.cache/package-'));
	const [staged, installed] = [join(folder, 'staged'), join(folder, 'node_modules/gatehouse')];
	for (const made of [staged, installed]) mkdirSync(made, { recursive: true });
	copyFileSync(join(ROOT, 'package.json'), join(staged, 'package.json'));
	tsc('-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(staged, 'dist'));
	const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder, staged])) as [{ filename: string }];
	run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
	writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('both entry points of the installed package can be imported, with their types, and no other file can', () => {
	writeFileSync(join(folder, 'use.ts'), USE);
	writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['use.ts'] }));
	assert.equal(tsc('-p', folder), '');
	const load = (name: string): string =>
		run(process.execPath, ['--input-type=module', '-e', `console.log(Object.keys(await import('${name}')).join())`]);
	assert.match(load('gatehouse'), /GatewayError/);
	assert.match(load('gatehouse/features'), /storeOf/);
	assert.throws(() => load('gatehouse/dist/core/main.js'), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
});
