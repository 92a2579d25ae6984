// The files of tests that need no process of their own: those of a group run in one process. A process that starts a service takes three seconds of
// CPU to load and compile what another one has compiled already. Which these are is computed from what a file imports and says, not from its name.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe } from 'node:test';
import { endLeftovers } from './helpers/leftovers.ts';
import { FOUND_SERVER, SHARED_SERVER } from './helpers/postgres.ts';
import { allSources, ROOT, type Source } from './rooms.ts';

/** Files that reach nothing outside of their process, by their room. */
const ROOMS = ['core', 'importers', 'plugins', 'others'] as const;
/** Files that start nothing but stores, in several groups, which run concurrently. */
const STORES = ['stores-1', 'stores-2'] as const;
/** The rooms whose stores are tested on the machine's own server: it may be of another version, and takes longer. */
const ON_FOUND = 'stores-found';
const ROOMS_ON_FOUND = ['db/gateways/', 'db/people/', 'db/records/'];
/** Files that start services, servers and programs, or use the shared service. */
const SERVICES = [
	...(['services-1', 'services-2', 'services-3', 'services-4'] as const),
	...(['services-5', 'services-6', 'services-7', 'services-8'] as const),
] as const;
export const GROUPS = [...ROOMS, ...STORES, ON_FOUND, ...SERVICES] as const;
export type Group = (typeof GROUPS)[number];

