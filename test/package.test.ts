// Tests the package as users get it: packed, unpacked beside its dependencies, and its entry points imported from outside.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packedGatehouse } from './helpers/outside.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');

const USE = `
import { GatewayError, type AuthMethod } from 'gatehouse';
import { type Feature, operation, type Store } from 'gatehouse/features';
import { fakeCall, startGatehouse } from 'gatehouse/testing';

export const kind: AuthMethod['kind'] = 'auth';
export const feature: Feature['kind'] = 'feature';
export const namesOf = (store: Store) => store.tools.list('', { limit: 1 }).then(({ items }) => items.map(({ name }) => name satisfies string));
// @ts-expect-error The entry point for features exports names that the other one does not.
import { storeOf } from 'gatehouse';
export const found: number = new GatewayError('not_found', 'x').status;
export const logOf = () => fakeCall().call.log satisfies object;
export const start: typeof startGatehouse = startGatehouse;
export const declare: (...args: never[]) => unknown = operation;
`;
const COMPILER_OPTIONS = { module: 'nodenext', target: 'es2024', strict: true, skipLibCheck: false, noEmit: true, types: ['node'] };

let folder: string;

const run = (program: string, args: string[]): string =>
	execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const tsc = (...args: string[]): string => run(process.execPath, [join(MODULES, 'typescript/bin/tsc'), ...args]);

let installed: string;

/** The folder lies inside `node_modules`, so that dependencies are found there and nothing is downloaded. */
before(async () => {
	installed = await packedGatehouse();
	folder = mkdtempSync(join(MODULES, '.cache/package-'));
	mkdirSync(join(folder, 'node_modules'));
	symlinkSync(installed, join(folder, 'node_modules/gatehouse'));
	writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('the entry points of the installed package can be imported, with their types, and no other file can', () => {
	writeFileSync(join(folder, 'use.ts'), USE);
	writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['use.ts'] }));
	assert.equal(tsc('-p', folder), '');
	const load = (name: string): string =>
		run(process.execPath, ['--input-type=module', '-e', `console.log(Object.keys(await import('${name}')).join())`]);
	assert.match(load('gatehouse'), /GatewayError/);
	assert.match(load('gatehouse/features'), /storeOf/);
	assert.match(load('gatehouse/testing'), /fakeCall/);
	assert.throws(() => load('gatehouse/dist/core/main.js'), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

const BIN = (): string => join(installed, 'dist/core/bin.cjs');
/** @returns its exit code and what it says */
const runBin = (...options: string[]): [number | null, string] => {
	const { status, stderr } = spawnSync(process.execPath, [...options, BIN(), 'nonsense'], { encoding: 'utf8' });
	return [status, stderr];
};

test('the command runs the service by its first line, and says what it needs where Node.js is older', () => {
	assert.equal(readFileSync(BIN(), 'utf8').split('\n')[0], '#!/usr/bin/env node');
	assert.deepEqual(runBin(), [1, 'Unknown command "nonsense"; known: check, dev, migrate, rotate-key, verify-audit.\n']);
	writeFileSync(
		join(folder, 'older.cjs'),
		"Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });",
	);
	const told = `Gatehouse needs Node.js 24.12 or later, and this is ${process.version} (${process.execPath}).\n`;
	assert.deepEqual(runBin('--require', join(folder, 'older.cjs')), [1, told]);
});

test('the package has its license and the files of its pages, and none of its dependencies reports an installation', () => {
	const inside = (path: string): string => join(installed, path);
	const page = ['LICENSE', 'NOTICE', 'swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];
	for (const file of ['LICENSE', ...page.map((name) => `dist/plugins/features/reference/swagger-ui/${name}`)])
		assert.ok(existsSync(inside(file)), file);
	const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> };
	const reporting = Object.entries(packages).filter(([path, { dev }]) => path.includes('scarf') && !dev);
	assert.deepEqual(reporting, []);
});
