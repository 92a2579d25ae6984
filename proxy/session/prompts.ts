// Prompts: each skill of the gateway under `skill-<name>`, and an index of what there is.

import type { Catalog, CatalogEntry } from '../gateway/catalog.ts';
import { ownVersion } from '../gateway/client.ts';
import { CODES, isObject, type JsonObject, MessageFault } from '../wire/messages.ts';
import { passed, resultOf } from './answers.ts';
import type { Context } from './context.ts';
import type { Relay } from './relay.ts';
import type { Running } from './running.ts';

const PREFIX = 'skill-';
const OVERVIEW = 'svc-overview';
/** The room that the index takes in the context of a model. */
const MAX_INDEX_CHARS = 24_000;

const OVERVIEW_PROMPT: JsonObject = {
	name: OVERVIEW,
	title: 'Overview',
	description: 'A compact index of the tools and skills that there are.',
};

export async function listPrompts(running: Running, _context: Context, relay: Relay): Promise<void> {
	const { request } = running;
	const answered = await relay.pass(running);
	const { result } = answered.message;
	if (!isObject(result)) return running.answer(passed(request, answered));
	const listed = (Array.isArray(result['prompts']) ? result['prompts'] : []).filter(isObject);
	const skills = listed.map((prompt) => ({ ...prompt, name: `${PREFIX}${String(prompt['name'])}` }));
	const own = (request.params['cursor'] ?? null) === null ? [OVERVIEW_PROMPT] : [];
	await running.answer(resultOf(request, { ...result, prompts: [...own, ...skills] }));
}

export async function getPrompt(running: Running, context: Context, relay: Relay): Promise<void> {
	const { request } = running;
	const { name } = request.params;
	if (typeof name !== 'string') throw new MessageFault(CODES.invalidParams, 'params.name must be a string, the name of a prompt.');
	if (name === OVERVIEW) {
		// A client of 2026-07-28 need not listen, so that no change is told.
		const catalog = await context.catalog(ownVersion(request.params) !== null);
		return running.answer(resultOf(request, overview(catalog, context)));
	}
	if (!name.startsWith(PREFIX)) throw new MessageFault(CODES.invalidParams, `There is no prompt "${name.slice(0, 128)}" here.`);
	await running.answer(passed(request, await relay.pass(running, { ...request.params, name: name.slice(PREFIX.length) })));
}

/** Completion names the skill as the gateway knows it. */
export async function complete(running: Running, _context: Context, relay: Relay): Promise<void> {
	const { request } = running;
	const { ref } = request.params;
	const name = isObject(ref) && ref['type'] === 'ref/prompt' ? ref['name'] : undefined;
	if (name === OVERVIEW) return running.answer(resultOf(request, { completion: { values: [], hasMore: false } }));
	const isSkill = isObject(ref) && typeof name === 'string' && name.startsWith(PREFIX);
	const params = isSkill ? { ...request.params, ref: { ...ref, name: name.slice(PREFIX.length) } } : null;
	await running.answer(passed(request, await relay.pass(running, params)));
}

function overview({ tools, skills }: Catalog, { settings }: Context): JsonObject {
	const how =
		settings.mode === 'full'
			? 'Each tool can be called by its name.'
			: 'Find a tool and its parameters by svc_search, and call it by svc_execute with its name.';
	const text = [
		`# Tools (${tools.length})`,
		how,
		...indexOf(tools, ''),
		'',
		`# Skills (${skills.length})`,
		skills.length === 0 ? 'There are none.' : 'Each is a prompt.',
		...indexOf(skills, PREFIX),
	].join('\n');
	return {
		description: String(OVERVIEW_PROMPT['description']),
		messages: [{ role: 'user', content: { type: 'text', text } }],
	};
}

/** Lists as many as there is room for, and says how many are left. */
function indexOf(entries: readonly CatalogEntry[], prefix: string): string[] {
	const lines: string[] = [];
	let chars = 0;
	for (const { name, about } of entries) {
		const line = `- ${prefix}${name}${about ? `: ${about}` : ''}`;
		chars += line.length + 1;
		if (chars > MAX_INDEX_CHARS) return [...lines, `- … and ${entries.length - lines.length} more, which a search finds`];
		lines.push(line);
	}
	return lines;
}
