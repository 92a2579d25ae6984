// Writes the tables of README.md, one for each sweep, between its marks.

import { readFileSync, writeFileSync } from 'node:fs';

const README = new URL('./README.md', import.meta.url);

/** Replaces the text between `<!-- name -->` and `<!-- /name -->`, and prints it. */
export function writeTable(name: string, rows: [what: string, value: number | string][]): void {
	const shown = rows.map(([what, value]) => `| ${what} | ${typeof value === 'number' ? value.toLocaleString('en') : value} |`);
	const table = ['| | |', '|---|---|', ...shown].join('\n');
	const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
	const text = readFileSync(README, 'utf8');
	const [from, to] = [text.indexOf(begin), text.indexOf(end)];
	if (from < 0 || to < from) throw new Error(`test/sweep/README.md has no place for the table ${name}.`);
	writeFileSync(README, `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`);
	console.log(table);
}
