// Skills on the disk: where each agent reads them, and the list of those that were installed.

import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { configFolder } from '../credentials/file.ts';
import { readGatewayName, readServiceUrl, UsageError } from '../gateway/address.ts';
import type { Environment } from '../settings.ts';
import { isObject } from '../wire/messages.ts';
import { assertInside, type Files } from './archives.ts';

/** The folders of agents, in a project and for all projects of a user. */
const AGENTS: Readonly<Record<string, { project: string; user: string }>> = {
	'claude-code': { project: '.claude/skills', user: '.claude/skills' },
	codex: { project: '.agents/skills', user: '.agents/skills' },
	cursor: { project: '.agents/skills', user: '.cursor/skills' },
	vscode: { project: '.agents/skills', user: '.agents/skills' },
	windsurf: { project: '.windsurf/skills', user: '.codeium/windsurf/skills' },
	others: { project: '.agents/skills', user: '.agents/skills' },
};

/** The agents for whom a skill is installed where none is named. */
export const USUAL_AGENTS = ['claude-code', 'others'];
export const AGENT_NAMES = Object.keys(AGENTS);

export interface Installed {
	/** The gateway as it was named, and the service that has it. */
	gateway: string;
	service: string;
	digest: string;
	/** Folders, relative to the root. */
	folders: string[];
}

export interface SkillsPlace {
	/** The folder below which everything lies: the project, or the user's own. */
	root: string;
	isUser: boolean;
	/** The file that lists what was installed. */
	list: string;
}

export function placeOf(isUser: boolean, env: Environment): SkillsPlace {
	if (!isUser) return { root: process.cwd(), isUser, list: join(process.cwd(), '.agents', 'gatehouse-skills.json') };
	return { root: env['HOME'] || homedir(), isUser, list: join(configFolder(env), 'skills.json') };
}

/** Returns the folders of these agents. @throws UsageError */
export function foldersOf(agents: readonly string[], { isUser }: Pick<SkillsPlace, 'isUser'>): string[] {
	const found = agents.map((name) => {
		const agent = Object.hasOwn(AGENTS, name) ? AGENTS[name] : undefined;
		if (!agent) throw new UsageError(`"${name.slice(0, 40)}" is no agent that is known: it must be one of ${AGENT_NAMES.join(', ')}.`);
		return isUser ? agent.user : agent.project;
	});
	return [...new Set(found)];
}

/**
 * Returns the path of a folder. A link in a project, which comes with it, may lead to another folder of agents there and nowhere else: what is
 * replaced and removed must not be the user's own files. Links in the user's own folder are the user's.
 * @param folder relative to the root, or the folder of the list @throws UsageError
 */
export function pathIn({ root, isUser }: SkillsPlace, folder: string): string {
	const path = join(root, folder);
	if (isUser) return path;
	const own = dirname(folder);
	const real = realPath(dirname(path));
	const top = realpathSync(root);
	const known = [own, ...Object.values(AGENTS).map(({ project }) => project)];
	if (!known.some((base) => real === join(top, base))) throw new UsageError(`${own} leads to ${real} by a link: nothing is changed there.`);
	return path;
}

function assertListed(at: SkillsPlace): void {
	pathIn(at, relative(at.root, at.list));
}

/** Returns the path without its links, as far as it exists. */
function realPath(path: string): string {
	if (lstatSync(path, { throwIfNoEntry: false })) return realpathSync(path);
	return join(realPath(dirname(path)), basename(path));
}

/** Reads the list. One that a link leads to is refused here, before anything is changed. @throws UsageError */
export function readInstalled(at: SkillsPlace): Record<string, Installed> {
	const { list } = at;
	assertListed(at);
	if (!existsSync(list)) return {};
	try {
		const value: unknown = JSON.parse(readFileSync(list, 'utf8'));
		if (isObject(value) && isObject(value['skills']) && Object.entries(value['skills']).every(isEntry))
			return value['skills'] as unknown as Record<string, Installed>;
	} catch {
		// It is told below.
	}
	throw new UsageError(`The list ${list} is broken: remove it, and add the skills again.`);
}

/**
 * A list comes with a project, so it may say anything: nothing outside of the folders of agents is removed by it, and what is asked and shown are
 * addresses and names. @throws UsageError for an address or a gateway that is none
 */
function isEntry([name, one]: [string, unknown]): boolean {
	if (!/^[a-z0-9-]{1,64}$/.test(name) || !isObject(one)) return false;
	const { gateway, service, digest, folders } = one;
	const known = Object.values(AGENTS).flatMap(({ project, user }) => [project, user]);
	if (typeof gateway !== 'string' || typeof service !== 'string' || typeof digest !== 'string') return false;
	readGatewayName(gateway);
	return (
		readServiceUrl(service, 'service') === service &&
		Array.isArray(folders) &&
		folders.every((folder) => known.some((base) => folder === `${base}/${name}`))
	);
}

export function writeInstalled(at: SkillsPlace, skills: Record<string, Installed>): void {
	const { list } = at;
	assertListed(at);
	mkdirSync(dirname(list), { recursive: true });
	const draft = `${list}.${randomBytes(6).toString('hex')}`;
	const sorted = Object.fromEntries(Object.entries(skills).sort(([a], [b]) => (a < b ? -1 : 1)));
	writeFileSync(draft, `${JSON.stringify({ skills: sorted }, null, '\t')}\n`);
	renameSync(draft, list);
}

/** Puts files into a folder, as a whole: what was there is replaced. */
export function place(files: Files, folder: string): void {
	const draft = `${folder}.${randomBytes(6).toString('hex')}`;
	try {
		for (const [path, content] of files) {
			assertInside(path);
			const target = join(draft, path);
			mkdirSync(dirname(target), { recursive: true });
			writeFileSync(target, content, { flag: 'wx', mode: path.startsWith('scripts/') ? 0o755 : 0o644 });
		}
		removeFolder(folder);
		renameSync(draft, folder);
	} catch (error) {
		rmSync(draft, { recursive: true, force: true });
		throw error;
	}
}

/** Removes a folder; of a link to one, the link alone. */
export function removeFolder(folder: string): void {
	const found = lstatSync(folder, { throwIfNoEntry: false });
	if (found) rmSync(folder, { recursive: !found.isSymbolicLink(), force: true });
}
