// Sets a server in a TOML file: a table of its own, behind everything else, or in place of the former one.

import { UsageError } from '../gateway/address.ts';

export interface Server {
	command: string;
	args: string[];
	env: Record<string, string>;
}

const HEADER = /^\s*\[/;
/** Lines of a table that this command wrote: everything else was written by somebody, and stays. */
const PLAIN = /^\s*(#.*|(command|args|env|startup_timeout_sec)\s*=\s*\S.*)?$/;

/** @throws UsageError for a table that was not written by this command */
export function setTable(text: string, table: string, name: string, server: Server): string {
	const header = `[${table}.${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}]`;
	const lines = text.split('\n');
	const at = lines.findIndex((line) => bare(line) === `[${table}.${name}]`);
	const other = otherForm(lines, table, name);
	if (other !== null)
		throw new UsageError(`The file has ${other}, so it was left as it is: remove the server there, or take another --name.`);
	const body = [header, ...membersOf(server)];
	if (at < 0) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${text.trim() === '' ? '' : '\n'}${body.join('\n')}\n`;
	let end = at + 1;
	while (end < lines.length && !HEADER.test(lines[end] ?? '')) end += 1;
	if (!lines.slice(at + 1, end).every((line) => PLAIN.test(line)))
		throw new UsageError(`The file has a table ${header} with more than this command writes; it was left as it is.`);
	// Blank lines belong to what follows.
	while (end > at + 1 && lines[end - 1]?.trim() === '') end -= 1;
	return [...lines.slice(0, at), ...body, ...lines.slice(end)].join('\n');
}

/** A line without its comment, its blanks and the quotes of its names. */
const bare = (line: string): string => line.replaceAll(/#.*|[\s"']/g, '');

/** Finds what a table of the server would repeat, which TOML allows for no member: Codex itself writes the variables into a table of their own. */
function otherForm(lines: readonly string[], table: string, name: string): string | null {
	const own = `${table}.${name}`;
	let section = '';
	for (const line of lines) {
		const text = bare(line);
		if (text === `[${own}.env]`) return `a table ${text}`;
		if (HEADER.test(line)) section = text.slice(1, -1);
		const [key = '', value] = text.split('=');
		if (value === undefined || !['', table].includes(section)) continue;
		const path = section === '' ? key : `${section}.${key}`;
		if (path === table) return `all servers in the member ${path}, to which no table can be added`;
		if (path === own || path.startsWith(`${own}.`)) return `the member ${path}`;
	}
	return null;
}

export const showTable = (table: string, name: string, server: Server): string => setTable('', table, name, server);

/** Strings of JSON are basic strings of TOML. */
function membersOf({ command, args, env }: Server): string[] {
	const pairs = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
	const texts = args.map((arg) => JSON.stringify(arg)).join(', ');
	return [`command = ${JSON.stringify(command)}`, `args = [${texts}]`, ...(pairs.length > 0 ? [`env = { ${pairs.join(', ')} }`] : [])];
}
