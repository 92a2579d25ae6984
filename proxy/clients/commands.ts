// `gatehouse-proxy config <client> [organization/gateway] [--write]`: what a client needs to run the proxy, printed or put into its file.

import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { type GatewayName, readGatewayName, readServiceUrl, UsageError } from '../gateway/address.ts';
import { PROGRAM, TYPED } from '../program.ts';
import { serviceUrlOf, variable } from '../settings.ts';
import { setServer } from './jsonc.ts';
import { CLIENTS, type ClientFile } from './table.ts';
import { type Server, setTable, showTable } from './toml.ts';

const USAGE = `Usage: gatehouse-proxy config <client> [<organization>/<gateway>] [--write] [--mode full] [--name <name>] [--url <address>]
Clients: ${Object.keys(CLIENTS).join(', ')}`;

const OPTIONS = {
	write: { type: 'boolean', default: false },
	mode: { type: 'string' },
	name: { type: 'string' },
	url: { type: 'string' },
} as const;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

export async function config(args: string[]): Promise<number> {
	const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
	const [name = '', named = variable(process.env, 'SVC_GATEWAY_ID') ?? undefined, ...more] = positionals;
	const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
	if (!client || more.length > 0) throw new UsageError(USAGE);
	const gateway = named === undefined ? null : readGatewayName(named);
	if (values.mode !== undefined && !['full', 'skill-first'].includes(values.mode))
		throw new UsageError('--mode must be full or skill-first.');
	const url = values.url === undefined ? serviceUrlOf(process.env) : readServiceUrl(values.url, '--url');
	const server = serverFor(gateway, { SVC_URL: url, ...(values.mode && { SVC_MODE: values.mode }) });
	const entry = values.name ?? gateway?.gateway ?? 'gatehouse';
	if (!/^[\w-]{1,64}$/.test(entry)) throw new UsageError('--name may have letters, digits, - and _.');
	const path = client.path(process.env, process.platform);
	if (values.write) writeInto(path, targetOf(path, client), (text) => merged(text, client, entry, server));
	else
		say(
			client.format === 'toml'
				? showTable(client.member, entry, server).trimEnd()
				: setServer('', client.member, entry, { ...client.extra, ...server }).trimEnd(),
		);
	process.stderr.write(
		values.write
			? `${client.title} runs the proxy from ${path}. Log in once, if you have not: ${TYPED} login --url ${url}\n`
			: `This belongs into ${path} (${client.title}); --write puts it there.\n`,
	);
	return 0;
}

/** The credential is that of the login: no file of a client holds it. */
function serverFor(gateway: GatewayName | null, env: Record<string, string>): Server {
	const [command, ...first] = PROGRAM;
	return { command, args: [...first, ...(gateway ? [`${gateway.organization}/${gateway.gateway}`] : [])], env };
}

const merged = (text: string, { format, member, extra }: ClientFile, name: string, server: Server): string =>
	format === 'toml' ? setTable(text, member, name, server) : setServer(text, member, name, { ...extra, ...server });

/** Returns the file that a path leads to. A link in a project, which comes with it, leads to no file outside. @throws UsageError */
function targetOf(path: string, { isOfProject }: ClientFile): string {
	if (!existsSync(path)) return path;
	const target = realpathSync(path);
	const way = relative(realpathSync(dirname(path)), target);
	if (isOfProject && (isAbsolute(way) || way.split(sep)[0] === '..'))
		throw new UsageError(`${path} leads to ${target} by a link: nothing is changed there.`);
	return target;
}

/** Changes a file as a whole, with a copy of what was there. A link to it stays one. */
function writeInto(path: string, target: string, change: (text: string) => string): void {
	const before = existsSync(target) ? readFileSync(target, 'utf8') : null;
	const after = change(before ?? '');
	if (after === before) {
		say(`${path} has it already.`);
		return;
	}
	mkdirSync(dirname(target), { recursive: true });
	if (before !== null) {
		const copy = `${target}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}.bak`;
		copyFileSync(target, copy);
		say(`What was there is in ${copy}.`);
	}
	const draft = `${target}.${randomBytes(6).toString('hex')}.new`;
	try {
		writeFileSync(draft, after, { flag: 'wx', mode: before === null ? 0o600 : statSync(target).mode & 0o777 });
		renameSync(draft, target);
	} finally {
		rmSync(draft, { force: true });
	}
	say(`${path} is written.`);
}
