// Packages with a fault, as data: each stops the start with a sentence that names the package, the place and what was expected.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { server as createServer } from '@hapi/hapi';
import { BROKEN_PACKAGES, type BrokenPackage } from '../../test/catalog/broken-packages.ts';
import type { Log } from '../contract/nouns.ts';
import { checkRoutes } from '../gateways/mount.ts';
import { permissionsOfFeatures } from '../management/declarations.ts';
import { registerFeatures } from '../management/features.ts';
import { assertNeeds } from '../management/needs.ts';
import { loadPlugins } from './loader.ts';

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const WAITS = { noticeMs: 50, limitMs: 200, blockedMs: 60_000 };

const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

interface Installed extends Disposable {
	root: string;
	/** The folder of the package. */
	folder: string;
}

/** Writes a package and installs it as `acme-x`, with Joi beside it. */
function install({ text, described, files = {} }: Pick<BrokenPackage, 'text' | 'described' | 'files'>): Installed {
	// The names of modules are real paths.
	const root = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-broken-')));
	const folder = join(root, 'node_modules/acme-x');
	const manifest = { name: 'acme-x', version: '1.2.3', type: 'module', exports: './index.js', ...described };
	for (const [file, content] of Object.entries({ 'index.js': text, 'package.json': JSON.stringify(manifest), ...files })) {
		mkdirSync(dirname(join(folder, file)), { recursive: true });
		writeFileSync(join(folder, file), content);
	}
	symlinkSync(join(MODULES, 'joi'), join(root, 'node_modules/joi'));
	return { root, folder, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

/** Does what a start does with plugins, up to the step. */
async function start({ root }: Installed, at: BrokenPackage['at'], log = silent): Promise<void> {
	const registry = await loadPlugins(root, ['acme-x'], { waits: WAITS, log });
	if (at === 'routes') checkRoutes(registry);
	if (at !== 'register') return;
	const server = createServer();
	server.route({ method: 'GET', path: '/health', options: { auth: false }, handler: () => '' });
	// These features use nothing else of core.
	await registerFeatures(server, { registry, log } as Parameters<typeof registerFeatures>[1], { waits: WAITS });
	assertNeeds(server, { permissions: permissionsOfFeatures(registry.list('feature')), registry });
}

for (const one of BROKEN_PACKAGES)
	test(`a package that ${one.id} stops the start with a sentence that says so`, async () => {
		using installed = install(one);
		const failed = await start(installed, one.at).then(
			() => assert.fail('it was taken'),
			(error: Error) => error.message,
		);
		assert.match(failed, /GATEWAY_PLUGINS: acme-x/);
		for (const part of one.says) {
			const expected = typeof part === 'string' ? part.replaceAll('<dir>', installed.folder) : part;
			assert.ok(typeof expected === 'string' ? failed.includes(expected) : expected.test(failed), `${failed}\nlacks ${expected}`);
		}
	});

test('there are at least forty', () => assert.ok(BROKEN_PACKAGES.length >= 40, String(BROKEN_PACKAGES.length)));
