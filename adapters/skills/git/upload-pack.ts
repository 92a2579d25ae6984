// Serves clones and fetches: smart HTTP in versions 0 and 2 (gitprotocol-http, gitprotocol-pack, gitprotocol-v2). Nothing can be pushed.

import { type Call, GatewayError, type Incoming, notFound, type Reply } from '../../../core/index.ts';
import type { Published } from '../publication.ts';
import { type History, historyOf } from './history.ts';
import { type GitObject, reach, treeOf, writePack } from './objects.ts';
import { banded, DELIMITER, FLUSH, line, malformed, type Packet, readPackets } from './packets.ts';

const BRANCH = 'refs/heads/main';
const AGENT = 'agent=gatehouse';
const CAPABILITIES = `side-band-64k shallow no-progress symref=HEAD:${BRANCH} ${AGENT}`;

/** One of the repositories of a gateway: the skills in it, and its name among the others. */
export interface Repository {
	published: Published;
	scope: string;
}

export async function advertise(request: Incoming, repository: Repository, call: Call): Promise<Reply> {
	const service = request.query.get('service');
	if (service === 'git-receive-pack') throw new GatewayError('forbidden', 'This repository can be read only.');
	if (service !== 'git-upload-pack') throw notFound('Service of git');
	const head = `${line('# service=git-upload-pack\n')}${FLUSH}`;
	const refs = isV2(request) ? capabilities() : refsOf(await open(repository, call));
	return answer('advertisement', Buffer.from(head + refs));
}

const isV2 = ({ headers }: Incoming): boolean => (headers['git-protocol'] ?? '').split(':').includes('version=2');

const capabilities = (): string =>
	['version 2\n', `${AGENT}\n`, 'ls-refs\n', 'fetch=shallow\n', 'object-format=sha1\n'].map(line).join('') + FLUSH;

function refsOf({ commits }: History): string {
	const tip = commits.at(-1) ?? '';
	return `${line(`${tip} HEAD\0${CAPABILITIES}\n`)}${line(`${tip} ${BRANCH}\n`)}${FLUSH}`;
}

/** @throws not_found at an address over several gateways, where each caller sees other tools: their history would be one */
async function open({ published, scope }: Repository, call: Call): Promise<History> {
	if (!call.gateway) throw notFound('Repository');
	return historyOf(call, scope, published);
}

const answer = (kind: 'advertisement' | 'result', body: Buffer): Reply => ({
	status: 200,
	headers: { 'content-type': `application/x-git-upload-pack-${kind}`, 'cache-control': 'no-cache' },
	body,
});

export async function uploadPack(request: Incoming, repository: Repository, call: Call): Promise<Reply> {
	const packets = readPackets(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0));
	const history = await open(repository, call);
	const [first] = packets;
	if (first?.kind === 'line' && first.text.startsWith('command=')) return answer('result', await command(first.text, packets, history));
	return answer('result', await serveV0(readWishes(packets), history));
}

async function command(text: string, packets: readonly Packet[], history: History): Promise<Buffer> {
	if (text === 'command=ls-refs') return Buffer.from(listRefs(packets, history));
	if (text === 'command=fetch') return serveV2(readWishes(packets.slice(1)), history);
	throw malformed();
}

function listRefs(packets: readonly Packet[], { commits }: History): string {
	const args = packets.flatMap((packet) => (packet.kind === 'line' ? [packet.text] : []));
	const prefixes = args.filter((arg) => arg.startsWith('ref-prefix ')).map((arg) => arg.slice('ref-prefix '.length));
	const isWanted = (ref: string): boolean => prefixes.length === 0 || prefixes.some((prefix) => ref.startsWith(prefix));
	const target = args.includes('symrefs') ? ` symref-target:${BRANCH}` : '';
	const refs = [
		['HEAD', target],
		[BRANCH, ''],
	] as const;
	const tip = commits.at(-1);
	return refs.flatMap(([ref, more]) => (isWanted(ref) ? [line(`${tip} ${ref}${more}\n`)] : [])).join('') + FLUSH;
}

/** The state of a client, and what it asks for. */
interface Wishes {
	wants: string[];
	haves: string[];
	/** The commits of which the client has no parents. */
	shallow: string[];
	/** Null: all commits. */
	depth: number | null;
	isDone: boolean;
	hasBand: boolean;
	/** Whether the client tells what it has: version 0 first asks for the bounds of a shallow clone alone. */
	negotiates: boolean;
}

