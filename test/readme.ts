// Writes the README's tables from the code: `node test/readme.ts`. The test beside it fails while they differ.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeVariables } from '../core/config/config.ts';
import { ERRORS } from '../core/contract/errors.ts';
import { PERMISSIONS, permissionsOf, ROLES } from '../core/contract/permissions.ts';
import { loadPlugins } from '../core/registry/loader.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = `${ROOT}README.md`;

const table = (head: string[], rows: string[][]): string =>
	[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');

/** Returns the README with the tables that the code defines. */
export async function writeTables(readme: string): Promise<string> {
	const registry = await loadPlugins(ROOT);
	const tables: Record<string, string> = {
		plugins: table(
			['kind', 'name', 'does', 'implements'],
			registry.describe().map(({ kind, name, summary, spec }) => [kind, `\`${name}\``, summary, spec ?? '']),
		),
		variables: table(
			['variable', 'expected', 'default'],
			describeVariables().map(({ name, expected, fallback }) => [`\`${name}\``, expected, fallback]),
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

export const readReadme = (): string => readFileSync(FILE, 'utf8');

if (import.meta.main) writeFileSync(FILE, await writeTables(readReadme()));
