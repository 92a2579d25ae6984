// The commits of a gateway's repository. Each version of its skills that somebody asked for is one commit; the versions before it are kept, so that
// clones can be updated. A history ends, and another one begins, where a file goes away: what was withdrawn is not handed out any more.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Call, GatewayError, type JsonObject, type StoredRecord } from '../../../core/index.ts';
import type { Published } from '../publication.ts';
import type { Files } from '../tar.ts';
import { type GitObject, type Objects, type ObjectType, put, putCommit, putFiles, reach } from './objects.ts';

const compress = promisify(gzip);
const expand = promisify(gunzip);

/** The most commits of a history. */
const MAX_COMMITS = 50;
/** The most characters of what is kept of one version, and of all versions together. */
const MAX_CHARS = 900_000;
const MAX_KEPT_CHARS = 8_000_000;
const ATTEMPTS = 5;
/** The time between the two requests of a clone. */
const TIP_MS = 5000;
/** The most bytes of a repository. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface History {
	/** Ids, oldest first; the last one is the tip. */
	commits: readonly string[];
	/** The objects of the tip. */
	tip: Objects;
	/** Returns the objects of all commits. */
	all(): Promise<Objects>;
}

/** The record of a history: `version` is that of the skills, `blobs` are the files of the tip. */
interface Head {
	version: string;
	tree: string;
	commits: string[];
	blobs: Record<string, string>;
	chars: number;
}

/** @param scope tells repositories of one gateway apart. @throws unavailable */
export async function historyOf(call: Call, scope: string, published: Published): Promise<History> {
	const key = `git:${hashOf(scope)}`;
	const { objects: tip, tree, blobs } = await call.memo(`${key}:${published.version}`, TIP_MS, () => tipOf(published));
	for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
		const record = await call.records.get(key);
		// It was written below.
		const head = (record?.value ?? null) as Head | null;
		const now = head?.tree === tree ? head : await advance(call, key, record, { tip, tree, blobs, version: published.version });
		if (now) return { commits: now.commits, tip: withCommit(tip, now), all: () => load(call, key, now, tip) };
	}
	throw new GatewayError('unavailable', 'The skills are changing at the moment: try again.');
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

interface Tip {
	tip: Objects;
	tree: string;
	blobs: Record<string, string>;
	version: string;
}

async function tipOf(published: Published): Promise<{ objects: Objects; tree: string; blobs: Record<string, string> }> {
	const objects: Objects = new Map();
	return { objects, ...(await putFiles(objects, await repositoryOf(published))) };
}

/** Returns the files of the repository: the skills below `skills/`, and the list by which Claude Code finds them as plugins. */
async function repositoryOf({ skills }: Published): Promise<Files> {
	const bytes = skills.flatMap(({ files }) => files).reduce((sum, { size }) => sum + size, 0);
	if (bytes > MAX_BYTES)
		throw new GatewayError('not_found', 'The skills are too large for a repository of git: install them by their index.');
	const files = new Map<string, Buffer>();
	for (const skill of skills) for (const [path, content] of await skill.readAll()) files.set(`skills/${skill.name}/${path}`, content);
	const plugins = skills.map(({ name, description }) => ({ name, description, source: './', strict: false, skills: [`./skills/${name}`] }));
	const [{ name = 'skills' } = {}] = skills;
	const marketplace = { name, owner: { name: 'Gatehouse' }, plugins };
	files.set('.claude-plugin/marketplace.json', Buffer.from(`${JSON.stringify(marketplace, null, 2)}\n`));
	return files;
}

/** Adds a commit, or begins anew. @returns null when another replica was first */
async function advance(call: Call, key: string, record: StoredRecord | null, { tip, tree, blobs, version }: Tip): Promise<Head | null> {
	const last = (record?.value ?? null) as Head | null;
	const added = await addedBy(tip, tree, last, call, key);
	const goesOn =
		last !== null && last.commits.length < MAX_COMMITS && last.chars + added.length <= MAX_KEPT_CHARS && isWithin(last.blobs, blobs);
	const before = goesOn && added.length <= MAX_CHARS ? last : null;
	const parent = before?.commits.at(-1) ?? null;
	const number = before?.commits.length ?? 0;
	const commit = putCommit(new Map(), { tree, parent, number });
	const isKept = added.length <= MAX_CHARS && JSON.stringify(blobs).length <= MAX_CHARS / 2;
	const head: Head = {
		...{ version, tree, commits: [...(before?.commits ?? []), commit] },
		// Without them the next version begins anew.
		...{ blobs: isKept ? blobs : { '': '' }, chars: (before?.chars ?? 0) + added.length },
	};
	if (isKept) await call.records.put(`${key}:${commit}`, { objects: added, tree, parent, number });
	const value = head as unknown as JsonObject;
	const isFirst = record ? await call.records.update(key, record.revision, value) : await call.records.add(key, value);
	if (!isFirst) return null;
	if (last && !before) for (const old of last.commits) if (!head.commits.includes(old)) await call.records.remove(`${key}:${old}`);
	return head;
}

const isWithin = (former: Record<string, string>, now: Record<string, string>): boolean =>
	Object.keys(former).every((path) => Object.hasOwn(now, path));

/** Packs the objects that the last version did not have. */
async function addedBy(tip: Objects, tree: string, last: Head | null, call: Call, key: string): Promise<string> {
	const known = new Set<string>();
	if (last) reach(await load(call, key, last, new Map()), last.tree, known);
	const needed = new Set<string>();
	reach(tip, tree, needed);
	const lines = [...needed]
		.filter((id) => !known.has(id))
		.map((id) => {
			const { type, data } = tip.get(id) as GitObject;
			return `${JSON.stringify([type, data.toString('base64')])}\n`;
		});
	return (await compress(lines.join(''), { level: 9 })).toString('base64');
}

/** Returns the objects of all commits of a history, with those of the tip. */
async function load(call: Call, key: string, { commits, tree }: Head, tip: Objects): Promise<Objects> {
	const objects: Objects = new Map(tip);
	let parent: string | null = null;
	for (const [number, id] of commits.entries()) {
		const record = await call.records.get(`${key}:${id}`);
		const its = record?.value as { objects: string; tree: string } | undefined;
		putCommit(objects, { tree: its?.tree ?? tree, parent, number });
		parent = id;
		if (!its) continue;
		const text = (await expand(Buffer.from(its.objects, 'base64'))).toString();
		for (const line of text.split('\n').filter(Boolean)) {
			const [type, data] = JSON.parse(line) as [ObjectType, string];
			put(objects, type, Buffer.from(data, 'base64'));
		}
	}
	return objects;
}

function withCommit(tip: Objects, { tree, commits }: Head): Objects {
	const objects: Objects = new Map(tip);
	putCommit(objects, { tree, parent: commits.at(-2) ?? null, number: commits.length - 1 });
	return objects;
}