/** Packages and modules with which a file reaches a service, a database, Redis, a browser or a process. */
const OUTWARD = new Set(['pg', 'sequelize', 'ioredis', 'playwright-core', 'node:child_process', 'node:cluster', 'node:inspector']);
/** Words of code that changes or measures the whole process. */
const PROCESS_WIDE = new RegExp(
	[
		/\bprocess\.(?:argv|chdir|cpuUsage|emit|exit|exitCode|getActiveResourcesInfo|kill|memoryUsage|on|once|resourceUsage|stdin)\b/,
		/\bprocess\.env(?:\[[^\]]+\]|\.\w+)\s*=[^=]|\bdelete process\.env\b/,
		/\b(?:tls\.setDefault\w+|dns\.setServers|setFlagsFromString|registerHooks|processCpuMs|threadCpuMs|threadCpuUsage|longestTurnMs|syncBuiltinESMExports|mock\.timers)\b/,
	]
		.map(({ source }) => source)
		.join('|'),
);
/** Comments, texts in quotes, which may hold the code of another program, and regular expressions, which may hold quotes. */
const NO_CODE = new RegExp(
	[
		...[/\/\/.*/, /\/\*[\s\S]*?\*\//, /'(?:\\.|[^'\\\n])*'/, /"(?:\\.|[^"\\\n])*"/, /`(?:\\[\s\S]|[^`\\])*`/],
		/(?<=[(,=:!&|?[]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//,
	]
		.map(({ source }) => source)
		.join('|'),
	'g',
);

/** Returns a source without comments, texts and regular expressions. */
const codeOf = (text: string): string => text.replace(NO_CODE, (found) => (/^\/[/*]/.test(found) ? '' : "''"));

/**
 * Tells whether a module waits at its top level, so that `require` refuses it: whether a line with `await` is inside of no line with `async`,
 * by the indentation of formatted code.
 */
export function waitsAtTop(text: string): boolean {
	const lines = codeOf(text).split('\n');
	const depthOf = (line: string): number => line.length - line.trimStart().length;
	/** Tells whether the line, or one that it is inside of, begins something asynchronous. */
	const isInside = (at: number): boolean => {
		let depth = Number.POSITIVE_INFINITY;
		for (let above = at; above >= 0; above--) {
			const line = lines[above] ?? '';
			if (line.trim() === '' || depthOf(line) >= depth) continue;
			if (/\basync\b/.test(line)) return true;
			// A line that closes a list of parameters belongs to the one that opened it.
			depth = depthOf(line) + (/^\s*[)}\]]/.test(line) ? 1 : 0);
			if (depth === 0) return false;
		}
		return false;
	};
	return lines.some((line, at) => /\bawait\b/.test(line) && !isInside(at));
}

/** Says why a file of tests needs a process of its own, or null. @param sources all of the tree */
export function needsProcess(test: string, sources: ReadonlyMap<string, Source>): string | null {
	for (const file of loadedFrom(test, sources)) {
		if (OUTWARD.has(file)) return `it reaches ${file}`;
		const { text = '' } = sources.get(file) ?? {};
		// Sources of the product change nothing by being imported; what starts them is a test or a helper.
		if (!file.startsWith('test/') && file !== test) continue;
		if (waitsAtTop(text)) return `${file} waits at its top level`;
		if (file === test && PROCESS_WIDE.test(codeOf(text))) return 'it changes or measures the whole process';
	}
	return null;
}

/** Functions with which a file begins to use a store. */
const OF_STORES = /\b(?:testStore|startCore)\(/;
const OF_SERVICE = /\bsharedService\(/;
/** Words of code that starts a service, a server or a process. */
const STARTING =
	/\b(?:startTestService|replicaOf|startService|startEmbedded|testDatabase|testRedis|startRedis|installPackages|packedGatehouse|installClients|spawn\w*|fork|execFile\w*|chromium|launch)\b/;
/** The helpers that define them. */
const STARTERS: ReadonlySet<string> = new Set(
	['service', 'own-service', 'shared-service', 'store', 'core', 'postgres', 'memory-postgres', 'redis'].map(
		(name) => `test/helpers/${name}.ts`,
	),
);

/** Says in which groups a file runs that reaches out: in those of stores if it starts nothing else; null: it needs a process of its own. */
export function sharing(test: string, sources: ReadonlyMap<string, Source>): 'stores' | 'services' | null {
	const { text = '' } = sources.get(test) ?? {};
	if (PROCESS_WIDE.test(codeOf(text))) return null;
	let starts = !OF_STORES.test(text) || OF_SERVICE.test(text);
	for (const file of loadedFrom(test, sources)) {
		if ((!file.startsWith('test/') && file !== test) || STARTERS.has(file)) continue;
		const { text: its = '' } = sources.get(file) ?? {};
		if (waitsAtTop(its)) return null;
		starts ||= STARTING.test(its);
	}
	return starts ? 'services' : 'stores';
}

/** The modules that a file loads, itself and those of packages too; imports of types load none. */
function loadedFrom(start: string, sources: ReadonlyMap<string, Source>): ReadonlySet<string> {
	const seen = new Set<string>();
	const todo = [start];
	for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
		if (seen.has(next)) continue;
		seen.add(next);
		todo.push(...(sources.get(next)?.loads ?? []));
	}
	return seen;
}

/** Names the variable in which a run passes the files of each group, which take a second of CPU time to find; without it, they are all. */
export const RUN = 'GATEHOUSE_TEST_RUN';

/** Divides files of tests. @returns those of each group, and those that need a process of their own */
export function divided(tests: readonly string[], sources: readonly Source[]): { together: Record<Group, string[]>; apart: string[] } {
	const files = new Map(sources.map((source) => [source.file, source]));
	const together = Object.fromEntries(GROUPS.map((group): [string, string[]] => [group, []])) as Record<Group, string[]>;
	const apart: string[] = [];
	const counts = { stores: 0, services: 0 };
	for (const test of tests.toSorted()) {
		if (isGroup(test)) continue;
		if (needsProcess(test, files) === null) {
			together[groupOf(test)].push(test);
			continue;
		}
		const kind = sharing(test, files);
		const groups = kind === 'stores' ? STORES : SERVICES;
		if (kind === null) apart.push(test);
		else if (kind === 'stores' && ROOMS_ON_FOUND.some((room) => test.startsWith(room))) together[ON_FOUND].push(test);
		else together[groups[counts[kind]++ % groups.length] as Group].push(test);
	}
	return { together, apart };
}

/** Names the file of a group. The runner begins them by their names: those of services, which take longest, before the units of the rooms. */
export const fileOfGroup = (group: Group): string => `${FOLDER}${isRoom(group) ? 'units-' : ''}${group}.test.ts`;
const isRoom = (group: Group): boolean => (ROOMS as readonly Group[]).includes(group);
const FOLDER = 'test/together/';
const isGroup = (test: string): boolean => test.startsWith(FOLDER);

function groupOf(test: string): Group {
	const [room] = test.split('/');
	return ROOMS.find((group) => group === room) ?? 'others';
}

export const testsIn = (sources: readonly Source[]): string[] =>
	sources.map(({ file }) => file).filter((file) => file.endsWith('.test.ts') && !isGroup(file));

/** The time of one file, and of each of its tests. */
const FILE_TIMEOUT_MS = 1_200_000;

/**
 * Runs the files of a group in this process, each as a suite of its own, so that its hooks are for its tests alone. They are loaded by
 * `require`, which keeps the context of the suite.
 */
export async function runTogether(group: Group): Promise<void> {
	const found = process.env[FOUND_SERVER];
	if (found && group === ON_FOUND) process.env[SHARED_SERVER] = found;
	// Loads Node's own client, so that its agent, which can be renewed, is the dispatcher of `fetch`, and not that of the package undici.
	void globalThis.Headers;
	const require = createRequire(import.meta.url);
	// A file is loaded when its turn comes: what it says of the time at its top level is then true.
	for (const file of filesOf(group)) {
		await describe(file, { timeout: FILE_TIMEOUT_MS }, () => void require(join(ROOT, file)));
		await renewConnections();
	}
	endLeftovers();
}

function filesOf(group: Group): readonly string[] {
	const given = process.env[RUN];
	if (given) return JSON.parse(given)[group];
	const sources = allSources();
	return divided(testsIn(sources), sources).together[group];
}

const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
	constructor: new () => Dispatcher;
	close(): Promise<void>;
}

/** A test that fails may leave an event stream open, which ends with its server only. */
const CLOSING_MS = 10_000;

/** Leaves the connections of `fetch` to the file that has ended: a server closes those that are idle, perhaps just when the next file begins. */
async function renewConnections(): Promise<void> {
	// Node offers no other way to its dispatcher, which is there after the first request.
	const known = globalThis as unknown as Record<symbol, Dispatcher | undefined>;
	const dispatcher = known[DISPATCHER];
	if (!dispatcher) return;
	known[DISPATCHER] = new dispatcher.constructor();
	const { promise: isLate, resolve } = Promise.withResolvers<void>();
	const timer = setTimeout(resolve, CLOSING_MS);
	await Promise.race([dispatcher.close(), isLate]);
	clearTimeout(timer);
}
