// `resources/…`, which both eras share but for the code of an unknown resource.

import { type Call, type Json, type JsonObject, TimeSlice } from '../../../core/index.ts';
import type { Method } from '../dispatch.ts';
import { CODES, ProtocolError } from '../messages.ts';
import { pageOf } from '../pages.ts';
import { readContents } from './readers.ts';
import { describeFile, SKILL_TEMPLATE, skillUri } from './skills.ts';
import { describePage, TOOL_TEMPLATE, toolUri } from './tools.ts';

const MAX_URI_LENGTH = 2048;

interface Listed {
	uri: string;
	describe(): JsonObject;
}

/** Lists the files of skills, then the documentation of tools; results of calls are told to their callers alone. */
export const listResources: Method = async ({ message, call }) => {
	const { items, more } = pageOf(await allOf(call), message.params.cursor, ({ uri }) => uri);
	return { resources: items.map((one) => one.describe()), ...more };
};

async function allOf(call: Call): Promise<Listed[]> {
	const slice = new TimeSlice();
	const all: Listed[] = [];
	for (const skill of await call.skills()) {
		if (slice.isOver) await slice.next();
		for (const file of skill.files) all.push({ uri: skillUri(skill, file.path), describe: () => describeFile(skill, file) });
	}
	for (const tool of await call.tools()) {
		if (slice.isOver) await slice.next();
		all.push({ uri: toolUri(tool), describe: () => describePage(tool) });
	}
	return all;
}

const TEMPLATES: readonly JsonObject[] = [
	{ uriTemplate: TOOL_TEMPLATE, name: 'tool', description: 'How to call a tool: its arguments and its result.', mimeType: 'text/markdown' },
	{ uriTemplate: SKILL_TEMPLATE, name: 'skill-file', description: 'A file of a skill; SKILL.md has its instructions.' },
];

export const listTemplates: Method = async () => ({ resourceTemplates: [...TEMPLATES] });

/** @param unknown the code of the era's error for a resource that does not exist */
export const readResource =
	(unknown: number): Method =>
	async ({ message, call }) => {
		const uri = readUri(message.params.uri);
		const contents = await readContents(uri, call);
		if (!contents) throw noResource(unknown, uri);
		return { contents };
	};

export const isUri = (uri: Json | undefined): uri is string => typeof uri === 'string' && uri.length <= MAX_URI_LENGTH;

/** @throws ProtocolError */
export function readUri(uri: Json | undefined): string {
	if (isUri(uri)) return uri;
	throw new ProtocolError(
		CODES.invalidParams,
		`params.uri must be a string of at most ${MAX_URI_LENGTH} characters, the URI of a resource.`,
	);
}

/** @param code the era's code for a resource that does not exist */
export const noResource = (code: number, uri: string): ProtocolError =>
	new ProtocolError(code, 'There is no such resource here.', { data: { uri } });