function readWishes(packets: readonly Packet[]): Wishes {
	const wishes: Wishes = { wants: [], haves: [], shallow: [], depth: null, isDone: false, hasBand: false, negotiates: false };
	let flushes = 0;
	for (const packet of packets) {
		if (packet.kind === 'flush') flushes += 1;
		if (packet.kind !== 'line') continue;
		const [word = '', value = '', ...rest] = packet.text.split(' ');
		if (word === 'want') wishes.wants.push(value);
		if (word === 'have') wishes.haves.push(value);
		if (word === 'shallow') wishes.shallow.push(value);
		if (word === 'deepen') wishes.depth = depthOf(value);
		if (word === 'done') wishes.isDone = true;
		if (rest.includes('side-band-64k')) wishes.hasBand = true;
	}
	wishes.negotiates = wishes.isDone || wishes.haves.length > 0 || flushes > 1;
	return wishes;
}

function depthOf(value: string): number {
	const depth = Number(value);
	if (!Number.isSafeInteger(depth) || depth < 1) throw malformed();
	return depth;
}

/** The commits that a client lacks, and where its history will end. */
interface Plan {
	/** Positions among the commits. */
	lacking: number[];
	shallow: string[];
	unshallow: string[];
	/** The newest commit that both have; null without one. */
	common: string | null;
}

/** @throws validation_failed for a commit that is not the history's */
function plan({ wants, haves, shallow, depth }: Wishes, { commits }: History): Plan {
	if (wants.length === 0 || !wants.every((want) => commits.includes(want)))
		throw new GatewayError('validation_failed', 'The repository has changed, or has no such commit: fetch again.');
	const tip = Math.max(...wants.map((want) => commits.indexOf(want)));
	const newest = Math.max(-1, ...haves.map((have) => commits.indexOf(have)));
	const cut = shallow.map((id) => commits.indexOf(id)).filter((at) => at >= 0);
	const oldest = Math.min(...cut, newest + 1);
	const first = depth === null ? 0 : Math.max(0, tip - depth + 1);
	// Without a new depth, what lies before the client's own end is not asked for.
	const has = (at: number): boolean => at <= newest && (depth === null || cut.length === 0 || at >= oldest);
	const lacking = Array.from({ length: tip - first + 1 }, (_, at) => first + at).filter((at) => !has(at));
	const end = commits[first] ?? '';
	return {
		...{ lacking, common: commits[newest] ?? null },
		shallow: depth !== null && first > 0 && !shallow.includes(end) ? [end] : [],
		unshallow: depth === null ? [] : cut.filter((at) => at > first).map((at) => commits[at] as string),
	};
}

async function serveV0(wishes: Wishes, history: History): Promise<Buffer> {
	if (wishes.wants.length === 0) return Buffer.alloc(0);
	const made = plan(wishes, history);
	const bounds = wishes.depth === null ? '' : boundsOf(made) + FLUSH;
	if (!wishes.negotiates) return Buffer.from(bounds);
	const acknowledged = line(made.common === null ? 'NAK\n' : `ACK ${made.common}\n`);
	if (!wishes.isDone) return Buffer.from(bounds + acknowledged);
	const pack = await packOf(made, history);
	const tail = wishes.hasBand ? [banded(pack), Buffer.from(FLUSH)] : [pack];
	return Buffer.concat([Buffer.from(bounds + acknowledged), ...tail]);
}

async function serveV2(wishes: Wishes, history: History): Promise<Buffer> {
	const made = plan(wishes, history);
	const acknowledged = made.common === null ? line('NAK\n') : line(`ACK ${made.common}\n`) + line('ready\n');
	const head = wishes.isDone ? '' : line('acknowledgments\n') + acknowledged;
	if (!wishes.isDone && made.common === null) return Buffer.from(head + FLUSH);
	const bounds = wishes.depth === null ? '' : line('shallow-info\n') + boundsOf(made) + DELIMITER;
	const before = head + (head === '' ? '' : DELIMITER) + bounds + line('packfile\n');
	return Buffer.concat([Buffer.from(before), banded(await packOf(made, history)), Buffer.from(FLUSH)]);
}

const boundsOf = ({ shallow, unshallow }: Plan): string =>
	[...shallow.map((id) => line(`shallow ${id}`)), ...unshallow.map((id) => line(`unshallow ${id}`))].join('');

async function packOf({ lacking, common }: Plan, history: History): Promise<Buffer> {
	const { commits, tip } = history;
	const isTipAlone = common === null && lacking.every((at) => at === commits.length - 1);
	const objects = isTipAlone ? tip : await history.all();
	const known = new Set<string>();
	const commonCommit = common === null ? undefined : objects.get(common);
	if (commonCommit) reach(objects, treeOf(commonCommit), known);
	const sent: GitObject[] = [];
	const found = new Set(known);
	for (const at of lacking) {
		const commit = objects.get(commits[at] ?? '');
		if (!commit) continue;
		sent.push(commit);
		reach(objects, treeOf(commit), found);
	}
	for (const id of found) if (!known.has(id)) sent.push(objects.get(id) as GitObject);
	return writePack(sent);
}
