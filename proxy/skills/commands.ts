// `gatehouse-proxy skills add|list|update|remove`: the skills of gateways, where coding agents read them.

import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCredentials } from '../credentials/file.ts';
import { gatewayUrl, readGatewayName, readServiceUrl, UsageError } from '../gateway/address.ts';
import { howToLogIn, Refusal } from '../gateway/refusals.ts';
import { TYPED } from '../program.ts';
import { serviceUrlOf, variable } from '../settings.ts';
import { fetchSkill, readIndex, type Source } from './discovery.ts';
import {
	AGENT_NAMES,
	foldersOf,
	type Installed,
	pathIn,
	place,
	placeOf,
	readInstalled,
	removeFolder,
	type SkillsPlace,
	USUAL_AGENTS,
	writeInstalled,
} from './installed.ts';

const USAGE = `Usage: gatehouse-proxy skills add @<organization>/<gateway> [--agent <agent>]... [--user] [--force] [--url <address>]
       gatehouse-proxy skills list [--user]
       gatehouse-proxy skills update [--user] [--url <address>]
       gatehouse-proxy skills remove <skill or @organization/gateway> [--user]

Agents: ${AGENT_NAMES.join(', ')}. Without --agent: ${USUAL_AGENTS.join(' and ')}. --user: for all projects, instead of this folder.`;

const OPTIONS = {
	agent: { type: 'string', multiple: true },
	user: { type: 'boolean', default: false },
	force: { type: 'boolean', default: false },
	url: { type: 'string' },
} as const;

interface Choices {
	named: string[];
	agents: string[];
	force: boolean;
	url: string | undefined;
	at: SkillsPlace;
}

const ACTIONS: Readonly<Record<string, (choices: Choices) => Promise<void> | void>> = { add, list, update, remove };

const say = (line: string): void => void process.stdout.write(`${line}\n`);

export async function skills([action = '', ...args]: string[]): Promise<number> {
	const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
	if (!run) throw new UsageError(USAGE);
	const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
	const at = placeOf(values.user, process.env);
	await run({ named: positionals, agents: values.agent ?? USUAL_AGENTS, force: values.force, url: values.url, at });
	return 0;
}

const namedService = (url: string | undefined): string => (url === undefined ? serviceUrlOf(process.env) : readServiceUrl(url, '--url'));

/**
 * The gateway, with the credential of its service if there is one. That of the environment is for the service that the user names; the list of a
 * project may name any other.
 */
function sourceOf(gateway: string, service: string, url: string | undefined): Source {
	const named = namedService(url);
	const given = variable(process.env, 'SVC_TOKEN');
	const token = (service === named ? given : null) ?? readCredentials(process.env).services[service]?.token ?? null;
	const isForeign = given !== null && service !== named;
	const foreign = `SVC_TOKEN is for ${named} alone (SVC_URL, --url), so log in: ${TYPED} login --url ${service}`;
	const advice = isForeign ? foreign : howToLogIn(service);
	return { url: gatewayUrl(service, readGatewayName(gateway)), token, advice };
}

async function add({ named: [gateway, ...more], agents, force, url, at }: Choices): Promise<void> {
	if (gateway === undefined || more.length > 0) throw new UsageError(USAGE);
	const service = namedService(url);
	const bases = foldersOf(agents, at);
	const source = sourceOf(gateway, service, url);
	const published = await readIndex(source);
	if (published.length === 0) throw new UsageError(`${source.url} has no skills.`);
	const installed = readInstalled(at);
	for (const { name } of published) if (!force) assertFree(name, { bases, at, known: installed[name], service, gateway });
	// Everything is fetched and checked before anything is written.
	const fetched = await Promise.all(published.map(async (one) => ({ ...one, files: await fetchSkill(one, source) })));
	for (const { name, digest, files } of fetched) {
		const folders = [...new Set([...(installed[name]?.folders ?? []), ...bases.map((base) => `${base}/${name}`)])];
		for (const path of folders.map((folder) => pathIn(at, folder))) place(files, path);
		installed[name] = { gateway: `@${gateway.replace(/^@/, '')}`, service, digest, folders };
		writeInstalled(at, installed);
		say(`${name}: ${folders.join(', ')}`);
	}
}

interface Wanted {
	bases: readonly string[];
	at: SkillsPlace;
	known: Installed | undefined;
	service: string;
	gateway: string;
}

/** A skill of somebody else is not written over. @throws UsageError */
function assertFree(name: string, { bases, at, known, service, gateway }: Wanted): void {
	if (known && known.service === service && known.gateway === `@${gateway.replace(/^@/, '')}`) return;
	const taken = bases.map((base) => `${base}/${name}`).find((folder) => lstatSync(join(at.root, folder), { throwIfNoEntry: false }));
	const owner = known ? ` from ${known.gateway}` : '';
	if (taken !== undefined || known)
		throw new UsageError(`There is a skill ${name}${owner} already${taken === undefined ? '' : ` at ${taken}`}: --force replaces it.`);
}

function list({ at }: Choices): void {
	const entries = Object.entries(readInstalled(at));
	if (entries.length === 0) say('No skills are installed here by this command.');
	for (const [name, { gateway, service, folders }] of entries) say(`${name} (${gateway} at ${service}): ${folders.join(', ')}`);
}

/** Goes on without a gateway or a skill that cannot be read. @throws UsageError at the end, with a line for each of them */
async function update({ at, url }: Choices): Promise<void> {
	const installed = readInstalled(at);
	const failures: string[] = [];
	const attempt = <T>(what: string, work: Promise<T>): Promise<T | null> =>
		work.catch((error: unknown) => {
			if (!(error instanceof UsageError || error instanceof Refusal)) throw error;
			failures.push(`${what}: ${error.message}`);
			return null;
		});
	const sources = new Map(
		Object.values(installed).map(({ gateway, service }) => [`${gateway} at ${service}`, sourceOf(gateway, service, url)]),
	);
	const indexes = new Map(
		await Promise.all(
			[...sources].map(async ([key, source]) => [key, { source, published: await attempt(key, readIndex(source)) }] as const),
		),
	);
	for (const [name, one] of Object.entries(installed)) {
		const { source, published } = indexes.get(`${one.gateway} at ${one.service}`) ?? {};
		if (!source || !published) continue;
		const now = published.find((other) => other.name === name);
		if (!now) say(`${name}: ${one.gateway} has it no more; \`skills remove ${name}\` removes it`);
		else if (now.digest === one.digest) say(`${name}: up to date`);
		else {
			const files = await attempt(name, fetchSkill(now, source));
			if (!files) continue;
			for (const path of one.folders.map((folder) => pathIn(at, folder))) place(files, path);
			installed[name] = { ...one, digest: now.digest };
			writeInstalled(at, installed);
			say(`${name}: updated`);
		}
	}
	if (failures.length > 0) throw new UsageError(failures.join('\n'));
}

function remove({ named: [what, ...more], at }: Choices): void {
	if (what === undefined || more.length > 0) throw new UsageError(USAGE);
	const installed = readInstalled(at);
	const gone = Object.entries(installed).filter(([name, { gateway }]) => name === what || gateway === `@${what.replace(/^@/, '')}`);
	if (gone.length === 0) throw new UsageError(`No skill ${what} was installed here by this command.`);
	for (const [name, { folders }] of gone) {
		for (const path of folders.map((folder) => pathIn(at, folder))) removeFolder(path);
		delete installed[name];
		say(`${name}: removed`);
	}
	writeInstalled(at, installed);
}
