// Builds the bundle for one-click installation in desktop clients (https://github.com/anthropics/mcpb), with its official tool:
// `node proxy/bundle/build.ts <file.mcpb> [folder of the built package]`.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROXY = fileURLToPath(new URL('..', import.meta.url));
const TOOL = join(PROXY, '../node_modules/@anthropic-ai/mcpb/dist/cli/cli.js');

const [out, built = PROXY] = process.argv.slice(2);
if (out === undefined) throw new Error('Usage: node proxy/bundle/build.ts <file.mcpb> [folder of the built package]');

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bundle-'));
try {
	for (const part of ['dist', 'package.json', 'README.md', 'LICENSE']) cpSync(join(built, part), join(folder, part), { recursive: true });
	const { version } = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as { version: string };
	const manifest: object = JSON.parse(readFileSync(join(PROXY, 'bundle/manifest.json'), 'utf8'));
	writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, version }, null, 2));
	const run = (...args: string[]): void => void execFileSync(process.execPath, [TOOL, ...args], { stdio: 'inherit' });
	run('validate', join(folder, 'manifest.json'));
	run('pack', folder, resolve(out));
} finally {
	rmSync(folder, { recursive: true, force: true });
}
