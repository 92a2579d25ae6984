// Reads resources: the first reader that knows a URI answers it.

import type { Call, ServedVersions } from '../../../core/index.ts';
import { keptResults } from '../results/kept.ts';
import { skillReader } from './skills.ts';
import { toolReader } from './tools.ts';

/** `TextResourceContents` or `BlobResourceContents`, whose `blob` is base64. */
export type ResourceContents = { uri: string; mimeType?: string } & ({ text: string } | { blob: string });

export type ResourceReader = {
	/** Whether the URI is of this reader's kind; the resource need not exist. */
	matches(uri: string): boolean;
	/** Returns null where the caller has no such resource. @throws insufficient_scope, unavailable */
	read(uri: string, call: Call): Promise<ResourceContents[] | null>;
	/** Returns the version of a resource, null where there is none; absent for a kind that never changes. */
	version?(uri: string, versions: ServedVersions): string | null;
};

/** Readers by the kind of URI, `skill://…` or `gatehouse://<kind>/…`; no two match the same one. */
const READERS: readonly ResourceReader[] = [skillReader, toolReader, keptResults];

/** Returns the contents of a resource; null where the caller has none at this URI. */
export async function readContents(uri: string, call: Call): Promise<ResourceContents[] | null> {
	return (await READERS.find((reader) => reader.matches(uri))?.read(uri, call)) ?? null;
}

/** Whether the resource at this URI can change, if there is one. */
export const canChange = (uri: string): boolean => READERS.some(({ matches, version }) => version !== undefined && matches(uri));

/** Returns the version of a resource that can change; null where there is none. */
export const versionAt = (uri: string, versions: ServedVersions): string | null =>
	READERS.find(({ matches }) => matches(uri))?.version?.(uri, versions) ?? null;
