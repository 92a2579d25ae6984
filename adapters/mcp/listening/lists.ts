// Lists and single resources that clients are told of when they change, in both eras, and what each depends on.

import { type Call, isObject, type JsonObject, type ServedVersions } from '../../../core/index.ts';
import { versionAt } from '../resources/readers.ts';
import { latest } from './latest.ts';

/** A list, by the name of its capability and the parts of the gateway that change it. */
export interface ListKind {
	capability: 'tools' | 'prompts' | 'resources';
	/** The member of the filter of `subscriptions/listen`. */
	filter: string;
	parts: readonly string[];
}

const KINDS: readonly ListKind[] = [
	// The settings say how tools are shown.
	{ capability: 'tools', filter: 'toolsListChanged', parts: ['tools', 'settings'] },
	{ capability: 'prompts', filter: 'promptsListChanged', parts: ['skills'] },
	// Each tool has its documentation.
	{ capability: 'resources', filter: 'resourcesListChanged', parts: ['tools', 'skills'] },
];

/** Returns the lists of which a server with these capabilities tells. */
export const toldLists = (capabilities: JsonObject): ListKind[] =>
	KINDS.filter(({ capability }) => {
		const declared = capabilities[capability];
		return isObject(declared) && declared.listChanged === true;
	});

/** Versions of lists by their capabilities, and of single resources by their URIs. */
export type ListVersions = ReadonlyMap<string, string>;

export interface News {
	/** The lists that have changed, by their capabilities; none that the client knew already, or knew nothing of. */
	lists: string[];
	/** The resources that have changed, by their URIs. */
	uris: string[];
	now: ListVersions;
}

/** Resources by their URIs, with the versions that the client knows; null: those of now. */
export type Followed = ReadonlyMap<string, string | null>;

export interface Listening {
	lists: readonly ListKind[];
	/** The versions of lists that the client knew; those that it does not name are news to nobody. */
	before?: ListVersions;
	/** Returns the resources that the client follows, again whenever these are others. Not asked for callers who may not read tools. */
	followed(signal: AbortSignal): AsyncIterable<Followed>;
}

export const RESOURCE_UPDATED = 'notifications/resources/updated';

const NONE: Followed = new Map();
/** The version of a resource that does not exist. */
const GONE = '-';

/** Yields the versions of what a client listens to at once, and again with each change. Callers who may not read tools learn of none. */
export async function* news(call: Call, { lists, before = new Map(), followed }: Listening): AsyncGenerator<News, void> {
	const mayRead = call.caller?.scopes.includes('tools:read') ?? false;
	const ending = new AbortController();
	const signal = AbortSignal.any([call.signal, ending.signal]);
	let known = before;
	try {
		for await (const [versions, wanted] of latest(call.served(signal), mayRead ? followed(signal) : nothing(), NONE)) {
			const ofLists = new Map((mayRead ? lists : []).map((list) => [list.capability as string, versionOf(list, versions)]));
			const ofUris = new Map([...wanted.keys()].map((uri) => [uri, versionAt(uri, versions) ?? GONE]));
			const knownOf = (uri: string): string | undefined => known.get(uri) ?? wanted.get(uri) ?? undefined;
			yield {
				lists: [...ofLists].filter(([name, version]) => known.has(name) && known.get(name) !== version).map(([name]) => name),
				uris: [...ofUris].filter(([uri, version]) => (knownOf(uri) ?? version) !== version).map(([uri]) => uri),
				now: ofLists,
			};
			known = new Map([...ofLists, ...ofUris]);
		}
	} finally {
		ending.abort();
	}
}

async function* nothing(): AsyncGenerator<Followed, void> {}

function versionOf({ parts }: ListKind, versions: ServedVersions): string {
	// A part that core does not serve has no version.
	const all = versions as unknown as Readonly<Record<string, string | undefined>>;
	return parts.map((part) => all[part] ?? '').join('.');
}

const VERSION = /^[\w.-]{1,80}$/;

/** Writes versions as the id of an event, by which a client that comes back tells what it knows. */
export const eventIdOf = (known: ListVersions): string => [...known].map(([name, version]) => `${name}=${version}`).join(';');

/** Reads what a client knew. Anybody may write anything there: then they know nothing. */
export function knownBy(lastEventId: string | null): ListVersions {
	const pairs = (lastEventId ?? '').split(';').map((pair) => pair.split('=', 2) as [string, string?]);
	return new Map(pairs.flatMap(([name, version = '']) => (VERSION.test(version) ? [[name, version] as const] : [])));
}
