// Tests which plugin an error is put down to, and that one that repeats fills no log.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Log } from '../contract/nouns.ts';
import { describeThrown, framesOf, type PluginSource, Strays } from './strays.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-strays-'));
after(() => rmSync(folder, { recursive: true, force: true }));
for (const [name, manifest] of [
	['acme', '{"name":"@acme/plugins"}'],
	['acme/dist', '{"type":"module"}'],
	['library', '{"name":"library"}'],
] as const) {
	mkdirSync(join(folder, name), { recursive: true });
	writeFileSync(join(folder, name, 'package.json'), manifest);
}
const at = (file: string): string => join(folder, file);
const ROOT = join(import.meta.dirname, '../..');

const SOURCES: PluginSource[] = [
	{ plugin: 'transport:acme', source: pathToFileURL(at('acme/dist/index.js')).href },
	{ plugin: 'auth:acme', source: pathToFileURL(at('acme/dist/index.js')).href },
	{ plugin: 'transport:mcp', source: pathToFileURL(join(ROOT, 'adapters/mcp/index.ts')).href },
	{ plugin: 'auth:unplaced', source: null },
];

type Line = [fields: Record<string, unknown>, message: string];

function strays(): { lines: Line[]; strays: Strays } {
	const lines: Line[] = [];
	const none = (): void => undefined;
	const log: Log = { debug: none, info: none, warn: none, error: (fields, message) => void lines.push([{ ...fields }, message]) };
	return { lines, strays: new Strays(log) };
}

const stack = (...frames: string[]): string => `Error: boom\n${frames.map((frame) => `    at ${frame}`).join('\n')}`;
const thrown = (...frames: string[]): Error => Object.assign(new Error('boom'), { stack: stack(...frames) });
const module = (file: string): string => `run (${pathToFileURL(file).href}:3:5)`;

const ORIGINS: [title: string, frames: string[], origin: object][] = [
	['a module of a package', [module(at('acme/dist/run.js'))], { plugin: 'transport:acme, auth:acme', package: '@acme/plugins' }],
	['CommonJS', [`run (${at('acme/lib/run.cjs')}:3:5)`], { plugin: 'transport:acme, auth:acme', package: '@acme/plugins' }],
	[
		'a frame without a function',
		[`async ${pathToFileURL(at('acme/dist/run.js')).href}:1:1`],
		{ plugin: 'transport:acme, auth:acme', package: '@acme/plugins' },
	],
	['a plugin of ours', [module(join(ROOT, 'adapters/mcp/stream.ts'))], { plugin: 'transport:mcp' }],
	[
		'a library that a plugin called',
		[module(at('library/index.js')), module(at('acme/dist/run.js'))],
		{ plugin: 'transport:acme, auth:acme', package: '@acme/plugins' },
	],
	['a package that is no plugin', ['listOnTimeout (node:internal/timers:605:17)', module(at('library/index.js'))], { package: 'library' }],
	['core', [module(join(ROOT, 'core/main.ts'))], {}],
	['Node', ['listOnTimeout (node:internal/timers:605:17)'], {}],
];
for (const [title, frames, origin] of ORIGINS) {
	test(`an error of ${title} names its origin`, () => {
		const { lines, strays: watched } = strays();
		watched.know(SOURCES);
		watched.report(thrown(...frames), 'stray');
		assert.deepEqual(lines, [[{ ...origin, error: stack(...frames) }, 'stray']]);
	});
}

test('before the plugins are loaded, the package is named alone', () => {
	const { lines, strays: watched } = strays();
	watched.report(thrown(module(at('acme/dist/index.js'))), 'stray');
	assert.equal(lines[0]?.[0]['package'], '@acme/plugins');
});

test('an error that repeats is one line a minute, with a count, whatever its message', (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const { lines, strays: watched } = strays();
	const again = (times: number): void => {
		for (let time = 0; time < times; time++) watched.report(thrown(module(at(`acme/x.js`))), 'stray');
	};
	again(1000);
	assert.equal(lines.length, 1);
	t.mock.timers.tick(60_000);
	assert.deepEqual(
		lines.map(([{ times }]) => times),
		[undefined, 999],
	);
	t.mock.timers.tick(60_000);
	again(1);
	assert.deepEqual(
		lines.map(([{ times }]) => times),
		[undefined, 999, undefined],
	);
});

test('errors of two places, or of two kinds, are two lines', () => {
	const { lines, strays: watched } = strays();
	const of = (line: number) => thrown(`run (${pathToFileURL(at('acme/x.js')).href}:${line}:5)`);
	watched.report(of(3), 'stray');
	watched.report(of(4), 'stray');
	watched.report(of(3), 'thrown');
	assert.equal(lines.length, 3);
});

test('many different errors share one line after the first hundred', () => {
	const { lines, strays: watched } = strays();
	for (let time = 0; time < 1000; time++) watched.report(`boom ${time}`, 'stray');
	assert.equal(lines.length, 101);
	assert.match(lines.at(-1)?.[1] ?? '', /too many/);
});

test('anything that is thrown is described, and bounded', () => {
	const hostile = {
		get stack(): string {
			throw new Error('no');
		},
		get [Symbol.toStringTag](): string {
			throw new Error('no');
		},
	};
	for (const one of [
		undefined,
		null,
		7,
		'text',
		Symbol('x'),
		{ a: 1 },
		hostile,
		new Proxy(new Error('x'), {
			get() {
				throw new Error('no');
			},
		}),
	])
		assert.equal(typeof describeThrown(one), 'string');
	assert.ok(describeThrown(new Error('x'.repeat(1_000_000))).length <= 8192);
	assert.deepEqual(framesOf('Error: at /no/frame.js:1:2'), []);
});
