// Writes the tables of READMEs from the code: `node test/readme.ts`. The test beside it fails while they differ.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeVariables } from '../core/config/variables.ts';
import { ERRORS } from '../core/contract/errors.ts';
import { PERMISSIONS, permissionsOf, ROLES } from '../core/contract/permissions.ts';
import { KIND_NAMES, KINDS } from '../core/registry/kinds.ts';
import { loadPlugins } from '../core/registry/loader.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The READMEs with tables that the code defines. */
export const READMES = ['README.md', 'plugins/README.md'];

const table = (head: string[], rows: string[][]): string =>
	[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');

/** Returns a README with the tables that the code defines. */
export async function writeTables(readme: string): Promise<string> {
	const registry = await loadPlugins(ROOT);
	const tables: Record<string, string> = {
		plugins: table(
			['kind', 'name', 'does', 'implements'],
			registry.describe().map(({ kind, name, summary, spec }) => [kind, `\`${name}\``, summary, spec ?? '']),
		),
		kinds: table(
			['kind', 'folder', 'a plugin of this kind', 'entry point'],
			KIND_NAMES.map((kind) => {
				const { folder, named, does, door } = KINDS[kind];
				return [`\`${kind}\``, `\`${folder}/<${named}>\``, does, `\`core/${door}.ts\``];
			}),
		),
		variables: table(
			['variable', 'for', 'expected', 'default'],
			describeVariables().map(({ name, purpose, expected, fallback }) => [`\`${name}\``, purpose, expected, fallback]),
		),
		roles: table(
			['permission', ...ROLES],
			PERMISSIONS.map((permission) => [
				`\`${permission}\``,
				...ROLES.map((role) => (permissionsOf(role).includes(permission) ? 'yes' : '')),
			]),
		),
		errors: table(
			['error', 'status'],
			Object.entries(ERRORS).map(([code, status]) => [`\`${code.toUpperCase()}\``, String(status)]),
		),
	};
	return Object.entries(tables).reduce(
		(text, [name, rows]) =>
			text.replace(new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`), (_all, open, close) => `${open}${rows}\n${close}`),
		readme,
	);
}

export const readReadme = (file = 'README.md'): string => readFileSync(ROOT + file, 'utf8');

async function write(): Promise<void> {
	for (const file of READMES) writeFileSync(ROOT + file, await writeTables(readReadme(file)));
}

if (import.meta.main) void write();
